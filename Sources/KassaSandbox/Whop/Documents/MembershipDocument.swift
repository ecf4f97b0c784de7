import KassaCore
import KassaJSON

/// How the service shows a membership.
extension WhopService {
  func document(_ membership: MembershipRecord, for request: APIRequest) -> JSON {
    let plan = plan(membership.planID)
    let product = product(membership.productID)
    let isBuyer = request.credential?.buyerID == membership.buyerID
    let currency = plan?.currency ?? "usd"
    let action = LatestAction(membership)
    return [
      "id": JSON(membership.id),
      "status": JSON(membership.status),
      "account": [
        "id": JSON(catalogue.account.id), "title": JSON(catalogue.account.title),
        "route": JSON(catalogue.account.route), "logo_url": .null,
      ],
      "plan_id": JSON(membership.planID),
      "product_id": JSON(membership.productID),
      "product": ["id": JSON(membership.productID), "title": JSON(product?.title ?? ""), "logo_url": .null],
      "user_id": JSON(membership.buyerID),
      "member_id": JSON(buyer(membership.buyerID)?.memberID),
      "member": isBuyer ? member(membership) : .null,
      "metadata": membership.metadata,
      "license_key": JSON(membership.licenseKey),
      "billing_period_days": JSON(membership.billingPeriod),
      "current_period_start": time(membership.periodStart),
      "current_period_end": time(membership.periodEnd ?? membership.expiresAt),
      "expires_at": time(membership.expiresAt),
      "cancel_at_period_end": JSON(membership.cancelAtPeriodEnd),
      "canceled_at": time(membership.canceledAt),
      "cancellation_reason": JSON(membership.cancellationReason),
      "cancel_option": .null,
      "feedback_option": .null,
      "collection_method": membership.renews ? "charge_automatically" : .null,
      "initial_price": MoneyDocument.money(Money(plan?.initialPrice ?? .zero, currency)),
      "renewal_price": membership.renews
        ? MoneyDocument.money(Money(plan?.renewalPrice ?? .zero, currency)) : .null,
      "manage_url": isBuyer || request.may(Permission.manageMembers)
        ? JSON("\(state.baseURL)/billing/manage/\(membership.id)") : .null,
      "most_recent_action": JSON(action?.name),
      "most_recent_action_at": time(action?.moment),
      "affiliate": .null, "phone_number": .null, "promo_code_id": .null,
      "split_pay_current_payments": .null, "split_pay_required_payments": .null,
      "created_at": time(membership.createdAt),
      "updated_at": time(membership.updatedAt),
    ]
  }

  private func member(_ membership: MembershipRecord) -> JSON {
    [
      "access_level": JSON(accessLevel(of: membership.buyerID, to: catalogue.account.id).rawValue),
      "last_accessed_at": .null, "position": .null,
    ]
  }

  func time(_ moment: Int64?) -> JSON { JSON(moment.map(Timestamp.iso8601)) }
}

/// The latest or next thing that happens to a membership, as `most_recent_action` tells it.
private struct LatestAction {
  var name: String
  var moment: Int64?

  init?(_ membership: MembershipRecord) {
    let isEnding = membership.cancelAtPeriodEnd
    switch membership.status {
    case "canceled": (name, moment) = ("canceled_on", membership.canceledAt)
    case _ where membership.isPaused: (name, moment) = ("paused_at", membership.pausedAt)
    case "past_due": (name, moment) = ("next_payment_attempt", membership.nextAttemptAt)
    case "trialing": (name, moment) = (isEnding ? "trial_canceling_on" : "trial_ends_at", membership.periodEnd)
    case "active": (name, moment) = (isEnding ? "canceling_on" : "renewing_on", membership.periodEnd)
    case "unresolved": (name, moment) = ("unresolved_at", membership.updatedAt)
    case "completed", "expired":
      guard let end = membership.expiresAt else { return nil }
      (name, moment) = ("ending_on", end)
    default: return nil
    }
  }
}
