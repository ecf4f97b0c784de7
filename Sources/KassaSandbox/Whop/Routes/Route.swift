import KassaCore
import KassaJSON

/// All routes of the REST interface.
struct Route: Sendable {
  typealias Handler = @Sendable (WhopService, APIRequest) throws(Refusal) -> APIAnswer

  private let method: String
  /// `*` stands for one part that the handler gets.
  private let path: [Substring]
  let handler: Handler
  /// Whether an idempotency key stands for its first answer. Where repeating does no harm anyway, a later answer may be
  /// another one.
  let remembersAnswers: Bool

  private init(_ method: String, _ path: String, remembersAnswers: Bool = true, _ handler: @escaping Handler) {
    self.method = method
    self.path = path.split(separator: "/")
    self.remembersAnswers = remembersAnswers
    self.handler = handler
  }

  private static let all = [
    Route("GET", "/variants") { (service, request) throws(Refusal) in try service.listPlans(request) },
    Route("GET", "/variants/*") { (service, request) throws(Refusal) in try service.showPlan(request) },
    // The former name of variants.
    Route("GET", "/plans") { (service, request) throws(Refusal) in try service.listPlans(request) },
    Route("GET", "/plans/*") { (service, request) throws(Refusal) in try service.showPlan(request) },
    Route("GET", "/products") { (service, request) throws(Refusal) in try service.listProducts(request) },
    Route("GET", "/products/*") { (service, request) throws(Refusal) in try service.showProduct(request) },

    Route("GET", "/memberships") { (service, request) throws(Refusal) in try service.listMemberships(request) },
    Route("GET", "/memberships/*") { (service, request) throws(Refusal) in try service.showMembership(request) },
    Route("PATCH", "/memberships/*") { (service, request) throws(Refusal) in try service.changeMembership(request) },
    Route("POST", "/memberships/*/cancel") { (service, request) throws(Refusal) in try service.cancel(request) },
    Route("POST", "/memberships/*/pause") { (service, request) throws(Refusal) in try service.pause(request) },
    Route("POST", "/memberships/*/resume") { (service, request) throws(Refusal) in try service.resume(request) },
    Route("POST", "/memberships/*/extend") { (service, request) throws(Refusal) in try service.extend(request) },
    Route("POST", "/memberships/*/reactivate") { (service, request) throws(Refusal) in try service.reactivate(request)
    },

    Route("POST", "/checkout_configurations") { (service, request) throws(Refusal) in
      try service.createCheckout(request)
    },
    Route("GET", "/checkout_configurations") { (service, request) throws(Refusal) in try service.listCheckouts(request)
    },
    Route("GET", "/checkout_configurations/*") { (service, request) throws(Refusal) in try service.showCheckout(request)
    },
    Route("DELETE", "/checkout_configurations/*") { (service, request) throws(Refusal) in
      try service.deleteCheckout(request)
    },

    Route("GET", "/payments") { (service, request) throws(Refusal) in try service.listPayments(request) },
    Route("GET", "/payments/*") { (service, request) throws(Refusal) in try service.showPayment(request) },
    Route("GET", "/payments/*/status") { (service, request) throws(Refusal) in try service.showPaymentStatus(request) },
    Route("POST", "/payments/*/refund") { (service, request) throws(Refusal) in try service.refundPayment(request) },

    // Refused before the store told of the transaction, a receipt is taken after it.
    Route("POST", "/store_receipts", remembersAnswers: false) { (service, request) throws(Refusal) in
      try service.takeStoreReceipt(request)
    },

    Route("GET", "/permissions") { (service, request) throws(Refusal) in try service.listPermissions(request) },
    Route("POST", "/access_tokens") { (service, request) throws(Refusal) in try service.createToken(request) },
    Route("GET", "/users/*/access/*") { (service, request) throws(Refusal) in try service.checkAccess(request) },
  ]

  /// The route of a request, which learns what stands in the place of each `*`.
  static func find(_ request: inout APIRequest) throws(Refusal) -> Route {
    let path = request.target.prefix { $0 != "?" }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { URLText.unescape($0) }
    for route in all where route.method == request.method {
      guard let wildcards = route.wildcards(in: parts) else { continue }
      request.id = wildcards.first ?? ""
      request.secondID = wildcards.dropFirst().first ?? ""
      return route
    }
    throw .noRoute(request)
  }

  /// What stands in the place of each `*`; nil if this is another path.
  private func wildcards(in parts: [String]) -> [String]? {
    guard parts.count == path.count, zip(path, parts).allSatisfy({ $0 == "*" ? !$1.isEmpty : $0 == $1 }) else {
      return nil
    }
    return zip(path, parts).filter { $0.0 == "*" }.map(\.1)
  }
}
