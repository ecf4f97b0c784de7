import KassaCore
import KassaJSON

/// What happens to a membership when time passes: it renews, converts from its trial, falls behind, ends.
///
/// One step at a time: `dueTime` says when the next one comes, `step` takes it. Steps happen at their own moment,
/// however late the sandbox notices.
struct Billing {
  static let day: Int64 = 86_400_000
  /// Whop tries a failed renewal again for about five days, then cancels.
  static let retryInterval = day
  static let retryPeriod = 5 * day

  /// What a step did.
  enum Charge {
    case none
    /// A renewal was charged, or could not be.
    case renewal(succeeded: Bool)
    /// The failed renewal was tried again.
    case retry(succeeded: Bool)
    /// It was tried for the last time.
    case givenUp
  }

  static func dueTime(_ membership: MembershipRecord) -> Int64? {
    if membership.isPaused { return membership.pausedUntil }
    return switch membership.status {
    case "active", "trialing", "canceling": membership.periodEnd
    case "past_due": membership.nextAttemptAt ?? membership.periodEnd
    case "completed": membership.expiresAt
    default: nil
    }
  }

  /// - Parameter pays: whether the payment method would be charged successfully.
  static func step(_ membership: inout MembershipRecord, at moment: Int64, pays: Bool) -> Charge {
    membership.updatedAt = moment
    if membership.isPaused {
      resume(&membership, at: moment)
      return .none
    }
    // What a store sold, the store renews: a period that is not followed by another ends it.
    if membership.status == "completed" || membership.storeSeries != nil {
      membership.status = "expired"
      return .none
    }
    if membership.cancelAtPeriodEnd {
      end(&membership, at: moment)
      return .none
    }
    if membership.status == "past_due" { return retry(&membership, at: moment, pays: pays) }
    guard pays else {
      membership.status = "past_due"
      membership.nextAttemptAt = moment + retryInterval
      return .renewal(succeeded: false)
    }
    renew(&membership)
    return .renewal(succeeded: true)
  }

  private static func retry(_ membership: inout MembershipRecord, at moment: Int64, pays: Bool) -> Charge {
    if pays {
      renew(&membership)
      return .retry(succeeded: true)
    }
    if moment >= (membership.periodEnd ?? moment) + retryPeriod {
      end(&membership, at: moment)
      return .givenUp
    }
    membership.nextAttemptAt = moment + retryInterval
    return .retry(succeeded: false)
  }

  /// The next period starts where the last one ended, also when the money came late.
  private static func renew(_ membership: inout MembershipRecord) {
    guard let end = membership.periodEnd, let days = membership.billingPeriod else { return }
    membership.status = "active"
    membership.periodStart = end
    membership.periodEnd = end + days * day
    membership.nextAttemptAt = nil
  }

  static func end(_ membership: inout MembershipRecord, at moment: Int64) {
    membership.status = "canceled"
    membership.canceledAt = membership.canceledAt ?? moment
    membership.nextAttemptAt = nil
    membership.pausedAt = nil
    membership.pausedUntil = nil
    membership.updatedAt = moment
  }

  /// Billing goes on with the next cycle: what passed during the pause is not charged.
  static func resume(_ membership: inout MembershipRecord, at moment: Int64) {
    membership.pausedAt = nil
    membership.pausedUntil = nil
    membership.updatedAt = moment
    guard let days = membership.billingPeriod else { return }
    while let end = membership.periodEnd, end <= moment {
      membership.periodStart = end
      membership.periodEnd = end + days * day
    }
  }
}
