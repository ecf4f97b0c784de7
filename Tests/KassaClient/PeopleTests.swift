import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// A client of a service with people, on a scripted store whose transactions the service knows.
struct Booth {
  static let monthly = "com.example.app.pro.monthly", coins = "com.example.app.coins.100"
  static let lifetime = "com.example.app.pro.lifetime"

  let rig: Rig
  let store: ScriptedStore
  var client: Client { rig.client }

  init(
    storage: String = ":memory:", after before: Booth? = nil, others: [(String, JSON)] = [], catalogue: JSON? = nil,
    isEnabled: Bool = true, seed: UInt64 = 1, offline: Bool = false,
    script: (inout ScriptedStore.Script) -> Void = { _ in }
  ) throws {
    let time = before?.rig.time ?? ManualTime(wallMilliseconds: Rig.start)
    store = before?.store ?? ScriptedStore(time: time)
    store.change {
      $0.products = [
        Self.product(Self.monthly, .subscription), Self.product(Self.coins, .consumable),
        Self.product(Self.lifetime, .nonConsumable),
      ]
      script(&$0)
    }
    let network = before?.rig.network ?? Network(time: time, store: store)
    if before == nil { network.setScope("voidhash") }
    if offline { network.set(.offline) }
    let wishes = Rig.Wishes(hasPeople: true, catalogue: catalogue, isEnabled: isEnabled, others: others)
    rig = try Rig(
      wishes, storage: storage, time: time, network: network, seed: seed, configure: !offline)
    if offline { _ = client.configure(rig.configuration) }
  }

  static func product(_ id: String, _ kind: StoreProduct.Kind) -> StoreProduct {
    StoreProduct(
      id: id, kind: kind, displayName: id, description: "",
      price: StorePrice(Money(Decimal(999, fractionDigits: 2) ?? .zero, "USD"), formatted: "$9.99"),
      subscription: kind == .subscription
        ? Period(1, .month).map { StoreSubscription(groupID: "1", level: 1, period: $0) } : nil)
  }

  /// A transaction that the service can look up.
  func sold(
    _ id: String, _ product: String = Booth.monthly, kind: StoreProduct.Kind = .subscription,
    change: (inout StoreTransaction) -> Void = { _ in }
  ) throws -> StoreTransaction {
    var transaction = StoreTransaction.sample(
      id, product: product, kind: kind, at: rig.time.wallMilliseconds,
      until: kind == .subscription ? rig.time.wallMilliseconds + 30 * 86_400_000 : nil)
    change(&transaction)
    try rig.network.register(transaction)
    return transaction
  }

  /// Buys what the store then sells.
  @discardableResult
  func buy(_ slug: String, _ transaction: StoreTransaction, _ options: JSON = [:]) throws -> JSON {
    store.change { $0.outcome = .success(.purchased(.verified(transaction))) }
    return try rig.result(of: client.purchase(slug, options))
  }

  /// What the service accepted: who owns each transaction, and how often it came.
  func accepted() throws -> [String: (owner: String, deliveries: Int64)] {
    let receipts = try rig.network.serviceState()["voidhash"]?["receipts"]?.elements ?? []
    return Dictionary(
      receipts.map {
        ($0["transaction_id"]?.string ?? "", ($0["distinct_id"]?.string ?? "", $0["deliveries"]?.integer ?? 0))
      }
    ) { $1 }
  }

  var pendingCount: Int64? { client.pending?["pending_transaction_count"]?.integer }
  var distinctID: String? { client.person["distinct_id"]?.string }

  func waitUntil(_ isSo: () -> Bool) { rig.letTimePass(inStepsOf: 50, until: isSo) }
}

/// People: who asks, what they have, and what they buy.
@Suite struct PeopleTests {
  @Test("A purchase: charged, on disk, accepted, finished; then the person has the perk")
  func purchase() throws {
    let booth = try Booth()
    #expect(!booth.rig.hasPerk("premium"))
    let result = try booth.buy("pro_monthly", booth.sold("1001"))
    #expect(result["outcome"]?.string == "purchased")
    #expect(result["synced"]?.bool == true)
    #expect(result["transaction"]?["product_slug"]?.string == "pro_monthly")
    booth.waitUntil { booth.rig.hasPerk("premium") && !booth.store.finished.isEmpty }
    #expect(booth.store.finished == ["1001"])
    #expect(booth.rig.hasPerk("premium"))
    #expect(booth.rig.hasAccess("pro_monthly"))
    #expect(booth.rig.isSubscribed)
    #expect(!booth.rig.hasPerk("pro_monthly"))
    #expect(try booth.accepted()["1001"]?.deliveries == 1)
    #expect(booth.pendingCount == 0)
  }

  @Test(
    "S001 S002 While the service is out of reach the receipt waits, over a restart; then it is sent once and finished")
  func outage() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path)
    let transaction = try before.sold("1001")
    before.rig.network.set(.offline)
    let result = try before.buy("pro_monthly", transaction)
    #expect(result["outcome"]?.string == "purchased")
    #expect(result["synced"]?.bool == false)
    #expect(before.pendingCount == 1)
    #expect(before.store.finished.isEmpty)
    before.rig.close()
    before.store.change { $0.unfinished = [.verified(transaction)] }
    before.rig.network.set(.fine)
    let after = try Booth(storage: directory.path, after: before)
    after.waitUntil { !after.store.finished.isEmpty }
    #expect(after.store.finished == ["1001"])
    #expect(try after.accepted()["1001"]?.deliveries == 1)
    #expect(after.pendingCount == 0)
  }
}
