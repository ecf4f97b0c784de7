import KassaCore
import KassaJSON

extension StoreTransaction {
  /// Reads the payload of a verified transaction: Apple's JWSTransactionDecodedPayload
  /// (developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload).
  ///
  /// Required are the ids, the product, its type, the purchase date and the environment, and for a subscription that
  /// renews the end of its period: without one it would last for ever. What is optional and of the wrong kind is refused
  /// as well, with its place, and so are dates that are null, or older than the App Store. Members that are not known
  /// are ignored, and so are unknown words for offers and for the reason of the transaction; an unknown type or ownership
  /// is refused, since it decides what is granted. `proof` is the signed text.
  public init(applePayload payload: JSON, proof: String) throws(Refusal) {
    do throws(JSONShapeError) {
      try self.init(fields: Fields(payload), proof: proof)
    } catch { throw Refusal(.malformedTransaction, "payload: \(error)") }
  }

  private init(fields: Fields, proof: String) throws(JSONShapeError) {
    let id = try fields.identifier("transactionId")
    let kind = try fields.required(fields.word("type", Self.kinds), "type")
    let purchasedAt = try fields.required(fields.saleDate("purchaseDate"), "purchaseDate")
    let expiresAt = try fields.saleDate("expiresDate")
    if kind == .subscription { _ = try fields.required(expiresAt, "expiresDate") }
    try self.init(
      id: id,
      originalID: fields.optionalIdentifier("originalTransactionId") ?? id,
      platform: .apple,
      productID: fields.identifier("productId"),
      kind: kind,
      groupID: fields.optionalString("subscriptionGroupIdentifier"),
      purchasedAt: purchasedAt,
      originallyPurchasedAt: fields.saleDate("originalPurchaseDate") ?? purchasedAt,
      expiresAt: expiresAt,
      quantity: fields.count("quantity") ?? 1,
      ownership: fields.word("inAppOwnershipType", Self.ownerships) ?? .purchased,
      environment: fields.required(fields.word("environment", Self.environments), "environment"),
      isRenewal: fields.isRenewal(),
      isUpgraded: fields.optionalBool("isUpgraded") ?? false,
      revocation: fields.revocation(),
      offer: fields.offer(),
      price: fields.price(),
      storefront: fields.optionalString("storefront").flatMap(Territory.alpha2),
      appAccountToken: fields.optionalString("appAccountToken"),
      signedAt: fields.saleDate("signedDate"),
      bundleID: fields.optionalString("bundleId"),
      proof: proof)
  }

  private static let kinds: [(String, StoreProduct.Kind)] = [
    ("Auto-Renewable Subscription", .subscription), ("Non-Consumable", .nonConsumable), ("Consumable", .consumable),
    ("Non-Renewing Subscription", .nonRenewingSubscription),
  ]
  private static let ownerships: [(String, Ownership)] = [("PURCHASED", .purchased), ("FAMILY_SHARED", .familyShared)]
  private static let environments = Environment.allCases.map { ($0.appleName, $0) }
}

extension Fields {
  fileprivate func identifier(_ key: String) throws(JSONShapeError) -> String {
    try required(optionalIdentifier(key), key)
  }

  fileprivate func optionalIdentifier(_ key: String) throws(JSONShapeError) -> String? {
    let text = try optionalString(key)
    guard text?.isEmpty != true else { throw JSONShapeError(path: place(of: key), problem: "must not be empty") }
    return text
  }

  /// A moment in the life of a purchase. Nothing was sold before the App Store opened on 10 July 2008; milliseconds so
  /// early are seconds, most likely, which would end every subscription in January 1970.
  fileprivate func saleDate(_ key: String) throws(JSONShapeError) -> Int64? {
    guard let moment = try appleDate(key) else { return nil }
    guard moment >= 1_215_648_000_000 else {
      throw JSONShapeError(
        path: place(of: key), problem: "is before the App Store opened in July 2008: in seconds? (got \(moment))")
    }
    return moment
  }

  /// One of Apple's words.
  fileprivate func word<Value>(_ key: String, _ words: [(String, Value)]) throws(JSONShapeError) -> Value? {
    guard let text = try optionalString(key) else { return nil }
    guard let (_, value) = words.first(where: { $0.0 == text }) else {
      throw JSONShapeError(
        path: place(of: key),
        problem: "must be one of \(words.map(\.0).joined(separator: ", ")) (got \"\(text.prefix(40))\")")
    }
    return value
  }

  fileprivate func isRenewal() throws(JSONShapeError) -> Bool? {
    switch try optionalString("transactionReason") {
    case "PURCHASE": false
    case "RENEWAL": true
    default: nil
    }
  }

  fileprivate func count(_ key: String) throws(JSONShapeError) -> Int? {
    guard let number = try optionalInteger(key) else { return nil }
    guard number > 0, let count = Int(exactly: number) else {
      throw JSONShapeError(path: place(of: key), problem: "must be 1 or more (got \(number))")
    }
    return count
  }

  /// `price` is in thousandths of the currency's unit.
  fileprivate func price() throws(JSONShapeError) -> Money? {
    guard let thousandths = try optionalInteger("price"), let currency = try optionalString("currency") else {
      return nil
    }
    return Decimal(thousandths, fractionDigits: 3).map { Money($0, currency) }
  }

  fileprivate func revocation() throws(JSONShapeError) -> StoreTransaction.Revocation? {
    let reason = try optionalInteger("revocationReason")
    let percentage = try optionalInteger("revocationPercentage")
    guard let at = try saleDate("revocationDate") else { return nil }
    return StoreTransaction.Revocation(at: at, reason: reason.map(String.init), percentage: percentage)
  }

  /// Types and modes as Apple numbers and names them (offerType, offerDiscountType).
  fileprivate func offer() throws(JSONShapeError) -> StoreTransaction.Offer? {
    let id = try optionalString("offerIdentifier")
    let type = try optionalInteger("offerType")
    let mode = try optionalString("offerDiscountType")
    guard id != nil || type != nil || mode != nil else { return nil }
    let kinds: [Int64: StoreOffer.Kind] = [1: .introductory, 2: .promotional, 3: .code, 4: .winBack]
    let modes: [String: StoreOffer.PaymentMode] = [
      "FREE_TRIAL": .freeTrial, "PAY_AS_YOU_GO": .payAsYouGo, "PAY_UP_FRONT": .payUpFront,
    ]
    return StoreTransaction.Offer(
      id: id, kind: type.flatMap { kinds[$0] }, paymentMode: mode.flatMap { modes[$0] })
  }
}
