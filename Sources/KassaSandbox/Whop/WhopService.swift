import KassaCore
import KassaJSON

/// Whop's REST interface and hosted checkout.
final class WhopService {
  /// The version whose shapes this service speaks.
  static let apiVersionDate = "2026-10-15-1"
  static let apiPath = "/api/v1"
  /// How long an idempotency key stands for its answer.
  private static let replayPeriod: Int64 = 24 * 3_600_000
  private static let replayKeyLength = 255

  let catalogue: Catalogue
  let state: SandboxState

  init(_ catalogue: Catalogue, _ state: SandboxState) {
    self.catalogue = catalogue
    self.state = state
  }

  var now: Int64 { state.now }

  // MARK: Requests

  /// - Parameter target: path and query below `/api/v1`.
  func answer(_ request: HTTPRequest, target: String) -> APIAnswer {
    do throws(Refusal) {
      try checkVersion(request)
      var apiRequest = APIRequest(
        method: request.method, target: target, query: Query(target), body: try body(of: request),
        credential: try credential(of: request))
      let route = try Route.find(&apiRequest)
      guard request.method == "POST", route.remembersAnswers, let key = request.header("Idempotency-Key"),
        let caller = apiRequest.credential
      else { return try route.handler(self, apiRequest) }
      return try once(key, caller, apiRequest, request) { () throws(Refusal) in try route.handler(self, apiRequest) }
    } catch {
      return Self.answer(error)
    }
  }

  static func answer(_ refusal: Refusal) -> APIAnswer {
    var answer = APIAnswer(refusal.document)
    answer.status = refusal.status
    return answer
  }

  private func checkVersion(_ request: HTTPRequest) throws(Refusal) {
    guard let date = request.header("Api-Version-Date"), date != Self.apiVersionDate else { return }
    throw Refusal(
      400, "Unknown Api-Version-Date \"\(date)\". Supported: \(Self.apiVersionDate)", code: "parameter_invalid",
      param: "Api-Version-Date")
  }

  private func body(of request: HTTPRequest) throws(Refusal) -> Fields {
    let json: JSON
    do {
      json = request.body.isEmpty ? [:] : try JSON.parse(request.body)
    } catch {
      throw Refusal(400, "The body is not valid JSON: \(error.message)", code: "invalid_json")
    }
    do throws(JSONShapeError) { return try Fields(json) } catch {
      throw Refusal(400, "The body must be a JSON object.", code: "invalid_json")
    }
  }

  private func credential(of request: HTTPRequest) throws(Refusal) -> Credential? {
    guard let header = request.header("Authorization") else { return nil }
    let parts = header.split(separator: " ")
    guard parts.count == 2, parts[0].lowercased() == "bearer", let credential = credential(String(parts[1])) else {
      throw Refusal(401, "The API key or access token is not valid.")
    }
    return credential
  }

  /// The key or token, unless it is unknown, expired or revoked.
  private func credential(_ secret: String) -> Credential? {
    if let key = catalogue.keys.first(where: { $0.secret == secret }) {
      guard state.store.revokedKeys[secret] == nil else { return nil }
      return Credential(secret: secret, permissions: key.permissions)
    }
    guard let token = state.store.tokens[secret], token.expiresAt > now, credential(token.parent) != nil else {
      return nil
    }
    return Credential(secret: secret, buyerID: token.buyerID, permissions: token.permissions)
  }

  /// Does what a key was not yet used for; of one that was, gives the answer of then.
  private func once(
    _ key: String, _ caller: Credential, _ request: APIRequest, _ http: HTTPRequest,
    _ handle: () throws(Refusal) -> APIAnswer
  ) throws(Refusal) -> APIAnswer {
    guard key.utf8.count <= Self.replayKeyLength else {
      throw .invalid("Idempotency-Key", "must have at most \(Self.replayKeyLength) bytes")
    }
    for old in state.store.replays.all where old.createdAt + Self.replayPeriod <= now {
      state.store.replays.remove(old.id)
    }
    let id = "\(caller.secret) \(key)"
    let version = http.header("Api-Version-Date") ?? ""
    let fingerprint = "\(request.method) \(request.target) \(version) \(request.body.json.text(sortingKeys: true))"
    if let replay = state.store.replays[id] {
      guard replay.request == fingerprint else {
        throw Refusal(400, "The idempotency key was already used with another request.", code: "idempotency_key_reused")
      }
      var answer = APIAnswer(replay.body)
      answer.status = Int(replay.status)
      answer.headers = [HTTPHeader("Idempotent-Replayed", "true")]
      return answer
    }
    let answer: APIAnswer
    do throws(Refusal) { answer = try handle() } catch { answer = Self.answer(error) }
    state.store.replays.put(
      ReplayRecord(id: id, request: fingerprint, status: answer.status, body: answer.document, createdAt: now))
    return answer
  }

