import KassaCore

/// What the account has in one subscription group.
struct LedgerSubscription: Sendable, Equatable {
  enum State: Sendable, Equatable {
    case subscribed
    /// A renewal could not be charged; access goes on until the grace period ends.
    case grace(until: Int64, retryUntil: Int64)
    /// A renewal could not be charged, and access has ended.
    case retry(until: Int64)
    case expired(ExpirationReason)
    /// Refunded, or no longer shared.
    case revoked
  }

  /// Apple's `expirationIntent`.
  enum ExpirationReason: Int64, Sendable, CaseIterable {
    case cancelled = 1
    case billingError = 2
    case priceIncrease = 3
    case productUnavailable = 4
  }

  let groupID: String
  let ownership: StoreTransaction.Ownership
  /// All of a group have the same original transaction, also after a pause.
  let originalID: String
  let originallyPurchasedAt: Int64
  var productID: String
  var latestID: String
  /// When it began without a gap.
  var startedAt: Int64
  /// The day by which months are counted.
  var anchor: Int64
  var periodStart: Int64
  var periodEnd: Int64
  var state = State.subscribed
  var willRenew = true
  /// What it renews to; nil for the same product.
  var nextProductID: String?
  /// The offer of the current period.
  var offer: RunningOffer?
  /// The offer that begins with the next period.
  var nextOffer: RunningOffer?
  var priceIncrease: PriceIncrease?
  var appAccountToken: String?

  /// Its product may be used.
  var isActive: Bool {
    switch state {
    case .subscribed, .grace: true
    case .retry, .expired, .revoked: false
    }
  }

  var isRetrying: Bool {
    switch state {
    case .grace, .retry: true
    case .subscribed, .expired, .revoked: false
    }
  }

  var renewalProductID: String { nextProductID ?? productID }

  /// When something happens to it by itself.
  var dueAt: Int64? {
    switch state {
    case .subscribed: periodEnd
    case .grace(let end, let retryEnd): min(end, retryEnd)
    case .retry(let end): end
    case .expired, .revoked: nil
    }
  }

  mutating func expire(_ reason: ExpirationReason) {
    state = .expired(reason)
    willRenew = false
    nextProductID = nil
    nextOffer = nil
    priceIncrease = nil
  }
}

/// An offer, how many of its charges are still to come, and what comes after them.
struct RunningOffer: Sendable, Equatable {
  let offer: StoreOffer
  var chargesLeft: Int
  /// The introductory offer that a code leaves to a new customer.
  let followedBy: StoreOffer?

  init(_ offer: StoreOffer, followedBy: StoreOffer? = nil) {
    self.init(offer, chargesLeft: offer.chargeCount, followedBy: followedBy)
  }

  init(_ offer: StoreOffer, chargesLeft: Int, followedBy: StoreOffer?) {
    self.offer = offer
    self.chargesLeft = chargesLeft
    self.followedBy = followedBy
  }

  /// For the next charge; nil for the regular price.
  var next: RunningOffer? {
    guard chargesLeft > 1 else { return followedBy.map { RunningOffer($0) } }
    return RunningOffer(offer, chargesLeft: chargesLeft - 1, followedBy: followedBy)
  }
}

extension StoreOffer {
  /// One charge, or a free start, covers all periods unless each is paid for.
  fileprivate var chargeCount: Int { paymentMode == .payAsYouGo ? max(1, periodCount) : 1 }
  var periodsPerCharge: Int { paymentMode == .payAsYouGo ? 1 : max(1, periodCount) }

  var applied: AppliedOffer {
    let letter =
      switch period.unit {
      case .day: "D"
      case .week: "W"
      case .month: "M"
      case .year: "Y"
      }
    let count = period.count.multipliedReportingOverflow(by: max(1, periodCount)).partialValue
    return AppliedOffer(kind: kind, id: id, paymentMode: paymentMode, period: "P\(count)\(letter)")
  }
}

struct PriceIncrease: Sendable, Equatable {
  enum Consent: Int64, Sendable, CaseIterable {
    /// Apple's `priceIncreaseStatus` 0: the user has not answered.
    case awaited = 0
    /// 1: the user agreed, or need not be asked.
    case given = 1
  }
  var consent: Consent
}

extension StoreLedger {
  /// Until when subscriptions stand whose renewal could not be charged, by their latest transaction.
  var graceEnds: [String: Int64] {
    var ends: [String: Int64] = [:]
    for subscription in subscriptions {
      if case .grace(let end, _) = subscription.state { ends[subscription.latestID] = end }
    }
    return ends
  }
}
