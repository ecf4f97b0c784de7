import KassaCore
import KassaJSON
import KassaPlatform
import KassaReceipts
import Testing

@testable import KassaStores

/// A host's store with the real check of Apple's signature, under a root of this test.
@Suite struct HostAppleTests {
  static let now: Int64 = 1_790_000_000_000
  private let shop = HostShop()
  private let authority: SigningAuthority

  init() throws { authority = try SigningAuthority(at: Self.now) }

  private func store(_ changes: [(String, JSON)] = []) throws -> HostStore {
    let root = JSON(Base64.encode(authority.rootDER))
    let configuration = HostShop.apple.merging([("roots", [root])] + changes)
    return HostStore(
      try HostStoreConfiguration(try Fields(configuration)),
      ask: { (method, params) async throws(KassaError) in try await shop.answer(method, params) }, now: { Self.now },
      report: { _, _, _ in })
  }

  static let payload: JSON = [
    "transactionId": "2000000900000001", "originalTransactionId": "2000000900000000", "bundleId": "com.example.app",
    "productId": "monthly", "type": "Auto-Renewable Subscription", "purchaseDate": 1_789_999_000_000,
    "expiresDate": 1_792_000_000_000, "environment": "Production", "inAppOwnershipType": "PURCHASED", "quantity": 1,
    "signedDate": 1_789_999_999_000, "storefront": "USA",
  ]

  @Test func whatAppleSignedIsBelieved() async throws {
    let text = try authority.sign(Self.payload)
    shop.replies["purchase"] = ["outcome": "purchased", "transaction": ["store": "apple", "jws": JSON(text)]]
    let outcome = try await store().purchase(StoreOrder(productID: "monthly"))
    guard case .purchased(.verified(let transaction)) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(transaction.id == "2000000900000001")
    #expect(transaction.expiresAt == 1_792_000_000_000)
    #expect(transaction.proof == text)
  }

  @Test(
    "Signed data of something else is not believed",
    arguments: [
      ([("bundleId", "com.evil.app")], "wrong_bundle_id"), ([("environment", "Sandbox")], "wrong_environment"),
      ([("environment", "Xcode")], "wrong_environment"), ([("quantity", "1")], "malformed_transaction"),
    ] as [([(String, JSON)], String)])
  func signedOfAnother(_ changes: [(String, JSON)], _ reason: String) async throws {
    let text = try authority.sign(Self.payload.merging(changes))
    shop.replies["unfinished"] = ["transactions": [["store": "apple", "jws": JSON(text)]]]
    #expect(try await store().unfinished().map(\.reason) == [reason])
  }

  @Test("What is not believed says which transaction it was, where it says so itself") func whichWasNotBelieved()
    async throws
  {
    let other = try SigningAuthority(at: Self.now)
    let texts = [
      try other.sign(Self.payload), try other.sign(Self.payload.merging([("transactionId", "2"), ("productId", 7)])),
      "a.b.c", try other.sign(["transactionId": JSON(String(repeating: "9", count: 10_000))]),
    ]
    shop.replies["unfinished"] = [
      "transactions": .array(texts.map { ["store": "apple", "jws": JSON($0)] })
    ]
    let claimed = try await store().unfinished().map { delivery -> [String?] in
      guard case .unverified(let id, let productID, _, _) = delivery else { return ["believed"] }
      return [id, productID]
    }
    #expect(claimed == [["2000000900000001", "monthly"], ["2", nil], [nil, nil], [nil, nil]])
  }

  @Test("S121 S122 only the roots of the configuration are trusted") func otherRoots() async throws {
    let other = try SigningAuthority(at: Self.now)
    shop.replies["unfinished"] = [
      "transactions": [
        ["store": "apple", "jws": JSON(try other.sign(Self.payload))],
        ["store": "apple", "jws": JSON(try authority.sign(Self.payload))],
      ]
    ]
    #expect(try await store().unfinished().map(\.reason) == ["untrusted_root", nil])
    // Without roots of its own, Apple's alone.
    let ofApple = HostStore(
      try HostStoreConfiguration(try Fields(HostShop.apple)),
      ask: { (method, params) async throws(KassaError) in try await shop.answer(method, params) }, now: { Self.now },
      report: { _, _, _ in })
    #expect(try await ofApple.unfinished().map(\.reason) == ["untrusted_root", "untrusted_root"])
  }

  @Test func theSandboxCountsWhereTheConfigurationSaysSo() async throws {
    let text = try authority.sign(Self.payload.merging([("environment", "Sandbox")]))
    shop.replies["unfinished"] = ["transactions": [["store": "apple", "jws": JSON(text)]]]
    let found = try await store([("environments", ["sandbox"])]).unfinished()
    #expect(found.map { $0.verifiedTransaction?.environment } == [.sandbox])
  }

  @Test("Xcode's data stands under no root, and counts only where the configuration names its environment")
  func xcode() async throws {
    let other = try SigningAuthority(at: Self.now)
    let text = try other.sign(Self.payload.merging([("environment", "Xcode")]))
    shop.replies["unfinished"] = ["transactions": [["store": "apple", "jws": JSON(text)]]]
    #expect(try await store().unfinished().map(\.reason) == ["untrusted_root"])
    let open = try store([("environments", ["production", "xcode"])])
    #expect(try await open.unfinished().map { $0.verifiedTransaction?.environment } == [.xcode])
    // The same key does not make a purchase in production of it.
    let production = try other.sign(Self.payload)
    shop.replies["unfinished"] = ["transactions": [["store": "apple", "jws": JSON(production)]]]
    #expect(try await open.unfinished().map(\.reason) == ["untrusted_root"])
  }

  @Test func anAppTransactionIsChecked() async throws {
    let payload: JSON = [
      "bundleId": "com.example.app", "receiptType": "Sandbox", "receiptCreationDate": 1_789_999_999_000,
      "applicationVersion": "2", "originalApplicationVersion": "1", "originalPurchaseDate": 1_789_000_000_000,
      "deviceVerification": "secret",
    ]
    let store = try store([("environments", ["sandbox"])])
    shop.replies["app_transaction"] = ["jws": JSON(try authority.sign(payload))]
    #expect(
      try await store.call(.appTransaction, .null) == [
        "bundle_id": "com.example.app", "environment": "Sandbox", "application_version": "2",
        "original_application_version": "1", "original_purchased_at": 1_789_000_000_000,
      ])
    shop.replies["app_transaction"] = ["jws": JSON(try authority.sign(payload.merging([("bundleId", "com.evil.app")])))]
    #expect(await failure { try await store.call(.appTransaction, .null) }?.reason == "wrong_bundle_id")
  }
}
