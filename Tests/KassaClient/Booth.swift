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
  /// The same where a circuit breaker, or the next of many tries, has to be waited for.
  func waitLonger(_ isSo: () -> Bool) { rig.letTimePass(inStepsOf: 5_000, until: isSo) }
}

extension Booth {
  static let sync = "/api/v1/sdk/sync-transaction"

  /// The next answers to receipts are these.
  func receiptsMeet(status: Int, tag: String = "Api/SdkServiceError", times: Int = 1, route: String = Booth.sync) throws
  {
    let body = JSON(#"{"_tag":"\#(tag)","message":"not now"}"#)
    try rig.simulate([
      "action": "fault", "kind": "body", "status": JSON(status), "body": body, "content_type": "application/json",
      "route": JSON(route), "times": JSON(times),
    ])
  }

  /// The owners and ids of receipts in the order in which they were sent.
  func sent() -> [String] {
    rig.network.requests.filter { $0.url.hasSuffix(Self.sync) }.map { request in
      let owner = request.headers.first { $0.name == "x-distinct-id" }?.value ?? ""
      let id = (try? JSON.parse(request.body))?["transactionId"]?.string ?? ""
      return "\(owner) \(id)"
    }
  }

  /// The transactions that were told of since the queue was last read.
  func updates() -> [JSON] { rig.events().filter { $0["type"]?.string == "transaction_updated" } }

  func logIn(_ user: String, _ attributes: JSON = [:]) throws -> JSON {
    try rig.result(of: client.logIn(user, attributes))
  }
}
