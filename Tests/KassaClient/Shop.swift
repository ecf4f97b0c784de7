import KassaCore
import KassaJSON
import KassaPlatform

@testable import KassaClient

/// A client of memberships with a scripted store in Germany, which sells what two plans are mapped to.
struct Shop {
  static let product = "com.app.monthly"

  let rig: Rig
  let store: ScriptedStore
  var client: Client { rig.client }

  static func wishes(_ others: [(String, JSON)] = []) -> Rig.Wishes {
    Rig.Wishes(mappings: [(Rig.monthly, product), (Rig.lifetime, "com.app.forever")], others: others)
  }

  /// - Parameter before: whose time, store and service go on.
  init(
    _ wishes: Rig.Wishes = Shop.wishes(), storage: String = ":memory:", after before: Shop? = nil,
    configure: Bool = true, script: (inout ScriptedStore.Script) -> Void = { _ in }
  ) throws {
    let time = before?.rig.time ?? ManualTime(wallMilliseconds: Rig.start)
    store = before?.store ?? ScriptedStore(time: time)
    store.change {
      $0.products = [
        StoreProduct(
          id: Self.product, kind: .subscription, displayName: "Monthly", description: "",
          price: StorePrice(Money(Decimal(999, fractionDigits: 2) ?? .zero, "EUR"), formatted: "9,99 €"),
          subscription: Period(1, .month).map { StoreSubscription(groupID: "1", level: 1, period: $0) })
      ]
      script(&$0)
    }
    let network = before?.rig.network ?? Network(time: time, store: store)
    rig = try Rig(wishes, storage: storage, time: time, network: network, configure: configure)
  }

  func waitForSheet() {
    rig.letTimePass(inStepsOf: 10) { store.calls.contains { $0.hasPrefix("purchase ") } }
  }
}
