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

  /// The blocks whose fence says "json" and what they are.
  static func examples(_ family: String) -> [Example] {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/store.md").path
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.components(separatedBy: "\n```").compactMap { block in
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
    #expect(Self.examples("transaction").count == 2)
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
    try await ask(example.method, in: try shop.store(isGoogle ? HostShop.google : HostShop.apple))
  }

  @Test("No transaction of the guide is unreadable", arguments: examples("transaction"))
  func transaction(_ example: Example) throws {
    let isGoogle = example.document["store"] == "google"
    let reader = HostTransactionReader(
      configuration: try HostStoreConfiguration(try Fields(isGoogle ? HostShop.google : HostShop.apple)),
      verify: HostShop.verify)
    // The signed text in it is shortened, so it is not believed; but it is read.
    #expect(try reader.read(try Fields(example.document)).delivery.reason == (isGoogle ? "not_verified" : nil))
  }

  @Test("An event of the guide is heard", arguments: examples("event"))
  func event(_ example: Example) throws {
    try shop.store().notify(example.document)
    #expect(shop.events.count == 1)
  }

  @Test("A configuration of the guide is accepted", arguments: examples("configuration"))
  func configuration(_ example: Example) throws {
    _ = try HostStoreConfiguration(try Fields(example.document, path: "store"))
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
