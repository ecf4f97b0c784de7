import KassaCore
import KassaJSON

/// A purchase of development mode: simulated by the client, and moved by the action `development_event`.
struct VoidhashDevelopmentRecord: Record {
  static let kind = "voidhash_development_purchase"

  /// The client's `devTransactionId`.
  var id: String
  var personID: String
  var productSlug: String
  var quantity: Int64
  var purchasedAt: Int64
  /// For subscriptions.
  var expiresAt: Int64?
  var graceEndsAt: Int64?
  /// Refunded or revoked.
  var endedAt: Int64?
  var wasRefunded: Bool

  init(id: String, personID: String, product: VoidhashProduct, quantity: Int64, purchasedAt: Int64) {
    self.id = id
    self.personID = personID
    productSlug = product.slug
    self.quantity = quantity
    self.purchasedAt = purchasedAt
    expiresAt = product.period.flatMap { Timestamp.adding($0, to: purchasedAt, anchoredAt: purchasedAt) }
    wasRefunded = false
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    personID = try fields.string("person_id")
    productSlug = try fields.string("product_slug")
    quantity = try fields.integer("quantity")
    purchasedAt = try fields.integer("purchased_at")
    expiresAt = try fields.optionalInteger("expires_at")
    graceEndsAt = try fields.optionalInteger("grace_ends_at")
    endedAt = try fields.optionalInteger("ended_at")
    wasRefunded = try fields.optionalBool("refunded") ?? false
  }

  var document: JSON {
    [
      "id": JSON(id), "person_id": JSON(personID), "product_slug": JSON(productSlug), "quantity": JSON(quantity),
      "purchased_at": JSON(purchasedAt), "expires_at": JSON(expiresAt), "grace_ends_at": JSON(graceEndsAt),
      "ended_at": JSON(endedAt), "refunded": JSON(wasRefunded),
    ]
  }
}
