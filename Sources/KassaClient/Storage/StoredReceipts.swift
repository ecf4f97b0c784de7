import KassaCore
import KassaJSON

/// Store transactions as the storage keeps them.
enum StoredReceipts {
  static func encode(_ transaction: StoreTransaction) -> String {
    var members: [(String, JSON)] = [
      ("id", JSON(transaction.id)), ("original_id", JSON(transaction.originalID)),
      ("platform", JSON(transaction.platform.rawValue)), ("product_id", JSON(transaction.productID)),
      ("kind", JSON(transaction.kind.rawValue)), ("group_id", JSON(transaction.groupID)),
      ("purchased_at", JSON(transaction.purchasedAt)),
      ("originally_purchased_at", JSON(transaction.originallyPurchasedAt)),
      ("expires_at", JSON(transaction.expiresAt)), ("grace_ends_at", JSON(transaction.graceEndsAt)),
      ("quantity", JSON(transaction.quantity)),
      ("ownership", JSON(transaction.ownership.rawValue)), ("environment", JSON(transaction.environment.rawValue)),
      ("is_renewal", JSON(transaction.isRenewal)), ("is_upgraded", JSON(transaction.isUpgraded)),
      ("storefront", JSON(transaction.storefront)), ("app_account_token", JSON(transaction.appAccountToken)),
      ("signed_at", JSON(transaction.signedAt)), ("bundle_id", JSON(transaction.bundleID)),
      ("proof", JSON(transaction.proof)),
    ]
    if let revocation = transaction.revocation {
      members.append(
        (
          "revocation",
          [
            "at": JSON(revocation.at), "reason": JSON(revocation.reason), "percentage": JSON(revocation.percentage),
          ]
        ))
    }
    if let offer = transaction.offer { members.append(("offer", offer.document)) }
    if let price = transaction.price {
      members.append(("price", ["amount": JSON(price.amount.text), "currency": JSON(price.currency)]))
    }
    return JSON.object(members).text()
  }

  /// nil for what this version cannot read: the store still has it.
  static func decode(_ text: String) -> StoreTransaction? {
    guard let row = try? Fields(JSON.parse(text)) else { return nil }
    return try? transaction(row)
  }

  private static func transaction(_ row: Fields) throws(JSONShapeError) -> StoreTransaction {
    var transaction = try signed(row)
    transaction.graceEndsAt = try row.optionalInteger("grace_ends_at")
    return transaction
  }

  private static func signed(_ row: Fields) throws(JSONShapeError) -> StoreTransaction {
    StoreTransaction(
      id: try row.string("id"), originalID: try row.string("original_id"),
      platform: try row.required(StoreTransaction.Platform(rawValue: row.string("platform")), "platform"),
      productID: try row.string("product_id"),
      kind: try row.required(StoreProduct.Kind(rawValue: row.string("kind")), "kind"),
      groupID: try row.optionalString("group_id"), purchasedAt: try row.integer("purchased_at"),
      originallyPurchasedAt: try row.integer("originally_purchased_at"),
      expiresAt: try row.optionalInteger("expires_at"), quantity: Int(clamping: try row.integer("quantity")),
      ownership: try row.required(StoreTransaction.Ownership(rawValue: row.string("ownership")), "ownership"),
      environment: try row.required(StoreTransaction.Environment(rawValue: row.string("environment")), "environment"),
      isRenewal: try row.optionalBool("is_renewal"), isUpgraded: try row.bool("is_upgraded"),
      revocation: try row.optionalObject("revocation").map(revocation),
      offer: try row.optionalObject("offer").map(offer),
      price: try row.optionalObject("price").map(price), storefront: try row.optionalString("storefront"),
      appAccountToken: try row.optionalString("app_account_token"), signedAt: try row.optionalInteger("signed_at"),
      bundleID: try row.optionalString("bundle_id"),
      proof: try row.string("proof"))
  }

  private static func revocation(_ row: Fields) throws(JSONShapeError) -> StoreTransaction.Revocation {
    StoreTransaction.Revocation(
      at: try row.integer("at"), reason: try row.optionalString("reason"),
      percentage: try row.optionalInteger("percentage"))
  }

  private static func offer(_ row: Fields) throws(JSONShapeError) -> StoreTransaction.Offer {
    StoreTransaction.Offer(
      id: try row.optionalString("id"), kind: try row.optionalString("kind").flatMap(StoreOffer.Kind.init),
      paymentMode: try row.optionalString("payment_mode").flatMap(StoreOffer.PaymentMode.init))
  }

  private static func price(_ row: Fields) throws(JSONShapeError) -> Money {
    Money(try row.required(Decimal(row.string("amount")), "amount"), try row.string("currency"))
  }
}
