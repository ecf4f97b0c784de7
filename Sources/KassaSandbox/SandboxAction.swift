import KassaCore
import KassaJSON

/// What `Sandbox.perform` does; its comment lists the actions for users.
enum SandboxAction {
  case advance(milliseconds: Int64)
  case completeCheckout(CheckoutOrder)
  case settlePayment(id: String?, succeeds: Bool)
  case cancelMembership(id: String, atPeriodEnd: Bool)
  case setStatus(membershipID: String, status: String)
  case refund(paymentID: String, amount: Decimal?, cancels: Bool)
  case setKey(String, isRevoked: Bool)
  case registerStoreTransaction(StoreTransactionRecord)
  case developmentEvent(VoidhashDevelopmentEvent)
  case fault(Fault)
  case clearFaults
  case state

  static let names = [
    "advance", "complete_checkout", "settle_payment", "fail_payment", "cancel_membership", "set_status", "refund",
    "revoke_key", "restore_key", "register_store_transaction", "development_event", "fault", "clear_faults", "state",
  ]

  init(_ fields: Fields) throws(JSONShapeError) {
    let name = try fields.string("action")
    func allow(_ keys: [String]) throws(JSONShapeError) { try fields.allowOnly(["action"] + keys) }
    switch name {
    case "advance":
      try allow(["ms", "days"])
      let most = Self.longestAdvance
      let days = try fields.number("days", 0...(most / Billing.day)) ?? 0
      self = .advance(milliseconds: days * Billing.day + (try fields.number("ms", 0...most) ?? 0))
    case "complete_checkout":
      try allow(CheckoutOrder.keys)
      self = .completeCheckout(try CheckoutOrder(fields))
    case "settle_payment", "fail_payment":
      try allow(["payment_id"])
      self = .settlePayment(id: try fields.optionalString("payment_id"), succeeds: name == "settle_payment")
    case "cancel_membership":
      try allow(["membership_id", "cancel_at_period_end"])
      self = .cancelMembership(
        id: try fields.string("membership_id"), atPeriodEnd: try fields.optionalBool("cancel_at_period_end") ?? false)
    case "set_status":
      try allow(["membership_id", "status"])
      self = .setStatus(membershipID: try fields.string("membership_id"), status: try fields.string("status"))
    case "refund":
      try allow(["payment_id", "amount", "cancel_membership"])
      self = .refund(
        paymentID: try fields.string("payment_id"), amount: fields.has("amount") ? try fields.price("amount") : nil,
        cancels: try fields.optionalBool("cancel_membership") ?? false)
    case "revoke_key", "restore_key":
      try allow(["key"])
      self = .setKey(try fields.string("key"), isRevoked: name == "revoke_key")
    case "register_store_transaction":
      try allow(["transaction"])
      self = .registerStoreTransaction(try StoreTransactionRecord(registering: fields.object("transaction")))
    case "development_event":
      try allow(VoidhashDevelopmentEvent.keys)
      self = .developmentEvent(try VoidhashDevelopmentEvent(fields))
    case "fault":
      try allow(Fault.keys)
      self = .fault(try Fault(fields))
    case "clear_faults":
      try allow([])
      self = .clearFaults
    case "state":
      try allow([])
      self = .state
    default:
      let hint = nearest(to: name, in: Self.names).map { "; did you mean \"\($0)\"?" } ?? ""
      throw fields.problem("action", "\"\(name)\" is not known\(hint)")
    }
  }

  /// Ten years: further on, weekly memberships would make thousands of payments.
  private static let longestAdvance = 3_650 * Billing.day

  func perform(
    on whop: WhopService, _ voidhash: VoidhashService?, _ faults: inout [Fault]
  ) throws(Refusal) -> JSON {
    switch self {
    case .advance(let milliseconds):
      try whop.state.advanceClock(milliseconds: milliseconds)
      whop.catchUp()
      return ["now": JSON(whop.now)]
    case .completeCheckout(let order): return try whop.complete(order)
    case .settlePayment(let id, let succeeds):
      let payment = try whop.pendingPayment(id)
      return whop.document(succeeds ? try whop.settle(payment) : try whop.failDebit(payment), returningTo: nil)
    case .cancelMembership(let id, let atPeriodEnd):
      return try whop.change(id) { membership in
        if atPeriodEnd {
          membership.setCancelAtPeriodEnd(true, at: whop.now)
        } else {
          Billing.end(&membership, at: whop.now)
        }
      }
    case .setStatus(let id, let status): return try whop.change(id) { $0.status = status }
    case .refund(let id, let amount, let cancels):
      guard let payment = whop.state.store.payments[id] else { throw .notFound("payment") }
      let refunded = try whop.refund(payment, part: amount)
      if cancels, let id = payment.membershipID { _ = try whop.change(id) { Billing.end(&$0, at: whop.now) } }
      return ["payment_id": JSON(id), "refunded": JSON(refunded.refunded.text)]
    case .setKey(let key, let isRevoked):
      let keys = whop.catalogue.keys.map(\.secret) + (voidhash?.catalogue.publishableKeys ?? [])
      guard keys.contains(key) else { throw .notFound("key") }
      if isRevoked {
        whop.state.store.revokedKeys.put(RevokedKeyRecord(id: key))
      } else {
        whop.state.store.revokedKeys.remove(key)
      }
      return ["key": JSON(key)]
    case .registerStoreTransaction(let transaction):
      whop.register(transaction)
      return ["transaction_id": JSON(transaction.transactionID)]
    case .developmentEvent(let event):
      guard let voidhash else { throw .notFound("Voidhash project in the catalogue") }
      return try event.perform(on: voidhash)
    case .fault(let fault):
      faults.append(fault)
      return ["faults": JSON(faults.count)]
    case .clearFaults:
      faults = []
      return ["faults": 0]
    case .state:
      let more: [(String, JSON)] = voidhash.map { [("voidhash", $0.stateDocument)] } ?? []
      return whop.stateDocument.merging(more + [("faults", JSON(faults.count))])
    }
  }
}

