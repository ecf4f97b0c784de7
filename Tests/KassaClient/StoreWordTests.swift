import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// What a store says is believed no further than it goes: what it forgets, repeats, or takes back.
@Suite struct StoreWordTests {
  private func googles(
    _ id: String, kind: StoreProduct.Kind = .nonConsumable, revokedAt: Int64? = nil, reason: String? = nil
  )
    -> StoreTransaction
  {
    var transaction = StoreTransaction.sample(id, product: "com.app.forever", kind: kind, until: nil)
    (transaction.platform, transaction.signedAt) = (.google, nil)
    transaction.revocation = revokedAt.map { StoreTransaction.Revocation(at: $0, reason: reason) }
    return transaction
  }

  @Test("A refund that a store without dates told of is not undone by a list that does not know of it")
  func refundStays() throws {
    let shop = try Shop { $0.entitlements = [.verified(googles("1"))] }
    shop.rig.letTimePass(inStepsOf: 10) { shop.rig.hasAccess(Rig.pro) }
    #expect(shop.rig.hasAccess(Rig.pro))
    shop.store.tell(.updated(.verified(googles("1", revokedAt: Rig.start))), on: shop.rig)
    shop.rig.letTimePass(inStepsOf: 10) { !shop.rig.hasAccess(Rig.pro) }
    #expect(try shop.rig.result(of: shop.client.restorePurchases())["restored"]?.bool == false)
    shop.store.tell(.updated(.verified(googles("1"))), on: shop.rig)
    shop.rig.advance(milliseconds: 1_000)
    #expect(!shop.rig.hasAccess(Rig.pro))
    // Bought again it is another purchase.
    shop.store.change { $0.entitlements = [.verified(googles("2"))] }
    #expect(try shop.rig.result(of: shop.client.restorePurchases())["restored"]?.bool == true)
  }

  @Test("What was only concluded from a list is taken back by another, and never outweighs what was told")
  func presumedRefund() throws {
    let shop = try Shop { $0.entitlements = [.verified(googles("1"))] }
    func restored(_ listed: StoreTransaction) throws -> Bool? {
      shop.store.change { $0.entitlements = [.verified(listed)] }
      return try shop.rig.result(of: shop.client.restorePurchases())["restored"]?.bool
    }
    let unlisted = googles("1", revokedAt: Rig.start, reason: "not_listed")
    #expect(try restored(googles("1")) == true)
    #expect(try restored(unlisted) == false)
    // Another account was in front of the store.
    #expect(try restored(googles("1")) == true)
    #expect(try restored(googles("1", revokedAt: Rig.start, reason: "refund")) == false)
    #expect(try restored(unlisted) == false)
    #expect(try restored(googles("1")) == false)
  }

