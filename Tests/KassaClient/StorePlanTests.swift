import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// What a store sells is of a plan, whether the service lists that plan or not.
@Suite struct StorePlanTests {
  private static let hidden = "plan_hidden"
  private static var hiddenIsMapped: Rig.Wishes {
    Rig.Wishes(productIDs: [Rig.pro], mappings: [(hidden, Shop.product)])
  }

  private func sold(_ id: String) -> Result<StoreOutcome, KassaError> {
    .success(.purchased(.verified(.sample(id))))
  }

  @Test(
    "A mapped plan that is not listed is of its product, in the sale, offline and after a restart; no list shows it")
  func hidden() throws {
    let directory = TemporaryDirectory()
    let shop = try Shop(Self.hiddenIsMapped, storage: directory.path) { $0.outcome = sold("1") }
    let result = try shop.rig.result(of: shop.client.purchase(Self.hidden, ["method": "store"]))
    #expect(result["transaction"]?["product_id"]?.string == Rig.pro)
    #expect(shop.rig.hasAccess(Rig.pro))
    #expect(shop.rig.isSubscribed)
    #expect(!shop.client.plans.elements.contains { $0["id"]?.string == Self.hidden })
    shop.rig.close()
    shop.rig.network.set(.offline)
    let again = try Shop(Self.hiddenIsMapped, storage: directory.path, after: shop) {
      $0.entitlements = [.verified(.sample("2", at: Rig.start + 1))]
    }
    again.rig.letTimePass(inStepsOf: 10) { again.client.entitlements.elements.count == 2 }
    #expect(again.client.entitlements.elements.allSatisfy { $0["product_id"]?.string == Rig.pro })
    #expect(!again.client.plans.elements.contains { $0["id"]?.string == Self.hidden })
  }

  @Test("A renewal stays with its product after the service has hidden the plan, or knows it no more")
  func hiddenLater() throws {
    let directory = TemporaryDirectory()
    let shop = try Shop(storage: directory.path) { $0.outcome = sold("1") }
    try shop.rig.result(of: shop.client.purchase(Rig.monthly, ["method": "store"]))
    shop.rig.close()
    shop.rig.network.rewrite { request, response in
      guard request.url.contains("/variants") else { return response }
      var response = response
      let list = (try? JSON.parse(response.body)) ?? .null
      let isRow = list["data"] == nil
      let rows = (list["data"]?.elements ?? []).filter { $0["id"]?.string != Rig.monthly }
      (response.status, response.body) =
        isRow ? (404, Array("{}".utf8)) : (response.status, list.merging([("data", .array(rows))]).bytes())
      return response
    }
    let renewal = StoreTransaction.sample("2", at: Rig.start + 1, until: Rig.start + 60 * 86_400_000)
    let again = try Shop(storage: directory.path, after: shop) { $0.unfinished = [.verified(renewal)] }
    again.rig.letTimePass(inStepsOf: 10) { again.store.finished.contains("2") }
    again.rig.advance(days: 45)
    #expect(again.rig.hasAccess(Rig.pro))
  }

  @Test("Nothing is charged for a plan that the service does not have") func unknown() throws {
    let shop = try Shop(Rig.Wishes(mappings: [("plan_nobody", Shop.product)])) { $0.outcome = sold("1") }
    let error = try shop.rig.error(of: shop.client.purchase("plan_nobody", ["method": "store"]))
    #expect(error["code"]?.string == "plan_not_found")
    #expect(!shop.store.calls.contains { $0.hasPrefix("purchase") })
    // A service that cannot be asked is no reason not to sell.
    shop.rig.network.set(.offline)
    #expect(
      try shop.rig.result(of: shop.client.purchase("plan_nobody", ["method": "store"]))["receipt_id"]?.string == "1")
  }

  @Test("The store's price is gone with the store, and with the mapping") func priceGone() throws {
    let directory = TemporaryDirectory()
    func price(_ client: Client) -> JSON? {
      client.plans.elements.first { $0["id"]?.string == Rig.monthly }?["apple_display_price"]
    }
    let shop = try Shop(storage: directory.path)
    // It is there when the configuration is complete.
    #expect(price(shop.client)?.string == "9,99 €")
    let unmapped = try Shop(Rig.Wishes(), storage: directory.path, after: shop)
    #expect(price(unmapped.client)?.isNull == true)
    unmapped.rig.close()
    let without = try Rig(
      Shop.wishes(), storage: directory.path, time: shop.rig.time, network: Network(time: shop.rig.time))
    #expect(price(without.client)?.isNull == true)
  }

  @Test("A configuration waits for the storefront, but not for ever") func waits() throws {
    let shop = try Shop()
    #expect(!shop.client.supportsExternalPurchases)
    #expect(shop.client.explain(Rig.pro)["storefront"]?["source"]?.string == "store")
    let silent = try Shop(configure: false) { $0.isSilent = true }
    let operation = silent.client.configure(silent.rig.configuration)
    #expect(try silent.rig.result(of: operation)["source"]?.string == "network")
    #expect(silent.client.explain(Rig.pro)["storefront"]?["source"]?.string == "locale")
    silent.store.change { $0.isSilent = false }
    silent.rig.letTimePass(inStepsOf: 500) { !silent.client.supportsExternalPurchases }
    #expect(!silent.client.supportsExternalPurchases)
  }
}
