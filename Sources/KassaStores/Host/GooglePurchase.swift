import KassaCore
import KassaJSON
import KassaPlatform

/// A purchase of Google Play as a host passes it on.
///
/// Play signs the purchase itself, but neither its type nor its end; what is not in the signed text is the host's word.
/// Source: Play Billing, `Purchase` and the JSON of `getOriginalJson`.
struct GooglePurchase {
  enum State: String, CaseIterable { case purchased, pending }

  private let path: String
  private let productID: String
  private let purchaseToken: String
  private let kind: StoreProduct.Kind
  private let environment: StoreTransaction.Environment
  private let expiresAt: Int64?
  private let revocation: StoreTransaction.Revocation?
  /// What the host says of it, and what Google signed.
  private let said: Facts
  private let signedText: String?
  private let signature: String?
  private let isVerified: Bool?

  /// What both the host and the signed text may say.
  private struct Facts {
    var orderID: String?
    var purchasedAt: Int64?
    var state: State?
    var quantity: Int64?
    var isAcknowledged: Bool?
    var accountID: String?
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    try fields.refuseUnknown(but: [
      "store", "type", "product_id", "purchase_token", "order_id", "purchase_time", "purchase_state", "quantity",
      "acknowledged", "obfuscated_account_id", "expires_at", "revoked_at", "revocation_reason", "environment",
      "original_json", "signature", "verified",
    ])
    path = fields.path
    productID = try fields.name("product_id")
    purchaseToken = try fields.name("purchase_token", atMost: 4_096, isSecret: true)
    kind = try fields.word("type")
    environment = try fields.optionalWord("environment") ?? .production
    expiresAt = try fields.optionalTime("expires_at")
    revocation = try Self.revocation(fields)
    said = Facts(
      orderID: try fields.optionalName("order_id"), purchasedAt: try fields.optionalTime("purchase_time"),
      state: try fields.optionalWord("purchase_state"),
      quantity: try fields.optionalNumber("quantity", in: HostLimits.quantity),
      isAcknowledged: try fields.optionalBool("acknowledged"),
      accountID: try fields.optionalName("obfuscated_account_id"))
    signedText = try fields.optionalText("original_json", atMost: HostLimits.signedBytes)
    signature = try fields.optionalText("signature", atMost: 4_096)
    isVerified = try fields.optionalBool("verified")
    guard kind == .subscription || kind == .nonRenewingSubscription || expiresAt == nil else {
      throw JSONShapeError(
        path: fields.place(of: "expires_at"), problem: "must be absent: the type is \"\(kind.rawValue)\"")
    }
    guard kind == .consumable || (said.quantity ?? 1) == 1 else {
      throw JSONShapeError(
        path: fields.place(of: "quantity"), problem: "must be 1: the type is \"\(kind.rawValue)\"")
    }
    // Without the signed text nothing else says when it was bought and whether it is paid.
    if signedText == nil {
      _ = try fields.required(said.purchasedAt, "purchase_time")
      _ = try fields.required(said.state, "purchase_state")
    }
  }

  private static func revocation(_ fields: Fields) throws(JSONShapeError) -> StoreTransaction.Revocation? {
    let reason = try fields.optionalName("revocation_reason")
    guard let time = try fields.optionalTime("revoked_at") else { return nil }
    return StoreTransaction.Revocation(at: time, reason: reason)
  }

  // MARK: - Proof

  func transaction(_ configuration: HostStoreConfiguration) -> HostTransaction {
    // Nobody can prove yet what is not paid yet, and nobody needs to.
    let pending = HostTransaction(delivery: unverified(Doubt("pending", "it is not paid yet")), isPending: true)
    if said.state == .pending { return pending }
    do throws(Doubt) {
      let facts = try facts(configuration)
      guard let state = facts.state else { throw Doubt("malformed_transaction", "\"purchase_state\" is missing") }
      if state == .pending { return pending }
      guard configuration.environments.contains(environment) else {
        throw Doubt("wrong_environment", "its environment is \"\(environment.rawValue)\", which does not count here")
      }
      return HostTransaction(
        delivery: .verified(try transaction(facts)), isFinished: facts.isAcknowledged == true && kind != .consumable)
    } catch {
      return HostTransaction(delivery: unverified(error))
    }
  }

  /// Why a purchase is not believed.
  private struct Doubt: Error {
    var reason: String
    var message: String
    init(_ reason: String, _ message: String) {
      self.reason = reason
      self.message = message
    }
  }

  private func unverified(_ doubt: Doubt) -> StoreDelivery {
    let place = path.isEmpty ? "the purchase" : path
    return .unverified(
      id: said.orderID, productID: productID, reason: doubt.reason, message: "\(place): \(doubt.message)")
  }

