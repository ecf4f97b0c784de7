import KassaCore
import KassaJSON

/// What a checkout page sells: a plan, perhaps by way of a configuration.
struct Offer {
  var plan: PlanRecord
  var product: ProductRecord
  var configuration: CheckoutRecord?

  /// Whether the buyer has to say what to pay with: also a trial saves a card.
  func needsInstrument(_ due: Money) -> Bool { due.amount > .zero || plan.renewalPrice > .zero }
}

/// How a checkout stands.
struct CheckoutResult {
  enum Outcome: String, CaseIterable {
    case succeeded
    /// The money is on its way; an action settles it.
    case pending
    /// The bank asks for a password.
    case challenged
    case declined
    case canceled
  }

  var outcome: Outcome
  var payment: PaymentRecord?
  var membership: MembershipRecord?
}

extension WhopService {
  /// What a checkout page of that plan, and of the configuration named by its `session`, sells.
  func offer(planID: String, configurationID: String?) throws(Refusal) -> Offer {
    guard let plan = plan(planID), let product = product(plan.productID), plan.visibility != "archived" else {
      throw .notFound("plan")
    }
    var configuration: CheckoutRecord?
    if let configurationID {
      configuration = state.store.checkouts[configurationID]
      guard configuration?.planID == planID else { throw .notFound("checkout session") }
    }
    guard plan.releaseMethod == "buy_now" else {
      throw Refusal(422, "This plan has a waiting list and is not sold yet.")
    }
    if let stock = plan.stock {
      let sold = state.store.memberships.all.count { $0.planID == plan.id }
      guard sold < stock else { throw Refusal(422, "This plan is sold out.") }
    }
    return Offer(plan: plan, product: product, configuration: configuration)
  }

  /// What a buyer pays now. A trial is given once.
  func due(_ offer: Offer, email: String?) -> (money: Money, startsTrial: Bool) {
    let buyer = email.flatMap { email in buyers.first { $0.email == email.lowercased() } }
    let startsTrial = offer.plan.trialDays != nil && !hasHadTrial(of: offer.plan, buyer?.id)
    return (offer.plan.due(withTrial: startsTrial), startsTrial)
  }

  func hasHadTrial(of plan: PlanRecord, _ buyerID: String?) -> Bool {
    buyerID != nil
      && state.store.payments.all.contains { $0.planID == plan.id && $0.buyerID == buyerID && $0.startsTrial }
  }

  /// The buyer presses "Pay".
  func pay(_ offer: Offer, email: String, instrument: Instrument?) throws(Refusal) -> CheckoutResult {
    guard Self.isEmail(email) else { throw .invalid("email", "must be an e-mail address") }
    let (due, startsTrial) = due(offer, email: email)
    let needsInstrument = offer.needsInstrument(due)
    if needsInstrument, instrument == nil { throw .missing("card") }
    let instrument = needsInstrument ? instrument : nil
    let buyer = buyerRecord(email: email.lowercased())
    var payment = PaymentRecord(
      id: makePaymentID(), planID: offer.plan.id, productID: offer.product.id, buyerID: buyer.id,
      checkoutID: offer.configuration?.id, instrument: instrument, metadata: offer.configuration?.metadata ?? [:],
      billingReason: offer.plan.isRenewal ? "subscription_create" : "one_time", total: due.amount,
      currency: offer.plan.currency, state: .pending, startsTrial: startsTrial, lastAttemptAt: now,
      createdAt: now, updatedAt: now)
    switch instrument {
    case .declinedCard:
      return decline(&payment, .cardDeclined)
    case .challengedCard:
      payment.state = .challenged
      state.store.payments.put(payment)
      return CheckoutResult(outcome: .challenged, payment: payment)
    case .bankAccount:
      state.store.payments.put(payment)
      return CheckoutResult(outcome: .pending, payment: payment)
    case .goodCard, .failsLaterCard, nil:
      return complete(&payment)
    }
  }

  /// The buyer answers the bank's question.
  func answerChallenge(_ payment: PaymentRecord, password: String) throws(Refusal) -> CheckoutResult {
    guard payment.state == .challenged else { throw Refusal(409, "This payment waits for no confirmation.") }
    var payment = payment
    guard password == Instrument.challengePassword else { return decline(&payment, .challengeFailed) }
    payment.isChallengePassed = true
    return complete(&payment)
  }

  /// A debit arrives.
  func settle(_ payment: PaymentRecord) throws(Refusal) -> CheckoutResult {
    guard payment.state == .pending else { throw Refusal(409, "This payment is not pending.") }
    var payment = payment
    return complete(&payment)
  }

  /// A debit comes back.
  func failDebit(_ payment: PaymentRecord) throws(Refusal) -> CheckoutResult {
    guard payment.state == .pending else { throw Refusal(409, "This payment is not pending.") }
    var payment = payment
    return decline(&payment, .debitFailed)
  }

  private func decline(_ payment: inout PaymentRecord, _ decline: Decline) -> CheckoutResult {
    payment.fail(decline)
    payment.updatedAt = now
    state.store.payments.put(payment)
    return CheckoutResult(outcome: .declined, payment: payment)
  }