/// A checkout that an action carries out in the buyer's place.
struct CheckoutOrder {
  static let keys = [
    "url", "checkout_configuration_id", "plan_id", "payment_id", "email", "card", "outcome", "challenge",
  ]
  private static let outcomes: [String: Instrument] = [
    "succeeded": .goodCard, "declined": .declinedCard, "pending": .bankAccount,
  ]
  private static let canceled = "canceled"

  var planID: String?
  var configurationID: String?
  /// A payment that waits for its challenge.
  var paymentID: String?
  var email: String
  var instrument: Instrument
  var isCanceled: Bool
  var challenge: String?

  init(_ fields: Fields) throws(JSONShapeError) {
    planID = try fields.optionalString("plan_id")
    configurationID = try fields.optionalString("checkout_configuration_id")
    paymentID = try fields.optionalString("payment_id")
    if let url = try fields.optionalString("url") {
      guard let page = CheckoutAddress(url) else { throw fields.problem("url", "is no address of a checkout") }
      (planID, configurationID) = (page.planID, page.configurationID)
    }
    guard planID != nil || configurationID != nil || paymentID != nil else {
      throw fields.problem("url", "is missing, and so are checkout_configuration_id, plan_id and payment_id")
    }
    email = try fields.optionalString("email") ?? "buyer@example.com"
    let words = Self.outcomes.keys.sorted() + [Self.canceled]
    let outcome = try fields.word("outcome", among: words)
    isCanceled = outcome == Self.canceled
    let card = try fields.value("card", "one of the test cards or \(Instrument.bankAccount.rawValue)") { json in
      json.string.flatMap { Instrument($0) }
    }
    instrument = card ?? outcome.flatMap { Self.outcomes[$0] } ?? .goodCard
    challenge = try fields.optionalString("challenge")
  }
}

extension WhopService {
  fileprivate func complete(_ order: CheckoutOrder) throws(Refusal) -> JSON {
    if let id = order.paymentID {
      guard let payment = state.store.payments[id] else { throw .notFound("payment") }
      let result = try answerChallenge(payment, password: order.challenge ?? "")
      return document(result, returningTo: returnURL(of: try offer(of: payment), result))
    }
    let planID = order.planID ?? order.configurationID.flatMap { state.store.checkouts[$0]?.planID }
    guard let planID else { throw .notFound("checkout configuration") }
    let offer = try offer(planID: planID, configurationID: order.configurationID)
    var result = CheckoutResult(outcome: .canceled)
    if !order.isCanceled {
      result = try pay(offer, email: order.email, instrument: order.instrument)
      if result.outcome == .challenged, let password = order.challenge, let payment = result.payment {
        result = try answerChallenge(payment, password: password)
      }
    }
    return document(result, returningTo: returnURL(of: offer, result))
  }

  fileprivate func document(_ result: CheckoutResult, returningTo url: String?) -> JSON {
    [
      "outcome": JSON(result.outcome.rawValue), "payment_id": JSON(result.payment?.id),
      "membership_id": JSON(result.membership?.id), "redirect_url": JSON(url),
      "decline_code": JSON(result.payment?.declineCode), "message": JSON(result.payment?.failureMessage),
    ]
  }

  fileprivate func pendingPayment(_ id: String?) throws(Refusal) -> PaymentRecord {
    let payment = id.map { state.store.payments[$0] } ?? state.store.payments.all.last { $0.state == .pending }
    guard let payment else { throw .notFound("pending payment") }
    return payment
  }

  fileprivate func change(_ id: String, _ body: (inout MembershipRecord) -> Void) throws(Refusal) -> JSON {
    guard var membership = state.store.memberships[id] else { throw .notFound("membership") }
    body(&membership)
    membership.updatedAt = now
    state.store.memberships.put(membership)
    return ["membership_id": JSON(id), "status": JSON(membership.status)]
  }

  fileprivate var stateDocument: JSON {
    func documents(_ records: [some Record]) -> JSON { .array(records.map(\.document)) }
    return [
      "now": JSON(now), "plans": documents(plans), "buyers": documents(buyers),
      "checkout_configurations": documents(state.store.checkouts.all),
      "memberships": documents(state.store.memberships.all), "payments": documents(state.store.payments.all),
      "store_transactions": .array(state.store.storeTransactions.all.map(\.summary)),
    ]
  }
}
