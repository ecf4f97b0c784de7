import COpenSSL
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaStores

@Suite struct GooglePurchaseTests {
  private let shop = HostShop()
  private let signer: GoogleSigner
  private let store: HostStore

  init() throws {
    signer = try #require(GoogleSigner.shared)
    store = try shop.store(HostShop.google.merging([("google_public_key", JSON(signer.publicKey))]))
  }

  /// What becomes of one purchase that the host finds in its store.
  private func delivery(of purchase: JSON, in other: HostStore? = nil) async throws -> StoreDelivery? {
    shop.replies["unfinished"] = ["transactions": [purchase]]
    return try await (other ?? store).unfinished().first
  }

  /// A host that gives no key, and whose word counts.
  private func trusting() throws -> HostStore { try shop.store(HostShop.google) }

  static let said: JSON = [
    "store": "google", "type": "subscription", "product_id": "monthly", "purchase_token": "token-of-play",
    "order_id": "GPA.1", "purchase_time": 1_790_000_000_000, "purchase_state": "purchased", "quantity": 1,
    "acknowledged": false, "obfuscated_account_id": "6f1e", "expires_at": 1_795_000_000_000, "verified": true,
  ]

  // MARK: Signed

  @Test func aSignedPurchaseIsBelieved() async throws {
    let purchase = signer.purchase().merging([("expires_at", 1_795_000_000_000)])
    let transaction = try #require(try await delivery(of: purchase)?.verifiedTransaction)
    #expect(transaction.id == "GPA.1234-5678-9012-34567..2")
    #expect(transaction.originalID == "GPA.1234-5678-9012-34567")
    #expect(transaction.platform == .google)
    #expect(transaction.productID == "monthly")
    #expect(transaction.kind == .subscription)
    #expect(transaction.purchasedAt == 1_790_000_000_000)
    #expect(transaction.expiresAt == 1_795_000_000_000)
    #expect(transaction.appAccountToken == "6f1e")
    #expect(transaction.environment == .production)
    #expect(transaction.proof == "token-of-play")
    #expect(!transaction.document.text().contains("token-of-play"))
  }

  @Test("What Google signed decides over what the host says") func signedTextDecides() async throws {
    let purchase = signer.purchase("consumable", signed: [("quantity", 3)]).merging([
      ("quantity", 9), ("order_id", "GPA.9"), ("purchase_time", 5), ("obfuscated_account_id", "eve"),
    ])
    let transaction = try #require(try await delivery(of: purchase)?.verifiedTransaction)
    #expect(transaction.quantity == 3)
    #expect(transaction.id == "GPA.1234-5678-9012-34567..2")
    #expect(transaction.purchasedAt == 1_790_000_000_000)
    #expect(transaction.appAccountToken == "6f1e")
  }

  @Test("Every changed character of the signed text or the signature shows") func forged() async throws {
    let purchase = signer.purchase()
    let text = try #require(purchase["original_json"]?.string), signature = try #require(purchase["signature"]?.string)
    let other = try #require(GoogleSigner())
    let forgeries: [(String, JSON?, String)] = [
      ("original_json", JSON(text.replacing("34567", with: "34568")), "wrong_signature"),
      ("original_json", JSON(text + " "), "wrong_signature"),
      ("original_json", nil, "missing_signature"),
      ("signature", nil, "missing_signature"),
      ("signature", "", "wrong_signature"),
      ("signature", "====", "wrong_signature"),
      ("signature", JSON(String(signature.dropLast(4))), "wrong_signature"),
      ("signature", JSON(signature + "\n"), "wrong_signature"),
      ("signature", JSON(signature.lowercased()), "wrong_signature"),
      ("signature", JSON(other.sign(text)), "wrong_signature"),
      ("verified", false, "not_verified"),
    ]
    for (key, value, reason) in forgeries {
      // Neither is the purchase time given beside the signed text, which a purchase without that text needs.
      let forged = purchase.merging([("purchase_time", 5), ("purchase_state", "purchased")]).setting(key, to: value)
      let found = try await delivery(of: forged)
      #expect(found?.reason == reason, "\(key)")
      #expect(found?.message?.contains("token-of-play") == false)
    }
    #expect(ERR_peek_error() == 0)
  }

  @Test("The host's word is not enough where Google's key is configured") func wordIsNotEnough() async throws {
    #expect(try await delivery(of: Self.said)?.reason == "missing_signature")
  }