  /// The money is there: the membership begins.
  private func complete(_ payment: inout PaymentRecord) -> CheckoutResult {
    if let instrument = payment.instrument {
      let id = state.makeID("payt") { state.store.paymentMethods[$0] != nil }
      state.store.paymentMethods.put(
        PaymentMethodRecord(id: id, buyerID: payment.buyerID, instrument: instrument))
      payment.paymentMethodID = id
    }
    let membership = plan(payment.planID).map { makeMembership(of: $0, payment) }
    payment.membershipID = membership?.id
    payment.pay(at: now)
    payment.updatedAt = now
    state.store.payments.put(payment)
    if let membership { state.store.memberships.put(membership) }
    return CheckoutResult(outcome: .succeeded, payment: payment, membership: membership)
  }

  private func makeMembership(of plan: PlanRecord, _ payment: PaymentRecord) -> MembershipRecord {
    let trial = payment.startsTrial ? plan.trialDays : nil
    let period = trial ?? plan.billingPeriod
    let hasLicense = product(plan.productID)?.hasLicenses ?? false
    return MembershipRecord(
      id: state.makeID("mem") { state.store.memberships[$0] != nil },
      planID: plan.id, productID: plan.productID, buyerID: payment.buyerID,
      licenseKey: hasLicense ? makeLicenseKey() : nil,
      status: trial != nil ? "trialing" : plan.isRenewal ? "active" : "completed",
      metadata: payment.metadata, checkoutID: payment.checkoutID, paymentMethodID: payment.paymentMethodID,
      billingPeriod: plan.billingPeriod, periodStart: now,
      periodEnd: plan.isRenewal ? period.map { now + $0 * Billing.day } : nil,
      expiresAt: plan.isRenewal ? nil : plan.expirationDays.map { now + $0 * Billing.day },
      createdAt: now, updatedAt: now)
  }

  func makeLicenseKey() -> String {
    (0..<4).map { _ in state.randomText(length: 6).uppercased() }.joined(separator: "-")
  }

  func buyerRecord(email: String) -> BuyerRecord {
    if let known = buyers.first(where: { $0.email == email }) { return known }
    let id = state.makeID("user") { id in buyers.contains { $0.id == id } }
    let name = email.prefix { $0 != "@" }.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
    let buyer = BuyerRecord(
      id: id, memberID: state.makeID("mber") { id in buyers.contains { $0.memberID == id } }, email: email,
      username: "\(name)\(state.randomText(length: 4).lowercased())", createdAt: now)
    state.store.buyers.put(buyer)
    return buyer
  }

  private static func isEmail(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && text.utf8.count <= 254
      && !text.utf8.contains { $0 <= 0x20 || $0 == 0x7F }
  }

  /// Where the buyer goes after the checkout, with what the address tells the seller's program.
  func returnURL(of offer: Offer, _ result: CheckoutResult) -> String? {
    guard let url = offer.configuration?.redirectURL, result.outcome != .challenged else { return nil }
    let words = ReturnWords(catalogue.switches.returnVocabulary)
    let session = "chs_\(state.randomText(length: 14))"
    return URLText.adding(words.items(result.outcome, receipt: result.payment?.id, session: session), to: url)
  }
}

/// The three vocabularies in which Whop's checkouts report: hosted pages, embedded pages, elements.
struct ReturnWords {
  private let vocabulary: Switches.ReturnVocabulary

  init(_ vocabulary: Switches.ReturnVocabulary) { self.vocabulary = vocabulary }

  func items(_ outcome: CheckoutResult.Outcome, receipt: String?, session: String) -> [(String, String)] {
    let word = word(outcome)
    let receipt = outcome == .canceled ? nil : receipt
    switch vocabulary {
    case .hosted:
      let receipts = receipt.map { [("receipt_id", $0), ("payment_id", $0)] } ?? []
      return receipts + [("checkout_status", word), ("status", word), ("state_id", session)]
    case .embedded:
      return [("status", word)] + (receipt.map { [("receipt_id", $0)] } ?? [])
    case .elements:
      return (receipt.map { [("payment", $0)] } ?? []) + [("status", word)]
    }
  }

  private func word(_ outcome: CheckoutResult.Outcome) -> String {
    switch (vocabulary, outcome) {
    case (.elements, .succeeded): "succeeded"
    case (_, .succeeded): "success"
    case (.elements, .declined): "failed"
    // Embedded pages do not tell a buyer who left from one whose card was declined.
    case (.embedded, .canceled), (_, .declined): "error"
    case (_, .canceled): "canceled"
    case (_, .pending), (_, .challenged): "pending"
    }
  }
}

extension URLText {
  /// The URL with more items at the end of its query.
  static func adding(_ items: [(String, String)], to url: String) -> String {
    let withoutFragment = url.prefix { $0 != "#" }
    let mark = withoutFragment.contains("?") ? "&" : "?"
    return withoutFragment + mark + query(items) + url.dropFirst(withoutFragment.count)
  }
}
