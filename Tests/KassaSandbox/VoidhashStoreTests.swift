import KassaCore
import KassaJSON
import KassaPlatform
import KassaStores
import Testing

@testable import KassaSandbox

/// The built-in project together with the simulated store that sells its products.
@Suite("Voidhash: with the simulated store")
struct VoidhashStoreTests {
  private let shop: VoidhashShop
  private let store: SimulatedStore

  init() throws {
    let shop = try VoidhashShop(), sandbox = shop.shop.sandbox
    let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    let path = "/\(folder)/Fixtures/voidhash.storekit"
    self.shop = shop
    store = try SimulatedStore(
      SimulatedStoreConfiguration(storekitFile: path), file: try VoidhashSamples.read(path), path: ":memory:",
      ports: SimulatedStorePorts(
        time: shop.time, random: SeededRandom(seed: 1), now: { sandbox.now },
        onTransactions: { try? sandbox.register(storeTransactions: $0) }))
  }

  private func buy(_ product: String) async throws -> StoreTransaction {
    guard case .purchased(.verified(let transaction)) = try await store.purchase(StoreOrder(productID: product)) else {
      throw Unexpected(text: "not bought")
    }
    return transaction
  }

  @Test func everyProductIsSoldAndItsReceiptTaken() async throws {
    for product in ["coins.100", "pro.lifetime", "pro.monthly", "pro.annual"] {
      let transaction = try await buy("com.example.app.\(product)")
      #expect(try shop.sync(transaction.id).json == ["accepted": true], "\(product)")
    }
    let history = try shop.person().json.at("purchases", "history").elements.compactMap { $0["productId"]?.string }
    #expect(history.sorted() == ["prod_vh_annual", "prod_vh_coins", "prod_vh_lifetime", "prod_vh_monthly"])
    // The annual subscription took the place of the monthly one, in the same series.
    #expect(try shop.person().json.at("subscriptions", "history").elements.count == 1)
    #expect(try shop.person().json.at("subscriptions", "current", "productId") == "prod_vh_annual")
  }

  @Test func aYearOfRenewalsNeedsOneReceipt() async throws {
    let first = try await buy("com.example.app.pro.monthly")
    try shop.sync(first.id)
    #expect(try shop.person().json.at("subscriptions", "current", "status") == "trialing")
    for _ in 0..<12 {
      try shop.advance(days: 30)
      try store.refresh()
      #expect(try shop.perks() == ["premium"])
    }
    #expect(try shop.person().json.at("subscriptions", "current", "status") == "active")
    #expect(try shop.person().json.at("purchases", "history").elements.count == 13)
    #expect(try shop.log() == ["\(first.id) user-123 1"])
  }

  @Test func aRefundInTheStoreEndsAccess() async throws {
    let bought = try await buy("com.example.app.pro.lifetime")
    try shop.sync(bought.id)
    _ = try store.simulate(["action": "refund", "transaction_id": JSON(bought.id)])
    #expect(try shop.perks() == [])
  }
}