  private func facts(_ configuration: HostStoreConfiguration) throws(Doubt) -> Facts {
    guard isVerified != false else { throw Doubt("not_verified", "the host says that it is not verified") }
    guard let key = configuration.googleKey else {
      guard isVerified == true else {
        throw Doubt(
          "not_verified",
          "nothing proves it: give store.google_public_key, or \"verified\":true once your server has asked Google")
      }
      // The text is still worth reading, on the same word as the rest.
      return try signedText.map { (text) throws(Doubt) in try read(text, configuration) } ?? said
    }
    guard let signedText, let signature else {
      throw Doubt("missing_signature", "\"original_json\" and \"signature\" are needed with store.google_public_key")
    }
    guard let bytes = Base64.decode(signature, .standard), key.verifies(signedText, signature: bytes) else {
      throw Doubt("wrong_signature", "\"signature\" is not Google's of exactly this \"original_json\"")
    }
    return try read(signedText, configuration)
  }

  /// What the signed text says; it decides wherever it says something.
  private func read(_ text: String, _ configuration: HostStoreConfiguration) throws(Doubt) -> Facts {
    let json: JSON
    do throws(JSONSyntaxError) { json = try JSON.parse(text) } catch {
      throw Doubt("malformed_transaction", "\"original_json\" is not JSON: \(error.message)")
    }
    let signed: Signed
    do throws(JSONShapeError) { signed = try Signed(try Fields(json, path: "original_json")) } catch {
      throw Doubt("malformed_transaction", error.description)
    }
    guard configuration.bundleID == nil || configuration.bundleID == signed.package else {
      throw Doubt(
        "wrong_bundle_id", "it was bought in \"\(signed.package.quoted)\", which is not store.bundle_id")
    }
    guard signed.products.contains(productID) else {
      throw Doubt("transaction_mismatch", "original_json is of another product than \"product_id\"")
    }
    guard signed.purchaseToken == purchaseToken else {
      throw Doubt("transaction_mismatch", "original_json is of another purchase than \"purchase_token\"")
    }
    var facts = signed.facts
    guard kind == .consumable || facts.quantity == 1 else {
      throw Doubt("malformed_transaction", "its quantity is not 1, and the type is \"\(kind.rawValue)\"")
    }
    facts.orderID = facts.orderID ?? said.orderID
    facts.purchasedAt = facts.purchasedAt ?? said.purchasedAt
    facts.state = facts.state ?? said.state
    // Play signs a purchase anew once it is acknowledged; the host may know before.
    if said.isAcknowledged == true { facts.isAcknowledged = true }
    return facts
  }

  /// The JSON of `getOriginalJson`.
  private struct Signed {
    var package: String
    var products: [String]
    var purchaseToken: String
    var facts: Facts

    init(_ fields: Fields) throws(JSONShapeError) {
      package = try fields.string("packageName")
      products = if let several = try fields.strings("productIds") { several } else { [try fields.string("productId")] }
      purchaseToken = try fields.string("purchaseToken")
      // Purchases by promotion code have an empty order.
      let order = try fields.optionalString("orderId")
      facts = Facts(
        orderID: order == "" ? nil : try fields.optionalName("orderId"),
        purchasedAt: try fields.optionalTime("purchaseTime"), state: try Self.state(fields),
        quantity: try fields.optionalNumber("quantity", in: HostLimits.quantity) ?? 1,
        isAcknowledged: try fields.optionalBool("acknowledged"),
        accountID: try fields.optionalName("obfuscatedAccountId"))
    }

    /// 0 is paid and 4 is not yet. The constants of `Purchase.PurchaseState` are others.
    private static func state(_ fields: Fields) throws(JSONShapeError) -> State? {
      switch try fields.optionalInteger("purchaseState") {
      case nil: return nil
      case 0: return .purchased
      case 4: return .pending
      case let number?:
        throw JSONShapeError(
          path: fields.place(of: "purchaseState"), problem: "must be 0 (purchased) or 4 (pending) (got \(number))")
      }
    }
  }

  // MARK: - The transaction

  private func transaction(_ facts: Facts) throws(Doubt) -> StoreTransaction {
    guard let purchasedAt = facts.purchasedAt else {
      throw Doubt("malformed_transaction", "\"purchase_time\" is missing")
    }
    let id = if let order = facts.orderID { order } else { try tokenID() }
    return StoreTransaction(
      id: id, originalID: Self.original(id), platform: .google, productID: productID, kind: kind,
      purchasedAt: purchasedAt, originallyPurchasedAt: purchasedAt, expiresAt: expiresAt,
      quantity: Int(facts.quantity ?? 1), environment: environment, revocation: revocation,
      appAccountToken: facts.accountID, proof: purchaseToken)
  }

  /// Without an order the token names the purchase. The token itself is a receipt and must not become a name.
  private func tokenID() throws(Doubt) -> String {
    guard let digest = OpenSSL.hexSHA256(purchaseToken) else {
      throw Doubt("cryptography_failed", "libcrypto cannot be used")
    }
    return "token-\(digest.prefix(32))"
  }

  /// Renewals have the order of the first purchase and a number: `GPA.1234-5678-9012-34567..3`.
  private static func original(_ id: String) -> String {
    var rest = Substring(id)
    while let last = rest.last, last.isASCII, last.isNumber { rest.removeLast() }
    return rest.hasSuffix("..") && rest.count < id.count ? String(rest.dropLast(2)) : id
  }
}
