import Foundation
import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

/// docs/store.md against the code: what a developer copies from there is understood.
@Suite struct HostGuideTests {
  struct Example: Sendable, CustomTestStringConvertible {
    var kind: String
    var document: JSON
    var testDescription: String { kind }
    var method: String { String(kind.split(separator: "/").last ?? "") }
  }

  static let text: String = {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/store.md").path
    return (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
  }()

  /// The blocks whose fence says "json" and what they are.
  static func examples(_ family: String) -> [Example] {
    text.components(separatedBy: "\n```").compactMap { block in
      let lines = block.split(separator: "\n", maxSplits: 1)
      guard lines.count == 2, let kind = lines.first?.split(separator: " ").last, block.hasPrefix("json "),
        kind == family || kind.hasPrefix(family + "/"), let document = try? JSON.parse(String(lines[1]))
      else { return nil }
      return Example(kind: String(kind), document: document)
    }
  }

  let shop = HostShop()

  @Test func thereAreExamples() {
    #expect(Self.examples("reply").count >= 13)
    #expect(Self.examples("params").count >= 5)
    #expect(Self.examples("event").count == HostEventType.allCases.count)
    #expect(Self.examples("transaction").count == 3)
    #expect(Self.examples("configuration").count == 2)
  }

  /// A store of that platform, asked for whatever has this method.
  private func ask(_ method: String, in store: HostStore) async throws {
    let params: [StoreMethod: JSON] = [
      .beginRefund: ["transaction_id": "1"], .subscriptionStatus: ["group_id": "g"], .displayMessage: ["id": "m1"],
    ]
    switch method {
    case "products": _ = try await store.products(["com.example.monthly", "com.example.coins"])
    case "purchase": _ = try await store.purchase(StoreOrder(productID: "eyJhbGciOiJFUzI1NiIsIng1YyI6WyJ..."))
    case "finish": try await store.finish(try HostShop.verify("p"))
    case "restore": _ = try await store.restore()
    case "unfinished": _ = try await store.unfinished()
    case "entitlements": _ = try await store.entitlements()
    case "storefront": _ = try await store.storefront()
    default:
      let method = try #require(StoreMethod(rawValue: method))
      _ = try await store.call(method, params[method] ?? .null)
    }
  }

  @Test("A reply of the guide is accepted", arguments: examples("reply").filter { $0.kind != "reply/error" })
  func reply(_ example: Example) async throws {
    shop.replies[example.method] = example.document
    let isGoogle = example.document.text().contains("\"google\"")
    try await ask(example.method, in: try shop.store(configuration(isGoogle ? "google" : "apple")))
  }

  /// The configuration of the guide for a platform, the shortened key in it replaced by one of these tests.
  private func configuration(_ platform: String) throws -> JSON {
    let example = try #require(Self.examples("configuration").first { $0.document["platform"]?.string == platform })
    guard example.document["google_public_key"] != nil else { return example.document }
    return example.document.setting("google_public_key", to: JSON(try #require(GoogleSigner.shared).publicKey))
  }

  @Test("No transaction of the guide is unreadable", arguments: examples("transaction"))
  func transaction(_ example: Example) throws {
    let platform = try #require(example.document["store"]?.string)
    let isOnTheHostsWord = example.document["verified"] == true
    let reader = HostTransactionReader(
      configuration: try HostStoreConfiguration(
        try Fields(isOnTheHostsWord ? HostShop.google : configuration(platform))),
      verify: HostShop.verify)
    // The signed text in it is shortened, so it is not believed; but it is read.
    let isSigned = platform == "google" && !isOnTheHostsWord
    #expect(try reader.read(try Fields(example.document)).delivery.reason == (isSigned ? "wrong_signature" : nil))
  }

  /// A purchase as the function `transaction` of the guide's adapter for Play passes it on.
  private func purchaseOfTheAdapter(revokedAt: JSON? = nil) throws -> JSON {
    let function = try #require(Self.text.components(separatedBy: "private fun transaction(").last)
    let body = try #require(function.components(separatedBy: "\n    }").first)
    let keys = body.components(separatedBy: ".put(\"").dropFirst().compactMap { $0.components(separatedBy: "\"").first }
    #expect(keys.contains("purchase_token"))
    var purchase = try #require(GoogleSigner.shared).purchase("non_consumable")
    for (key, value): (String, JSON) in [
      ("purchase_state", "purchased"), ("acknowledged", false), ("order_id", "GPA.1"), ("verified", true),
    ] { purchase = purchase.setting(key, to: value) }
    let passedOn = purchase.members.filter { keys.contains($0.0) }
    #expect(Set(passedOn.map(\.0)) == Set(keys))
    return .object(passedOn).setting("revoked_at", to: revokedAt)
  }

  @Test("The configuration and the adapter for Google Play, copied together, grant what was bought and end it again")
  func googlePlay() async throws {
    let store = try shop.store(try configuration("google"))
    shop.replies["purchase"] = ["outcome": "purchased", "transaction": try purchaseOfTheAdapter()]
    let outcome = try await store.purchase(StoreOrder(productID: "monthly"))
    guard case .purchased(.verified(let bought)) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(bought.productID == "monthly" && bought.revocation == nil)
    // What Play lists no more is passed on once more.
    #expect(Self.text.contains(#".put("revocation_reason", "not_listed")"#))
    shop.replies["entitlements"] = [
      "transactions": [try purchaseOfTheAdapter(revokedAt: 1_790_000_000_000)]
    ]
    let listed = try await store.entitlements().compactMap(\.verifiedTransaction)
    #expect(listed.map(\.id) == [bought.id])
    #expect(listed.map { $0.revocation?.at } == [1_790_000_000_000])
  }

  @Test("An event of the guide is heard", arguments: examples("event"))
  func event(_ example: Example) throws {
    try shop.store().notify(example.document)
    #expect(shop.events.count == 1)
  }

  @Test("A configuration of the guide is accepted", arguments: examples("configuration"))
  func configuration(_ example: Example) throws {
    let platform = try #require(example.document["platform"]?.string)
    _ = try HostStoreConfiguration(try Fields(configuration(platform), path: "store"))
  }

  @Test("The host is asked with the parameters of the guide", arguments: examples("params"))
  func params(_ example: Example) async throws {
    shop.replies[example.method] = [:]
    let store = try shop.store()
    _ = await failure { try await ask(example.method, in: store) }
    #expect(Set(shop.asked.first?.params.members.map(\.0) ?? []) == Set(example.document.members.map(\.0)))
  }

  @Test("The result of the guide is what the caller gets", arguments: examples("result"))
  func result(_ example: Example) async throws {
    shop.replies[example.method] = example.document
    #expect(example.method == "storefront")
    #expect(try await shop.store().storefront()?.document == example.document["storefront"])
  }
}