  // MARK: What routes share

  /// The catalogue's plans, then those that checkout configurations made.
  var plans: [PlanRecord] { catalogue.plans + state.store.plans.all }
  func plan(_ id: String) -> PlanRecord? { plans.first { $0.id == id } }
  func product(_ id: String) -> ProductRecord? { catalogue.products.first { $0.id == id } }

  /// The catalogue's users, then those who bought.
  var buyers: [BuyerRecord] { catalogue.users + state.store.buyers.all }
  func buyer(_ id: String) -> BuyerRecord? { buyers.first { $0.id == id } }

  /// The memberships that the caller may see: the account's, or with a user's token that user's own.
  func visibleMemberships(to credential: Credential) -> [MembershipRecord] {
    let memberships = state.store.memberships.all
    guard let buyerID = credential.buyerID, buyer(buyerID)?.isTeamMember != true else { return memberships }
    return memberships.filter { $0.buyerID == buyerID }
  }

  // MARK: Time

  /// Lets everything happen that was due by now.
  func catchUp() {
    let now = self.now
    for var membership in state.store.memberships.all {
      var changed = false
      while let moment = Billing.dueTime(membership), moment <= now {
        step(&membership, at: moment)
        changed = true
      }
      if changed { state.store.memberships.put(membership) }
    }
  }

  private func step(_ membership: inout MembershipRecord, at moment: Int64) {
    let price = plan(membership.planID)?.renewalPrice ?? .zero
    let instrument = paymentMethod(of: membership)?.instrument
    let charge = Billing.step(&membership, at: moment, pays: price == .zero || instrument?.paysRenewals == true)
    switch charge {
    case .none: break
    case .renewal(let succeeded):
      guard price > .zero, var payment = renewalPayment(membership, at: moment) else { return }
      record(succeeded, on: &payment, membership, at: moment)
      membership.failedPaymentID = succeeded ? nil : payment.id
      state.store.payments.put(payment)
    case .retry(let succeeded):
      guard var payment = membership.failedPaymentID.flatMap({ state.store.payments[$0] }) else { return }
      record(succeeded, on: &payment, membership, at: moment)
      if succeeded { membership.failedPaymentID = nil }
      state.store.payments.put(payment)
    case .givenUp:
      guard var payment = membership.failedPaymentID.flatMap({ state.store.payments[$0] }) else { return }
      record(false, on: &payment, membership, at: moment)
      payment.state = .uncollectible
      membership.failedPaymentID = nil
      state.store.payments.put(payment)
    }
  }

  private func renewalPayment(_ membership: MembershipRecord, at moment: Int64) -> PaymentRecord? {
    plan(membership.planID).map { plan in
      PaymentRecord(
        id: makePaymentID(), planID: plan.id, productID: plan.productID, buyerID: membership.buyerID,
        membershipID: membership.id, checkoutID: membership.checkoutID, metadata: membership.metadata,
        billingReason: "subscription_cycle", total: plan.renewalPrice, currency: plan.currency, state: .failed,
        createdAt: moment, updatedAt: moment)
    }
  }

  private func paymentMethod(of membership: MembershipRecord) -> PaymentMethodRecord? {
    membership.paymentMethodID.flatMap { state.store.paymentMethods[$0] }
  }

  /// Writes down how an attempt to charge a renewal went.
  private func record(
    _ succeeded: Bool, on payment: inout PaymentRecord, _ membership: MembershipRecord, at moment: Int64
  ) {
    payment.paymentMethodID = membership.paymentMethodID
    payment.instrument = paymentMethod(of: membership)?.instrument
    payment.lastAttemptAt = moment
    payment.nextAttemptAt = membership.nextAttemptAt
    payment.updatedAt = moment
    if succeeded {
      payment.pay(at: moment)
    } else {
      payment.fail(.cardDeclined)
    }
  }

  func makePaymentID() -> String { state.makeID("pay") { state.store.payments[$0] != nil } }
}
