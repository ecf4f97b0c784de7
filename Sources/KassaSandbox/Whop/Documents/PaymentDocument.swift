import KassaCore
import KassaJSON

/// How the service shows a payment.
extension WhopService {
  func document(_ payment: PaymentRecord, for request: APIRequest) -> JSON {
    let buyer = buyer(payment.buyerID)
    let seesMembers = request.may(Permission.readMembers)
    let total = MoneyDocument.money(payment.money)
    let nothing = MoneyDocument.money(Money(.zero, payment.currency))
    let refunded = MoneyDocument.money(Money(payment.refunded, payment.currency))
    return [
      "id": JSON(payment.id),
      "status": JSON(payment.status),
      "substatus": JSON(payment.substatus),
      "account_id": JSON(catalogue.account.id),
      "plan_id": JSON(payment.planID),
      "product_id": JSON(payment.productID),
      "membership_id": seesMembers ? JSON(payment.membershipID) : .null,
      "member_id": seesMembers ? JSON(buyer?.memberID) : .null,
      "user": buyer.map(user) ?? .null,
      "customer_email": request.may(Permission.readEmails) ? JSON(buyer?.email) : .null,
      "checkout_configuration_id": JSON(payment.checkoutID),
      "metadata": payment.metadata,
      "billing_reason": JSON(payment.billingReason),
      "currency": JSON(payment.currency),
      "total": total,
      "subtotal": total,
      "presentment_total": total,
      "usd_total": payment.currency == "usd" ? total : .null,
      "amount_after_fees": total,
      "tax_amount": nothing,
      "tax_refunded_amount": nothing,
      "refunded_amount": refunded,
      "line_items": [lineItem(payment, total)],
      "decline_code": JSON(payment.declineCode),
      "failure_message": JSON(payment.failureMessage),
      "payments_failed": JSON(payment.attemptsFailed),
      "paid_at": time(payment.paidAt),
      "refunded_at": time(payment.refundedAt),
      "last_payment_attempt_at": time(payment.lastAttemptAt),
      "next_payment_attempt_at": time(payment.nextAttemptAt),
      "payment_method_id": JSON(payment.paymentMethodID),
      "payment_method_type": JSON(payment.instrument?.type),
      "payment_instrument": payment.instrument.map(Self.instrument) ?? .null,
      "three_ds_verified": JSON(payment.isChallengePassed),
      "refundable": JSON(payment.isRefundable),
      "retryable": JSON(payment.state == .failed && payment.billingReason == "subscription_cycle"),
      "voidable": JSON(payment.state == .failed),
      "auto_refunded": false,
      "created_at": time(payment.createdAt),
      "updated_at": time(payment.updatedAt),
      // What payments of this sandbox never use.
      "billing_address": .null, "client_secret": .null, "customer_phone": .null, "dispute_alerted_at": .null,
      "financing_installments_count": .null, "holds": [], "ip_address": .null, "needs_tracking": .null,
      "payment_rule_matches": [], "promo_code_id": .null, "quote_id": .null, "recovery_url": .null,
      "risk_score": .null, "risk_signals": .null, "settlement_time_at": .null, "shipment_id": .null,
      "shipping_address": .null, "tax_behavior": .null, "verification_checks": .null,
    ]
  }

  /// The answer of `/payments/{id}/status`, in a vocabulary of its own.
  func statusDocument(_ payment: PaymentRecord) -> JSON {
    let failure: JSON =
      payment.declineCode == nil
      ? .null
      : [
        "code": "card_declined", "decline_code": JSON(payment.declineCode), "message": JSON(payment.failureMessage),
      ]
    return [
      "object": "payment_status", "id": JSON(payment.id), "status": JSON(payment.progress),
      "account": accountSummary, "return_url": .null, "last_payment_error": failure,
      "next_action": payment.state == .challenged ? challengeAction(payment) : .null,
      "processing_details": payment.state == .pending ? ["expected_by": .null] : .null,
      "auto_capture_at": .null, "capture_expires_at": .null,
    ]
  }

  private func challengeAction(_ payment: PaymentRecord) -> JSON {
    [
      "type": "redirect", "render": ["full_page"],
      "data": ["url": JSON(challengeURL(payment)), "frame_max_width": .null],
    ]
  }

  private func user(_ buyer: BuyerRecord) -> JSON {
    [
      "id": JSON(buyer.id), "username": JSON(buyer.username), "name": JSON(buyer.name),
      "profile_picture": ["url": JSON(Self.emptySVG)],
    ]
  }

  private func lineItem(_ payment: PaymentRecord, _ total: JSON) -> JSON {
    let plan = plan(payment.planID), product = product(payment.productID)
    return [
      "id": .null, "label": JSON(plan?.title ?? product?.title), "plan_id": JSON(payment.planID),
      "plan_title": JSON(plan?.title), "product_id": JSON(payment.productID), "product_title": JSON(product?.title),
      "quantity": 1, "sku": .null, "subtotal": total,
    ]
  }

  // Empty pictures that need no server.
  private static let emptySVG = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"
  private static let emptyPNG =
    "data:image/png;base64,"
    + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="

  private static func instrument(_ instrument: Instrument) -> JSON {
    let picture: JSON = [
      "svg": JSON(emptySVG), "png_1x": JSON(emptyPNG), "png_2x": JSON(emptyPNG), "png_4x": JSON(emptyPNG),
    ]
    let icon: JSON = ["dark": picture, "light": picture]
    return [
      "display_name": JSON(instrument.displayName), "payment_method_type": JSON(instrument.type),
      "icons": ["card": icon, "square": icon], "installment_count": .null,
      "card": instrument.isCard
        ? [
          "brand": JSON(instrument.brand), "last4": JSON(instrument.lastFour), "exp_month": 12, "exp_year": 2034,
          "issuer_identification_number": JSON(String(instrument.rawValue.prefix(6))),
        ] : .null,
    ]
  }
}

extension PaymentRecord {
  var isRefundable: Bool { state == .paid && refunded < total }

  var status: String {
    switch state {
    case .challenged, .failed: "open"
    case .pending: "pending"
    case .paid: "paid"
    case .uncollectible: "uncollectible"
    }
  }

  fileprivate var substatus: String {
    switch state {
    case .challenged: "incomplete"
    case .failed: billingReason == "subscription_cycle" ? "past_due" : "failed"
    case .pending: "pending"
    case .uncollectible: "uncollectible"
    case .paid where refunded == .zero: "succeeded"
    case .paid: refunded < total ? "partially_refunded" : "refunded"
    }
  }

  fileprivate var progress: String {
    switch state {
    case .challenged: "requires_action"
    case .failed: "requires_confirmation"
    case .pending: "processing"
    case .paid: "succeeded"
    case .uncollectible: "canceled"
    }
  }
}