  @Test("What the store still lists as unfinished is finished again, without a word") func finishedAgain() throws {
    let directory = TemporaryDirectory()
    let shop = try Shop(storage: directory.path) { $0.outcome = .success(.purchased(.verified(.sample("1")))) }
    try shop.rig.result(of: shop.client.purchase(Rig.monthly, ["method": "store"]))
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished == ["1"] }
    _ = shop.rig.events()
    shop.store.change { $0.unfinished = [.verified(.sample("1"))] }
    try shop.rig.result(of: shop.client.restorePurchases())
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished == ["1", "1"] }
    #expect(shop.store.finished == ["1", "1"])
    shop.rig.close()
    let again = try Shop(storage: directory.path, after: shop) { $0.unfinished = [.verified(.sample("1"))] }
    again.rig.letTimePass(inStepsOf: 10) { again.store.finished == ["1", "1", "1"] }
    #expect(again.store.finished == ["1", "1", "1"])
    #expect(!again.rig.events().contains { $0["type"]?.string == "transaction_updated" })
  }

  @Test("The same where the back end has people") func finishedAgainForPeople() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    booth.store.change { $0.outcome = .success(.purchased(.verified(transaction))) }
    try booth.rig.result(of: booth.client.purchase("pro_monthly", [:]))
    booth.rig.letTimePass(inStepsOf: 10) { booth.store.finished == ["1"] }
    for (number, look) in ["notify", "sync"].enumerated() {
      booth.store.change { $0.unfinished = [.verified(transaction)] }
      if look == "notify" {
        #expect(booth.client.notify(["type": "foreground"]))
      } else {
        try booth.rig.result(of: booth.client.syncPurchases())
      }
      let times = Array(repeating: "1", count: number + 2)
      booth.rig.letTimePass(inStepsOf: 10) { booth.store.finished == times }
      #expect(booth.store.finished == times, "\(look)")
    }
  }

  @Test("A grace period that the store takes back is over") func graceTakenBack() throws {
    let shop = try Shop {
      $0.entitlements = [.verified(.sample("1"))]
      $0.graceEndsAt = ["1": Rig.start + 46 * 86_400_000]
    }
    shop.rig.letTimePass(inStepsOf: 10) { shop.rig.hasAccess(Rig.pro) }
    shop.rig.advance(days: 31)
    shop.rig.letTimePass(inStepsOf: 60_000) { shop.rig.hasAccess(Rig.pro) }
    #expect(shop.rig.hasAccess(Rig.pro))
    shop.store.change { ($0.entitlements, $0.graceEndsAt) = ([], [:]) }
    try shop.rig.result(of: shop.client.restorePurchases())
    #expect(!shop.rig.hasAccess(Rig.pro))
  }

  @Test("Where the service's clock jumps over the end of a period, the store is asked for a grace period, too")
  func clockJump() throws {
    let shop = try Shop {
      $0.entitlements = [.verified(.sample("1"))]
      $0.graceEndsAt = ["1": Rig.start + 46 * 86_400_000]
    }
    shop.rig.letTimePass(inStepsOf: 10) { shop.rig.hasAccess(Rig.pro) }
    let lists = { shop.store.calls.filter { $0 == "entitlements" }.count }
    let before = lists()
    try shop.rig.simulate(["action": "advance", "days": 31])
    #expect(shop.rig.hasAccess(Rig.pro))
    shop.rig.settle()
    #expect(lists() == before + 1)
  }

  @Test(
    "A scan that failed is repeated a minute later, whatever the store's own word for it",
    arguments: [KassaError(.storeFailed, "6", reason: "billing_6"), KassaError(.offline, "no network")])
  func failedScan(error: KassaError) throws {
    let shop = try Shop { $0.unfinishedFails = error }
    func scans() -> Int { shop.store.calls.filter { $0 == "unfinished" }.count }
    shop.rig.letTimePass(inStepsOf: 10) { scans() == 1 }
    shop.store.change { $0.unfinishedFails = nil }
    shop.rig.advance(milliseconds: 30_000)
    #expect(scans() == 1)
    shop.rig.advance(milliseconds: 31_000)
    shop.rig.letTimePass(inStepsOf: 10) { scans() == 2 }
    #expect(scans() == 2)
  }

  @Test("S062 cancelled by the store's word, and charged all the same: a scan finds it") func cancelledButCharged()
    throws
  {
    let shop = try Shop { $0.outcome = .success(.cancelled) }
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.calls.contains("unfinished") }
    shop.store.change { $0.unfinished = [.verified(.sample("1"))] }
    #expect(try shop.rig.buy()["outcome"]?.string == "cancelled")
    shop.rig.letTimePass(inStepsOf: 10) { shop.rig.hasAccess(Rig.pro) }
    #expect(shop.rig.hasAccess(Rig.pro))
  }

  @Test("A store that does not know the storefront any more leaves it to the configuration, whoever asked it")
  func storefrontForgotten() throws {
    let shop = try Shop(Shop.wishes([("region", "FR")])) { $0.storefront = Storefront(country: "US") }
    #expect(shop.client.supportsExternalPurchases)
    shop.store.change { $0.storefront = nil }
    let answer = try shop.rig.result(of: shop.client.storeCall("storefront", .null))
    #expect(answer["storefront"]?.isNull == true)
    #expect(!shop.client.supportsExternalPurchases)
  }

  @Test("A restore, and a look at subscriptions, ask the store once for what it lists") func once() throws {
    let shop = try Shop()
    func lists() -> Int { shop.store.calls.filter { $0 == "entitlements" }.count }
    shop.rig.letTimePass(inStepsOf: 10) { lists() == 1 }
    try shop.rig.result(of: shop.client.restorePurchases())
    #expect(lists() == 2)
    try shop.rig.result(of: shop.client.storeCall("manage_subscriptions", .null))
    #expect(lists() == 3)
  }

  @Test(
    "What only a store sells is refused on the web",
    arguments: [["quantity": 2], ["offer": ["id": "black_friday"]], ["offer": "none"]] as [JSON])
  func storeOptions(options: JSON) throws {
    let rig = try Rig()
    let before = rig.network.requests.count
    #expect(try rig.error(of: rig.client.purchase(Rig.monthly, options))["code"]?.string == "invalid_argument")
    #expect(rig.network.requests.count == before)
  }

  @Test(
    "The page to manage a membership is that of the one that was meant",
    arguments: [["membershipId": "mem_1"], ["membership_id": 5], ["membership_id": "mem_nobody"]] as [JSON])
  func wrongMembership(params: JSON) throws {
    let rig = try Rig()
    try rig.buy()
    let error = try rig.error(of: rig.client.storeCall("manage_subscriptions", params))
    #expect(["invalid_argument", "not_found"].contains(error["code"]?.string))
  }
}
