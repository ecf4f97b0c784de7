import KassaCore
import KassaJSON
import KassaPlatform

enum AccessLevel: String {
  case none = "no_access"
  case customer
  /// The seller's team has access without a purchase.
  case admin
}

extension WhopService {
  /// Which of the named permissions the credential has. What it cannot see grants nothing.
  func listPermissions(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let caller = try request.caller()
    guard let resource = request.query.value("resource_id") else { throw .missing("resource_id") }
    let isVisible = resource == catalogue.account.id || product(resource) != nil
    let asked = request.query.value("actions").map { $0.split(separator: ",").map(String.init) }
    let rows = (asked ?? caller.permissions.names).map { action -> JSON in
      ["action": JSON(action), "granted": JSON(isVisible && caller.permissions.allow(action))]
    }
    return APIAnswer(["data": .array(rows)])
  }

  private static let tokenLifetime: Int64 = 3_600_000
  private static let longestTokenLifetime = 3 * tokenLifetime

  /// Gives out a token with some of the caller's permissions. It looks like a JWT, but is not signed: the third part is
  /// random, and the sandbox knows its tokens by heart.
  func createToken(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let caller = try request.caller()
    let asked = try request.read { (body) throws(JSONShapeError) in
      try body.allowOnly(["account_id", "user_id", "scoped_actions", "expires_at"])
      return (
        account: try body.optionalString("account_id"), user: try body.optionalString("user_id"),
        actions: try body.strings("scoped_actions") ?? [], end: try body.time("expires_at")
      )
    }
    if let account = asked.account, account != catalogue.account.id { throw .notFound("account") }
    if let user = asked.user, buyer(user) == nil { throw .notFound("user") }
    if let own = caller.buyerID, let user = asked.user, own != user {
      throw Refusal(403, "A user's token cannot act for another user.")
    }
    guard caller.permissions.include(asked.actions) else {
      throw Refusal(403, "scoped_actions must be permissions of the caller.")
    }
    let end = asked.end ?? now + Self.tokenLifetime
    guard end > now, end <= now + Self.longestTokenLifetime else {
      throw .invalid("expires_at", "must lie in the next 3 hours")
    }
    let user = asked.user ?? caller.buyerID
    let token = TokenRecord(
      id: tokenText(subject: user ?? catalogue.account.id, expiresAt: end), parent: caller.secret, buyerID: user,
      permissions: asked.actions.isEmpty ? caller.permissions : Permissions(asked.actions), expiresAt: end)
    state.store.tokens.put(token)
    return APIAnswer(["token": JSON(token.id), "expires_at": time(end)])
  }

  private func tokenText(subject: String, expiresAt: Int64) -> String {
    let header: JSON = ["alg": "none", "typ": "JWT"]
    let payload: JSON = [
      "iss": "kassa-sandbox", "sub": JSON(subject), "aud": JSON(catalogue.account.id),
      "iat": JSON(now / 1_000), "exp": JSON(expiresAt / 1_000), "jti": JSON(state.randomText(length: 16)),
    ]
    return [header.bytes(), payload.bytes(), Array(state.randomText(length: 24).utf8)].map(Base64.encodeURL)
      .joined(separator: ".")
  }

  /// Whether a user, named by id or user name, may use a product or anything of the account.
  func checkAccess(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let caller = try request.caller()
    let found = buyers.first { $0.id == request.id || $0.username == request.id }
    guard let buyer = found, caller.buyerID == nil || caller.buyerID == buyer.id else { throw .notFound("user") }
    let resource = request.secondID
    guard resource == catalogue.account.id || product(resource) != nil else { throw .notFound("resource") }
    let level = accessLevel(of: buyer.id, to: resource)
    return APIAnswer(["has_access": JSON(level != .none), "access_level": JSON(level.rawValue)])
  }

  func accessLevel(of buyerID: String, to resource: String) -> AccessLevel {
    if buyer(buyerID)?.isTeamMember == true { return .admin }
    let isCustomer = state.store.memberships.all.contains { membership in
      membership.buyerID == buyerID && membership.isActive
        && (resource == catalogue.account.id || resource == membership.productID)
    }
    return isCustomer ? .customer : .none
  }
}
