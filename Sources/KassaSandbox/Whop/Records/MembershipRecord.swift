import KassaCore
import KassaJSON

/// One buyer's link to one product. `Billing` moves it through time.
struct MembershipRecord: Record {
  static let kind = "membership"

  var id: String
  var planID: String
  var productID: String
  var buyerID: String
  var licenseKey: String?
  /// Text, because an action may set a word that nobody knows.
  var status: String
  var metadata: JSON
  var checkoutID: String?
  var paymentMethodID: String?
  /// The series of store transactions that sold it; nil for what was bought at a checkout.
  var storeSeries: String?

  /// Days between charges; nil for what does not renew.
  var billingPeriod: Int64?
  var periodStart: Int64
  /// The next charge of what renews.
  var periodEnd: Int64?
  /// The fixed end of what does not renew.
  var expiresAt: Int64?

  var cancelAtPeriodEnd = false
  var canceledAt: Int64?
  var cancellationReason: String?
  var pausedAt: Int64?
  /// When a pause ends by itself.
  var pausedUntil: Int64?
  /// The renewal that could not be charged, and when it is tried again.
  var failedPaymentID: String?
  var nextAttemptAt: Int64?

  var createdAt: Int64
  var updatedAt: Int64

  var isPaused: Bool { pausedAt != nil }
  var renews: Bool { billingPeriod != nil }
  var hasEnded: Bool { status == "canceled" || status == "expired" }
  /// The statuses that open the product.
  var isActive: Bool { ["active", "trialing", "canceling", "past_due", "completed"].contains(status) }
}

extension MembershipRecord {
  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    planID = try fields.string("plan_id")
    productID = try fields.string("product_id")
    buyerID = try fields.string("buyer_id")
    licenseKey = try fields.optionalString("license_key")
    status = try fields.string("status")
    metadata = try fields.optionalObject("metadata")?.json ?? [:]
    checkoutID = try fields.optionalString("checkout_id")
    paymentMethodID = try fields.optionalString("payment_method_id")
    storeSeries = try fields.optionalString("store_series")
    billingPeriod = try fields.optionalInteger("billing_period")
    periodStart = try fields.integer("period_start")
    periodEnd = try fields.optionalInteger("period_end")
    expiresAt = try fields.optionalInteger("expires_at")
    cancelAtPeriodEnd = try fields.bool("cancel_at_period_end")
    canceledAt = try fields.optionalInteger("canceled_at")
    cancellationReason = try fields.optionalString("cancellation_reason")
    pausedAt = try fields.optionalInteger("paused_at")
    pausedUntil = try fields.optionalInteger("paused_until")
    failedPaymentID = try fields.optionalString("failed_payment_id")
    nextAttemptAt = try fields.optionalInteger("next_attempt_at")
    createdAt = try fields.integer("created_at")
    updatedAt = try fields.integer("updated_at")
  }

  var document: JSON {
    [
      "id": JSON(id), "plan_id": JSON(planID), "product_id": JSON(productID), "buyer_id": JSON(buyerID),
      "license_key": JSON(licenseKey), "status": JSON(status), "metadata": metadata,
      "checkout_id": JSON(checkoutID), "payment_method_id": JSON(paymentMethodID),
      "store_series": JSON(storeSeries),
      "billing_period": JSON(billingPeriod), "period_start": JSON(periodStart), "period_end": JSON(periodEnd),
      "expires_at": JSON(expiresAt), "cancel_at_period_end": JSON(cancelAtPeriodEnd),
      "canceled_at": JSON(canceledAt), "cancellation_reason": JSON(cancellationReason),
      "paused_at": JSON(pausedAt), "paused_until": JSON(pausedUntil), "failed_payment_id": JSON(failedPaymentID),
      "next_attempt_at": JSON(nextAttemptAt), "created_at": JSON(createdAt), "updated_at": JSON(updatedAt),
    ]
  }
}