  @Test(
    "A signed text of something else is not believed",
    arguments: [
      ([("packageName", "com.evil.app")], "wrong_bundle_id"),
      ([("productId", "yearly")], "transaction_mismatch"),
      ([("productIds", ["yearly"])], "transaction_mismatch"),
      ([("purchaseToken", "another")], "transaction_mismatch"),
      ([("purchaseState", 1)], "malformed_transaction"),
      ([("purchaseState", "0")], "malformed_transaction"),
      ([("purchaseState", .null)], "malformed_transaction"),
      ([("purchaseTime", -1)], "malformed_transaction"),
      ([("purchaseTime", .null)], "malformed_transaction"),
      ([("packageName", .null)], "malformed_transaction"),
      ([("quantity", 2)], "malformed_transaction"),
      ([("orderId", 7)], "malformed_transaction"),
    ] as [([(String, JSON)], String)])
  func signedOfAnother(_ changes: [(String, JSON)], _ reason: String) async throws {
    #expect(try await delivery(of: signer.purchase(signed: changes))?.reason == reason)
  }

  @Test func aSignedTextThatIsNoJSONIsNotBelieved() async throws {
    for text in ["", "{", "[]", "{}", String(repeating: "[", count: 5_000)] {
      let purchase = signer.purchase().merging([
        ("original_json", JSON(text)), ("signature", JSON(signer.sign(text))),
      ])
      #expect(try await delivery(of: purchase)?.reason == "malformed_transaction")
    }
  }

  @Test func aPurchaseOfSeveralProductsIsOfEachOfThem() async throws {
    let purchase = signer.purchase(signed: [("productIds", ["yearly", "monthly"])])
    #expect(try await delivery(of: purchase)?.verifiedTransaction?.productID == "monthly")
  }

