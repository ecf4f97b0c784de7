import KassaCore
import KassaJSON

/// What a store has told of one of its transactions, as Apple's servers would know it.
struct StoreTransactionRecord: Record, Equatable {
  static let kind = "store_transaction"

  var store: StoreTransaction.Platform
  var transactionID: String
  /// The first transaction of its series.
  var originalID: String
  var productID: String
  var type: StoreProduct.Kind
  var purchasedAt: Int64
  var expiresAt: Int64?
  /// Until when the store lets a subscription stand after that.
  var graceEndsAt: Int64?
  var revokedAt: Int64?
  /// A higher level of the same group took its place.
  var isUpgraded: Bool
  var isFreeTrial: Bool
  var environment: StoreTransaction.Environment
  var signedAt: Int64?
  /// What proves it. Each signing of a transaction is one, and the former ones stay good.
  var proofs: [String]

  var id: String { Self.id(store, transactionID) }
  /// Names what all renewals of a purchase share.
  var series: String { Self.id(store, originalID) }

  static func id(_ store: StoreTransaction.Platform, _ id: String) -> String { "\(store.rawValue) \(id)" }

  init(_ transaction: StoreTransaction) {
    store = transaction.platform
    transactionID = transaction.id
    originalID = transaction.originalID
    productID = transaction.productID
    type = transaction.kind
    purchasedAt = transaction.purchasedAt
    expiresAt = transaction.expiresAt
    graceEndsAt = transaction.graceEndsAt
    revokedAt = transaction.revocation?.at
    isUpgraded = transaction.isUpgraded
    isFreeTrial = transaction.offer?.paymentMode == .freeTrial
    environment = transaction.environment
    signedAt = transaction.signedAt
    proofs = [transaction.proof]
  }

  /// The same transaction, after the store told of it again. What was signed earlier changes nothing.
  func updated(to version: StoreTransactionRecord) -> StoreTransactionRecord {
    var latest = (version.signedAt ?? .min) >= (signedAt ?? .min) ? version : self
    latest.proofs = proofs + version.proofs.filter { !proofs.contains($0) }
    return latest
  }
}

extension StoreTransactionRecord {
  /// What the action `register_store_transaction` may say: a store transaction as docs/documents.md has it, and its proof.
  static let actionKeys = [
    "id", "original_id", "store", "store_product_id", "type", "group_id", "purchased_at", "originally_purchased_at",
    "expires_at", "grace_ends_at", "quantity", "ownership", "environment", "is_renewal", "is_upgraded", "revoked_at",
    "revocation_reason", "revocation_percentage", "offer", "storefront", "signed_at", "proof",
  ]

  init(registering fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly(Self.actionKeys)
    try self.init(fields, proofs: [fields.string("proof")])
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    try self.init(fields, proofs: try fields.required(fields.strings("proofs"), "proofs"))
  }

  private init(_ fields: Fields, proofs: [String]) throws(JSONShapeError) {
    store = try fields.store("store")
    transactionID = try fields.string("id")
    originalID = try fields.string("original_id")
    productID = try fields.string("store_product_id")
    let word = try fields.word("type", among: StoreProduct.Kind.allCases.map(\.rawValue))
    type = try fields.required(word.flatMap { StoreProduct.Kind(rawValue: $0) }, "type")
    purchasedAt = try fields.integer("purchased_at")
    expiresAt = try fields.optionalInteger("expires_at")
    graceEndsAt = try fields.optionalInteger("grace_ends_at")
    revokedAt = try fields.optionalInteger("revoked_at")
    isUpgraded = try fields.optionalBool("is_upgraded") ?? false
    let mode = try fields.optionalObject("offer")?.optionalString("payment_mode")
    isFreeTrial = mode == StoreOffer.PaymentMode.freeTrial.rawValue
    environment = try fields.oneOf("environment") ?? .sandbox
    signedAt = try fields.optionalInteger("signed_at")
    self.proofs = proofs
  }

  var document: JSON { summary.merging([("proofs", .array(proofs.map { JSON($0) }))]) }

  /// For everybody: without the proofs, which are receipts.
  var summary: JSON {
    let mode: StoreOffer.PaymentMode? = isFreeTrial ? .freeTrial : nil
    return [
      "id": JSON(transactionID), "original_id": JSON(originalID), "store": JSON(store.rawValue),
      "store_product_id": JSON(productID), "type": JSON(type.rawValue), "purchased_at": JSON(purchasedAt),
      "expires_at": JSON(expiresAt), "grace_ends_at": JSON(graceEndsAt), "revoked_at": JSON(revokedAt),
      "is_upgraded": JSON(isUpgraded),
      "offer": mode.map { ["payment_mode": JSON($0.rawValue)] } ?? .null, "environment": JSON(environment.rawValue),
      "signed_at": JSON(signedAt),
    ]
  }
}

extension Fields {
  func store(_ key: String) throws(JSONShapeError) -> StoreTransaction.Platform {
    let word = try word(key, among: StoreTransaction.Platform.allCases.map(\.rawValue))
    return try required(word.flatMap { StoreTransaction.Platform(rawValue: $0) }, key)
  }
}
