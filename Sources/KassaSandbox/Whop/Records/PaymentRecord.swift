import KassaCore
import KassaJSON

/// One charge, or one try of it. Its id is the receipt.
struct PaymentRecord: Record {
  static let kind = "payment"

  /// How far it has got. The service tells it in two words, `status` and `substatus`.
  enum State: String, CaseIterable {
    /// The bank wants the buyer's word first.
    case challenged
    case failed
    case pending
    case paid
    /// Every further attempt failed as well.
    case uncollectible
  }

  var id: String
  var planID: String
  var productID: String
  var buyerID: String
  var membershipID: String?
  var checkoutID: String?
  var paymentMethodID: String?
  /// Nil when nothing had to be paid.
  var instrument: Instrument?
  var metadata: JSON
  /// `subscription_create`, `subscription_cycle` or `one_time`.
  var billingReason: String
  var total: Decimal
  var refunded = Decimal.zero
  var currency: String
  var state: State
  /// The checkout that asked for it gives a trial.
  var startsTrial = false
  var declineCode: String?
  var failureMessage: String?
  var attemptsFailed: Int64 = 0
  var isChallengePassed = false
  var paidAt: Int64?
  var refundedAt: Int64?
  var lastAttemptAt: Int64?
  var nextAttemptAt: Int64?
  var createdAt: Int64
  var updatedAt: Int64

  var money: Money { Money(total, currency) }
}

extension PaymentRecord {
  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    planID = try fields.string("plan_id")
    productID = try fields.string("product_id")
    buyerID = try fields.string("buyer_id")
    membershipID = try fields.optionalString("membership_id")
    checkoutID = try fields.optionalString("checkout_id")
    paymentMethodID = try fields.optionalString("payment_method_id")
    instrument = try fields.optionalString("instrument").flatMap { Instrument(rawValue: $0) }
    metadata = try fields.optionalObject("metadata")?.json ?? [:]
    billingReason = try fields.string("billing_reason")
    total = try fields.price("total")
    refunded = try fields.price("refunded")
    currency = try fields.string("currency")
    state = try fields.word("state", among: State.allCases.map(\.rawValue)).flatMap(State.init) ?? .failed
    startsTrial = try fields.bool("starts_trial")
    declineCode = try fields.optionalString("decline_code")
    failureMessage = try fields.optionalString("failure_message")
    attemptsFailed = try fields.integer("attempts_failed")
    isChallengePassed = try fields.bool("is_challenge_passed")
    paidAt = try fields.optionalInteger("paid_at")
    refundedAt = try fields.optionalInteger("refunded_at")
    lastAttemptAt = try fields.optionalInteger("last_attempt_at")
    nextAttemptAt = try fields.optionalInteger("next_attempt_at")
    createdAt = try fields.integer("created_at")
    updatedAt = try fields.integer("updated_at")
  }

  var document: JSON {
    [
      "id": JSON(id), "plan_id": JSON(planID), "product_id": JSON(productID), "buyer_id": JSON(buyerID),
      "membership_id": JSON(membershipID), "checkout_id": JSON(checkoutID),
      "payment_method_id": JSON(paymentMethodID), "instrument": JSON(instrument?.rawValue), "metadata": metadata,
      "billing_reason": JSON(billingReason), "total": JSON(total.text), "refunded": JSON(refunded.text),
      "currency": JSON(currency), "state": JSON(state.rawValue), "starts_trial": JSON(startsTrial),
      "decline_code": JSON(declineCode), "failure_message": JSON(failureMessage),
      "attempts_failed": JSON(attemptsFailed), "is_challenge_passed": JSON(isChallengePassed),
      "paid_at": JSON(paidAt), "refunded_at": JSON(refundedAt), "last_attempt_at": JSON(lastAttemptAt),
      "next_attempt_at": JSON(nextAttemptAt), "created_at": JSON(createdAt), "updated_at": JSON(updatedAt),
    ]
  }
}