  @Test("A purchase without an order is named by the hash of its token", arguments: ["", nil] as [JSON])
  func noOrder(_ order: JSON) async throws {
    let transaction = try #require(
      try await delivery(of: signer.purchase(signed: [("orderId", order)]))?.verifiedTransaction)
    // printf token-of-play | sha256sum
    let digest = try #require(OpenSSL.hexSHA256("token-of-play"))
    #expect(transaction.id == "token-\(digest.prefix(32))")
    #expect(transaction.originalID == transaction.id)
  }

  // MARK: What is not paid, delivered, or valid any more

  @Test("What is not paid yet grants nothing and is no fault") func pending() async throws {
    let purchase = signer.purchase(signed: [("purchaseState", 4)])
    #expect(try await delivery(of: purchase) == nil)
    shop.replies["purchase"] = ["outcome": "purchased", "transaction": purchase]
    #expect(try await store.purchase(StoreOrder(productID: "monthly")) == .pending)
    try store.notify(["type": "transaction_updated", "transaction": purchase])
    #expect(shop.events.isEmpty)
    let said = Self.said.merging([("purchase_state", "pending")]).setting("verified", to: nil)
    #expect(try await delivery(of: said, in: trusting()) == nil)
  }

  @Test("What is acknowledged is finished, but a consumable only once it is gone")
  func acknowledged() async throws {
    #expect(try await delivery(of: signer.purchase(signed: [("acknowledged", true)])) == nil)
    #expect(try await delivery(of: signer.purchase().merging([("acknowledged", true)])) == nil)
    #expect(try await delivery(of: signer.purchase("consumable", signed: [("acknowledged", true)])) != nil)
    shop.replies["entitlements"] = ["transactions": [signer.purchase(signed: [("acknowledged", true)])]]
    #expect(try await store.entitlements().count == 1)
  }

  @Test func finishingNamesTheToken() async throws {
    shop.replies["finish"] = [:]
    let transaction = try #require(try await delivery(of: signer.purchase("consumable"))?.verifiedTransaction)
    try await store.finish(transaction)
    #expect(shop.asked.last?.params["purchase_token"] == "token-of-play")
    #expect(shop.asked.last?.params["type"] == "consumable")
  }

  @Test func aRevocationIsKept() async throws {
    let purchase = signer.purchase().merging([("revoked_at", 1_791_000_000_000), ("revocation_reason", "chargeback")])
    let transaction = try #require(try await delivery(of: purchase)?.verifiedTransaction)
    #expect(transaction.revocation == .init(at: 1_791_000_000_000, reason: "chargeback"))
  }

  @Test("Test purchases do not count unless the configuration says so") func environments() async throws {
    let purchase = Self.said.merging([("environment", "sandbox")])
    #expect(try await delivery(of: purchase, in: trusting())?.reason == "wrong_environment")
    let open = try shop.store(HostShop.google.merging([("environments", ["production", "sandbox"])]))
    #expect(try await delivery(of: purchase, in: open)?.verifiedTransaction?.environment == .sandbox)
  }

  // MARK: On the host's word

  @Test func theHostsWordCountsWithoutAKey() async throws {
    let transaction = try #require(try await delivery(of: Self.said, in: trusting())?.verifiedTransaction)
    #expect(transaction.id == "GPA.1")
    #expect(transaction.expiresAt == 1_795_000_000_000)
    for verified: JSON? in [false, nil] {
      let found = try await delivery(of: Self.said.setting("verified", to: verified), in: trusting())
      #expect(found?.reason == "not_verified")
    }
  }

  static let wrongFields: [(String, JSON?, String)] = [
    ("type", nil, "type is missing"),
    ("type", "subs", "type must be one of"),
    ("product_id", nil, "product_id is missing"),
    ("product_id", "", "product_id must be text"),
    ("purchase_token", nil, "purchase_token is missing"),
    ("purchase_token", JSON(String(repeating: "t", count: 4_097)), "purchase_token must have at most 4096 bytes"),
    ("order_id", 1, "order_id must be a string"),
    ("order_id", "", "order_id must be text"),
    ("purchase_time", nil, "purchase_time is missing"),
    ("purchase_time", "2026-01-01", "purchase_time must be a whole number"),
    ("purchase_time", JSON(Int64.max), "purchase_time must be 0 to 253402300799999"),
    ("purchase_time", JSON(1.5), "purchase_time must be a whole number"),
    ("purchase_state", nil, "purchase_state is missing"),
    ("purchase_state", 1, "purchase_state must be a string"),
    ("purchase_state", "unspecified", "purchase_state must be one of \"purchased\", \"pending\""),
    ("quantity", 0, "quantity must be 1 to 1000000"),
    ("quantity", 2, "quantity must be 1: the type is \"subscription\""),
    ("acknowledged", 1, "acknowledged must be true or false"),
    ("obfuscated_account_id", 1, "obfuscated_account_id must be a string"),
    ("expires_at", "soon", "expires_at must be a whole number"),
    ("expires_at", -1, "expires_at must be 0 to"),
    ("expire_at", 1, "expire_at is not a known key; did you mean \"expires_at\"?"),
    ("revoked_at", true, "revoked_at must be a whole number"),
    ("revocation_reason", 1, "revocation_reason must be a string"),
    ("environment", "test", "environment must be one of"),
    ("original_json", [:], "original_json must be a string"),
    ("original_json", JSON(String(repeating: " ", count: 65_537)), "original_json must have at most 65536 bytes"),
    ("signature", 1, "signature must be a string"),
    ("verified", "true", "verified must be true or false"),
  ]

  @Test("A wrong field of a purchase is named", arguments: wrongFields)
  func wrongField(_ key: String, _ value: JSON?, _ complaint: String) async throws {
    let found = try await delivery(of: Self.said.setting(key, to: value), in: trusting())
    #expect(found?.reason == "malformed_transaction")
    #expect(found?.message?.hasPrefix("transactions[0].\(complaint)") == true, "\(found?.message ?? "")")
  }

  @Test func onlyWhatEndsHasAnEnd() async throws {
    let lifetime = Self.said.merging([("type", "non_consumable")])
    let found = try await delivery(of: lifetime, in: trusting())
    #expect(found?.message == "transactions[0].expires_at must be absent: the type is \"non_consumable\"")
  }

  // MARK: The key

  @Test("What is no RSA key is no key of Google's") func wrongKeys() throws {
    let key = signer.publicKey
    #expect(GooglePublicKey(base64: key) != nil)
    let tooShort = try #require(GoogleSigner(bits: 512)), edwards = try #require(GoogleSigner(type: EVP_PKEY_ED25519))
    let wrongs = [
      "", "key", String(key.dropLast(4)), key + "AAAA", key + "\n", " " + key, tooShort.publicKey, edwards.publicKey,
    ]
    for wrong in wrongs { #expect(GooglePublicKey(base64: wrong) == nil, "\(wrong.prefix(20))") }
    #expect(ERR_peek_error() == 0)
  }
}
