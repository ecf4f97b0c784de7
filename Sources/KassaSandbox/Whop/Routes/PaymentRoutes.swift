import KassaCore
import KassaJSON

extension WhopService {
  func listPayments(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    try requireSeller(request)
    let query = request.query
    let statuses = ["draft", "open", "authorized", "paid", "pending", "uncollectible", "unresolved", "void"]
    let reasons = [
      "subscription_create", "subscription_cycle", "subscription_update", "one_time", "manual", "subscription",
    ]
    let status = try query.word("status", among: statuses)
    let reason = try query.word("billing_reason", among: reasons)
    _ = try query.word("order", among: ["created_at", "paid_at"])
    let ordersByPaid = query.value("order") == "paid_at"
    let account = query.value("account_id"), user = query.value("user_id"), member = query.value("member_id")
    if user == "me" { throw .invalid("user_id", "must be a user id; buyers list their memberships instead") }
    let plan = query.value("plan_id"), product = query.value("product_id")
    let membership = query.value("membership_id"), currency = query.value("currency")
    let created = try CreationFilter(query)
    return try Page.cut(
      state.store.payments.all, query,
      where: { payment in
        (account ?? catalogue.account.id) == catalogue.account.id && (status ?? payment.status) == payment.status
          && (reason ?? payment.billingReason) == payment.billingReason
          && (plan ?? payment.planID) == payment.planID && (product ?? payment.productID) == payment.productID
          && (membership == nil || membership == payment.membershipID)
          && (user ?? payment.buyerID) == payment.buyerID
          && (member == nil || member == buyer(payment.buyerID)?.memberID)
          && (currency?.lowercased() ?? payment.currency) == payment.currency && created.matches(payment.createdAt)
      }, by: { SortKey(ordersByPaid ? $0.paidAt : $0.createdAt) }
    ) { document($0, for: request) }
  }

  func showPayment(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    APIAnswer(document(try payment(request), for: request))
  }

  func showPaymentStatus(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    APIAnswer(statusDocument(try payment(request)))
  }

  /// Gives all or a part of the money back. The membership stands: whether Whop ends it is not documented.
  func refundPayment(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    try request.require(anyOf: Permission.managePayments)
    let payment = try payment(request)
    let part = try request.read { (body) throws(JSONShapeError) in
      try body.allowOnly(["partial_amount", "metadata"])
      return body.has("partial_amount") ? try body.price("partial_amount") : nil
    }
    return APIAnswer(document(try refund(payment, part: part), for: request))
  }

  /// - Parameter part: nil for all that is left.
  func refund(_ payment: PaymentRecord, part: Decimal?) throws(Refusal) -> PaymentRecord {
    guard payment.isRefundable else { throw Refusal(409, "The payment has nothing left to refund.") }
    let refunded = part.map { $0.adding(payment.refunded) ?? payment.total } ?? payment.total
    guard part != .zero, refunded <= payment.total else {
      throw .invalid("partial_amount", "must be more than 0 and at most what is left")
    }
    var payment = payment
    payment.refunded = refunded
    payment.refundedAt = now
    payment.updatedAt = now
    state.store.payments.put(payment)
    return payment
  }

  private func payment(_ request: APIRequest) throws(Refusal) -> PaymentRecord {
    try requireSeller(request)
    guard let payment = state.store.payments[request.id] else { throw .notFound("payment") }
    return payment
  }

  /// A buyer's own token cannot read payments.
  private func requireSeller(_ request: APIRequest) throws(Refusal) {
    let caller = try request.require(anyOf: Permission.readPayments)
    let isBuyer = caller.buyerID.map { buyer($0)?.isTeamMember != true } ?? false
    if isBuyer { throw Refusal(403, "A buyer's token cannot read payments.") }
  }
}
