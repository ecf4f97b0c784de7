import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// Whop's rules for purchases in a store, and that no transaction is lost, granted unverified, or told of twice.
@Suite struct StoreTests {
  private static let product = Shop.product

  private static func wishes(_ others: [(String, JSON)] = []) -> Rig.Wishes { Shop.wishes(others) }

  private func shop(
    _ wishes: Rig.Wishes = Shop.wishes(), storage: String = ":memory:", after before: Shop? = nil,
    script: (inout ScriptedStore.Script) -> Void = { _ in }
  ) throws -> Shop {
    try Shop(wishes, storage: storage, after: before, script: script)
  }

  private func bought(_ transaction: StoreTransaction) -> Result<StoreOutcome, KassaError> {
    .success(.purchased(.verified(transaction)))
  }

  // MARK: Buying

  @Test("Outside the US the store is the default: access at once, offline and after a restart, membership null")
  func purchase() throws {
    let directory = TemporaryDirectory()
    let before: Shop
    do {
      let shop = try shop(storage: directory.path) { $0.outcome = bought(.sample("1001")) }
      #expect(!shop.client.supportsExternalPurchases)
      let result = try shop.rig.result(of: shop.client.purchase(Rig.monthly, [:]))
      #expect(result["outcome"]?.string == "purchased")
      #expect(result["method"]?.string == "store")
      #expect(result["receipt_id"]?.string == "1001")
      #expect(result["membership"]?.isNull == true)
      #expect(result["transaction"]?["product_id"]?.string == Rig.pro)
      #expect(result.text().contains("proof") == false)
      #expect(shop.rig.hasAccess(Rig.pro))
      #expect(shop.rig.isSubscribed)
      #expect(shop.client.memberships.elements.isEmpty)
      let entitlement = try #require(shop.client.entitlements.elements.first)
      #expect(entitlement["source"]?.string == "store")
      #expect(entitlement["plan_id"]?.string == Rig.monthly)
      shop.rig.letTimePass(inStepsOf: 10) { !shop.store.finished.isEmpty }
      #expect(shop.store.finished == ["1001"])
      before = shop
    }
    before.rig.network.set(.offline)
    let shop = try shop(storage: directory.path, after: before)
    #expect(shop.rig.hasAccess(Rig.pro))
    #expect(shop.rig.isSubscribed)
    shop.rig.advance(days: 30)
    #expect(!shop.rig.hasAccess(Rig.pro))
    #expect(!shop.rig.isSubscribed)
  }

  @Test(
    "In the US the web is the default; the method decides otherwise",
    arguments: ["store", "storekit", "storeKit", "apple"])
  func method(word: String) throws {
    let shop = try shop {
      $0.storefront = Storefront(country: "USA")
      $0.outcome = bought(.sample("1"))
    }
    shop.rig.letTimePass(inStepsOf: 10) { shop.client.supportsExternalPurchases }
    #expect(shop.client.supportsExternalPurchases)
    #expect(try shop.rig.buy()["method"]?.string == "whop")
    let result = try shop.rig.result(of: shop.client.purchase(Rig.monthly, ["method": JSON(word)]))
    #expect(result["method"]?.string == "store")
  }

  @Test("Where the user buys: the store's word, else the region, else the locale; an explanation says which")
  func storefront() throws {
    func explained(_ shop: Shop) -> String? { shop.client.explain(Rig.pro)["storefront"]?.text() }
    let asked = try shop()
    asked.rig.letTimePass(inStepsOf: 10) { explained(asked)?.contains("store\"") == true }
    #expect(explained(asked) == #"{"country_code":"DE","source":"store"}"#)
    let region = try shop(Self.wishes([("region", "FR")])) { $0.storefront = nil }
    #expect(explained(region) == #"{"country_code":"FR","source":"region"}"#)
    #expect(!region.client.supportsExternalPurchases)
    let locale = try shop { $0.storefront = nil }
    #expect(explained(locale) == #"{"country_code":"US","source":"locale"}"#)
    #expect(locale.client.supportsExternalPurchases)
    // Another region takes the place of the one before.
    try region.rig.result(of: region.client.configure(region.rig.configuration.merging([("region", "US")])))
    #expect(region.client.supportsExternalPurchases)
    // Without a store nothing else could sell.
    let none = try Rig(Self.wishes([("region", "FR")]))
    #expect(none.client.supportsExternalPurchases)
    #expect(none.client.explain(Rig.pro)["storefront"]?.isNull == true)
  }

  @Test("A storefront that changes changes the default, with one event")
  func storefrontChange() throws {
    let shop = try shop()
    shop.rig.letTimePass(inStepsOf: 10) { shop.client.explain(Rig.pro)["storefront"]?["source"]?.string == "store" }
    _ = shop.rig.events()
    shop.store.tell(.storefrontChanged(Storefront(country: "US")), on: shop.rig)
    shop.rig.settle()
    #expect(shop.client.supportsExternalPurchases)
    #expect(shop.rig.changes("storefront").count == 1)
  }

  @Test("The store's own price stands beside the plan, offline too")
  func prices() throws {
    let directory = TemporaryDirectory()
    func price(_ shop: Shop) -> String? {
      shop.client.plans.elements.first { $0["id"]?.string == Rig.monthly }?["apple_display_price"]?.string
    }
    let first = try shop(storage: directory.path)
    try first.rig.result(of: first.client.refreshPlans())
    #expect(price(first) == "9,99 €")
    first.rig.close()
    first.rig.network.set(.offline)
    let second = try shop(storage: directory.path, after: first) { $0.products = [] }
    #expect(price(second) == "9,99 €")
  }

  @Test("What cannot be sold is said before anything is shown")
  func refusals() throws {
    func code(_ shop: Shop, _ plan: String, _ options: JSON) throws -> String? {
      try shop.rig.error(of: shop.client.purchase(plan, options))["code"]?.string
    }
    let shop = try shop()
    #expect(try code(shop, "plan_yearly", [:]) == "plan_not_mapped")
    #expect(try code(shop, Rig.lifetime, [:]) == "product_not_found")
    #expect(try code(shop, Rig.monthly, ["quantity": 2]) == "invalid_argument")
    #expect(!shop.store.calls.contains { $0.hasPrefix("purchase") })
    let none = try Rig(Self.wishes())
    #expect(try none.error(of: none.client.purchase(Rig.monthly, ["method": "store"]))["code"]?.string == "unsupported")
  }

  @Test(
    "S061 pending, cancelled and failed are told apart; nothing is granted",
    arguments: ["pending", "cancelled", "failed"])
  func outcomes(word: String) throws {
    let shop = try shop {
      $0.outcome =
        switch word {
        case "pending": .success(.pending)
        case "cancelled": .success(.cancelled)
        default: .failure(KassaError(.storeFailed, "the store is closed", retryable: true))
        }
    }
    let document = try shop.rig.completion(of: shop.client.purchase(Rig.monthly, [:]))
    if word == "failed" {
      #expect(document["error"]?["code"]?.string == "store_failed")
    } else {
      #expect(document["result"]?["outcome"]?.string == word)
    }
    #expect(!shop.rig.hasAccess(Rig.pro))
  }

  @Test("One purchase at a time, and a cancelled sheet whose charge arrives later")
  func oneAtATime() throws {
    let shop = try shop { $0.isSheetOpen = true }
    let operation = shop.client.purchase(Rig.monthly, [:])
    shop.waitForSheet()
    let second = try shop.rig.error(of: shop.client.purchase(Rig.monthly, [:]))
    #expect(second["code"]?.string == "purchase_in_progress")
    #expect(shop.client.cancel(operation))
    #expect(try shop.rig.result(of: operation)["outcome"]?.string == "cancelled")
    shop.store.tell(.updated(.verified(.sample("7"))), on: shop.rig)
    shop.rig.letTimePass(inStepsOf: 10) { shop.rig.hasAccess(Rig.pro) }
    #expect(shop.rig.hasAccess(Rig.pro))
  }

  @Test("S005 what was charged although the call failed is found by the scan after it")
  func chargedAllTheSame() throws {
    let shop = try shop { $0.outcome = .failure(KassaError(.storeFailed, "unknown error", retryable: true)) }
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.calls.contains("unfinished") }
    shop.store.change { $0.unfinished = [.verified(.sample("1"))] }
    #expect(try shop.rig.error(of: shop.client.purchase(Rig.monthly, [:]))["code"]?.string == "store_failed")
    shop.rig.letTimePass(inStepsOf: 10) { shop.rig.hasAccess(Rig.pro) }
    #expect(shop.rig.hasAccess(Rig.pro))
  }

  @Test("A store that never answers to finish holds up no purchase")
  func stuckFinish() throws {
    let shop = try shop {
      $0.outcome = bought(.sample("1"))
      $0.finishHangs = true
    }
    #expect(try shop.rig.result(of: shop.client.purchase(Rig.monthly, [:]))["outcome"]?.string == "purchased")
    shop.store.change { $0.outcome = bought(.sample("2")) }
    #expect(try shop.rig.result(of: shop.client.purchase(Rig.monthly, [:]))["receipt_id"]?.string == "2")
  }

  @Test("A purchase that is open while another account is configured is kept where it belongs")
  func otherAccount() throws {
    let directory = TemporaryDirectory()
    let shop = try shop(storage: directory.path) {
      $0.outcome = bought(.sample("1"))
      $0.isSheetOpen = true
    }
    let operation = shop.client.purchase(Rig.monthly, [:])
    shop.waitForSheet()
    shop.rig.network.setScope("another")
    try shop.rig.result(of: shop.client.configure(shop.rig.configuration.merging([("region", "FR")])))
    shop.store.change { $0.isSheetOpen = false }
    #expect(try shop.rig.result(of: operation)["receipt_id"]?.string == "1")
    shop.rig.settle()
    #expect(!shop.rig.hasAccess(Rig.pro))
    #expect(shop.store.finished.isEmpty)
    shop.rig.network.setScope("whop")
    try shop.rig.refresh()
    #expect(shop.rig.hasAccess(Rig.pro))
  }

  // MARK: Verified before granted

  @Test("S115 what a store of tests sold grants nothing where production counts", arguments: ["sandbox", "xcode"])
  func environments(word: String) throws {
    let directory = TemporaryDirectory()
    var sample = StoreTransaction.sample("1", kind: .nonConsumable, until: nil)
    sample.environment = try #require(StoreTransaction.Environment(rawValue: word))
    let first = try shop(storage: directory.path)
    first.rig.network.setEnvironments([.sandbox, .xcode])
    try first.rig.result(of: first.client.configure(first.rig.configuration.merging([("region", "FR")])))
    first.store.tell(.updated(.verified(sample)), on: first.rig)
    first.rig.letTimePass(inStepsOf: 10) { first.rig.hasAccess(Self.product) }
    first.rig.close()
    first.rig.network.setEnvironments([.production])
    let second = try shop(storage: directory.path, after: first)
    #expect(!second.rig.isSubscribed)
    #expect(second.client.entitlements.elements.first?["rule"]?.string == "wrong_environment")
  }

  @Test("An unverified transaction is neither granted nor finished, and reported once")
  func unverified() throws {
    let delivery = StoreDelivery.unverified(
      id: "9", productID: Self.product, reason: "untrusted_root", message: "nobody knows the root")
    let shop = try shop {
      $0.outcome = .success(.purchased(delivery))
      $0.unfinished = [delivery]
    }
    let error = try shop.rig.error(of: shop.client.purchase(Rig.monthly, [:]))
    #expect(error["code"]?.string == "storekit_transaction_unverified")
    #expect(error["reason"]?.string == "untrusted_root")
    shop.store.tell(.updated(delivery), on: shop.rig)
    shop.rig.settle()
    #expect(!shop.rig.hasAccess(Rig.pro))
    #expect(!shop.rig.isSubscribed)
    #expect(shop.store.finished.isEmpty)
    #expect(shop.rig.diagnostics() == ["storekit_transaction_unverified"])
  }

  // MARK: Once, and never lost

  @Test("S011 the same transaction from the call, an update and a scan is told once; renewals each once")
  func once() throws {
    let shop = try shop {
      $0.outcome = bought(.sample("1"))
      $0.isSheetOpen = true
    }
    let operation = shop.client.purchase(Rig.monthly, [:])
    shop.waitForSheet()
    // The update comes before the call's own answer, and so does a scan.
    shop.store.tell(.updated(.verified(.sample("1"))), on: shop.rig)
    shop.store.change { $0.unfinished = [.verified(.sample("1"))] }
    shop.rig.advance(milliseconds: 61_000)
    #expect(shop.client.notify(["type": "foreground"]))
    shop.rig.settle()
    // Granted at once, told of by the call alone.
    #expect(shop.rig.hasAccess(Rig.pro))
    shop.store.change { $0.isSheetOpen = false }
    try shop.rig.result(of: operation)
    for number in 2...10 { shop.store.tell(.updated(.verified(.sample("\(number)"))), on: shop.rig) }
    shop.store.tell(.updated(.verified(.sample("10"))), on: shop.rig)
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished.count >= 10 }
    let told = shop.rig.events().filter { $0["type"]?.string == "transaction_updated" }
      .compactMap { $0["transaction"]?["id"]?.string }
    #expect(told == (2...10).map(String.init))
    #expect(Set(shop.store.finished).count == 10)
    #expect(shop.store.finished.count == 10)
  }

  @Test("Before anybody listens, the last ten are kept")
  func kept() throws {
    let shop = try shop()
    for number in 1...15 { shop.store.tell(.updated(.verified(.sample("\(number)"))), on: shop.rig) }
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished.count == 15 }
    let told = shop.rig.events().filter { $0["type"]?.string == "transaction_updated" }
    #expect(told.compactMap { $0["transaction"]?["id"]?.string } == (6...15).map(String.init))
  }

  @Test("S007 S009 S013 found unfinished after a crash it is told once and finished; finished, it is not told again")
  func restart() throws {
    let directory = TemporaryDirectory()
    let first = try shop(storage: directory.path) {
      $0.outcome = bought(.sample("1"))
      $0.unfinished = [.verified(.sample("1"))]
      $0.finishFails = true
    }
    try first.rig.result(of: first.client.purchase(Rig.monthly, [:]))
    #expect(first.store.finished.isEmpty)
    first.rig.close()

    let second = try shop(storage: directory.path, after: first) { $0.finishFails = false }
    second.rig.letTimePass(inStepsOf: 10) { !second.store.finished.isEmpty }
    #expect(second.store.finished == ["1"])
    #expect(second.rig.events().filter { $0["type"]?.string == "transaction_updated" }.count == 1)
    second.rig.close()

    let third = try shop(storage: directory.path, after: second) { $0.entitlements = [.verified(.sample("1"))] }
    try third.rig.result(of: third.client.restorePurchases())
    #expect(third.store.finished == ["1"])
    #expect(third.rig.events().allSatisfy { $0["type"]?.string != "transaction_updated" })
  }

  @Test("What the disk refuses is granted for this run, and not finished")
  func fullDisk() throws {
    let directory = TemporaryDirectory()
    let shop = try shop(storage: directory.path) { $0.outcome = bought(.sample("1")) }
    let database = try Database(path: "\(directory.path)/kassa.db")
    try database.script("DROP TABLE receipts")
    try shop.rig.result(of: shop.client.purchase(Rig.monthly, [:]))
    #expect(shop.rig.hasAccess(Rig.pro))
    #expect(shop.store.finished.isEmpty)
    #expect(shop.rig.diagnostics().contains("storage_failed"))
  }

  @Test("S123 a refund under the same id ends access, and is told of by the answers alone")
  func refund() throws {
    let shop = try shop { $0.outcome = bought(.sample("1")) }
    try shop.rig.result(of: shop.client.purchase(Rig.monthly, [:]))
    _ = shop.rig.events()
    var refunded = StoreTransaction.sample("1")
    refunded.revocation = StoreTransaction.Revocation(
      at: Rig.start + 1_000, reason: "developer_issue", percentage: 50_000)
    refunded.signedAt = Rig.start + 1_000
    shop.store.tell(.updated(.verified(refunded)), on: shop.rig)
    shop.rig.letTimePass(inStepsOf: 10) { !shop.rig.hasAccess(Rig.pro) }
    #expect(!shop.rig.hasAccess(Rig.pro))
    #expect(shop.client.explain(Rig.pro)["considered"]?.elements.first?["rule"]?.string == "revoked")
    let events = shop.rig.events()
    #expect(events.filter { $0["what"]?.string == "entitlements" }.count == 1)
    #expect(events.allSatisfy { $0["type"]?.string != "transaction_updated" })
    // The store hears that the refund was taken note of.
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished.count == 2 }
    #expect(shop.store.finished == ["1", "1"])
    // The old signing comes again, from a scan: it revives nothing.
    shop.store.tell(.updated(.verified(.sample("1"))), on: shop.rig)
    shop.rig.settle()
    #expect(!shop.rig.hasAccess(Rig.pro))
  }

  @Test("S125 refunding one of two purchases of the same thing leaves the other")
  func twoPurchases() throws {
    let shop = try shop()
    for id in ["1", "2"] { shop.store.tell(.updated(.verified(.sample(id))), on: shop.rig) }
    var refunded = StoreTransaction.sample("2")
    (refunded.revocation, refunded.signedAt) = (StoreTransaction.Revocation(at: Rig.start), Rig.start + 1)
    shop.store.tell(.updated(.verified(refunded)), on: shop.rig)
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished.count == 2 }
    #expect(shop.rig.hasAccess(Rig.pro))
  }

  @Test("Consumables grant nothing and are finished; what an upgrade replaced grants nothing")
  func kinds() throws {
    let shop = try shop()
    shop.store.tell(.updated(.verified(.sample("1", kind: .consumable, until: nil))), on: shop.rig)
    var upgraded = StoreTransaction.sample("2")
    upgraded.isUpgraded = true
    shop.store.tell(.updated(.verified(upgraded)), on: shop.rig)
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished.count == 2 }
    #expect(!shop.rig.isSubscribed)
    #expect(Set(shop.client.entitlements.elements.compactMap { $0["rule"]?.string }) == ["consumable", "upgraded"])
  }

  @Test("Store purchases are the device's: they stay through login and logout, and keep whom they were bought by")
  func identity() throws {
    let shop = try shop { $0.outcome = bought(.sample("1")) }
    try shop.rig.result(of: shop.client.purchase(Rig.monthly, [:]))
    try shop.rig.result(of: shop.client.logIn("ada"))
    #expect(shop.rig.hasAccess(Rig.pro))
    shop.client.logOut()
    #expect(shop.rig.hasAccess(Rig.pro))
  }

  @Test("S086 a purchase belongs to whom the sheet was opened for, whoever logs in meanwhile")
  func capture() throws {
    let directory = TemporaryDirectory()
    let shop = try shop(storage: directory.path) {
      $0.outcome = bought(.sample("1"))
      $0.isSheetOpen = true
    }
    let operation = shop.client.purchase(Rig.monthly, [:])
    shop.waitForSheet()
    try shop.rig.result(of: shop.client.logIn("ada"))
    shop.store.change { $0.isSheetOpen = false }
    try shop.rig.result(of: operation)
    let owners = try Database(path: "\(directory.path)/kassa.db")
      .run("SELECT app_user_id FROM receipts") { $0.optionalText(0) }
    #expect(owners == [nil])
    #expect(shop.rig.hasAccess(Rig.pro))
  }

  @Test("A store out of reach does not keep the service's purchases from being restored")
  func restoreWithoutStore() throws {
    let shop = try shop { $0.storefront = Storefront(country: "US") }
    try shop.rig.result(of: shop.client.purchase(Rig.monthly, ["method": "whop"]))
    shop.store.change { $0.isOutOfReach = true }
    let error = try shop.rig.error(of: shop.client.restorePurchases())
    #expect(error["code"]?.string == "store_failed")
    #expect(shop.rig.hasAccess(Rig.pro))
  }

  @Test("While the store retries a payment, its grace period counts, offline and after a restart")
  func grace() throws {
    let directory = TemporaryDirectory()
    let end = Rig.start + 46 * 86_400_000
    let shop = try shop(storage: directory.path) {
      $0.entitlements = [.verified(.sample("1"))]
      $0.graceEndsAt = ["1": end]
    }
    shop.rig.letTimePass(inStepsOf: 10) { shop.rig.hasAccess(Rig.pro) }
    shop.rig.advance(days: 31)
    shop.rig.letTimePass(inStepsOf: 60_000) { shop.rig.hasAccess(Rig.pro) }
    #expect(shop.rig.hasAccess(Rig.pro))
    let entitlement = try #require(shop.client.entitlements.elements.first)
    #expect(entitlement["ends_at"]?.integer == end)
    #expect(entitlement["rule"]?.string == "renewal_grace")
    #expect(entitlement["status"]?.string == "active")
    shop.rig.close()
    let again = try self.shop(storage: directory.path, after: shop)
    #expect(again.rig.hasAccess(Rig.pro))
    again.rig.advance(days: 16)
    #expect(!again.rig.hasAccess(Rig.pro))
  }

  @Test("A subscription that names no end stands while the store lists it, and so long offline")
  func openEnded() throws {
    var transaction = StoreTransaction.sample("1", until: nil)
    transaction.signedAt = nil
    let shop = try shop { $0.entitlements = [.verified(transaction)] }
    shop.rig.letTimePass(inStepsOf: 10) { shop.rig.hasAccess(Rig.pro) }
    #expect(shop.client.explain(Rig.pro)["considered"]?.elements.first?["rule"]?.string == "offline_limit")
    shop.rig.advance(days: 20)
    try shop.rig.result(of: shop.client.restorePurchases())
    shop.rig.advance(days: 29)
    #expect(shop.rig.hasAccess(Rig.pro))
    shop.store.change { $0.isOutOfReach = true }
    shop.rig.advance(days: 2)
    #expect(!shop.rig.hasAccess(Rig.pro))
    shop.store.change { $0.isOutOfReach = false }
    try shop.rig.result(of: shop.client.restorePurchases())
    #expect(shop.rig.hasAccess(Rig.pro))
    // A list with something unreadable in it ends nothing.
    let unreadable = StoreDelivery.unverified(
      id: nil, productID: nil, reason: "malformed_transaction", message: "what?")
    shop.store.change { $0.entitlements = [unreadable] }
    shop.rig.advance(milliseconds: 1)
    try shop.rig.result(of: shop.client.restorePurchases())
    #expect(shop.rig.hasAccess(Rig.pro))
    shop.store.change { $0.entitlements = [] }
    try shop.rig.result(of: shop.client.restorePurchases())
    #expect(!shop.rig.hasAccess(Rig.pro))
  }

  @Test("One order of Google Play may be of several products")
  func severalProducts() throws {
    let shop = try shop()
    for product in [Self.product, "com.app.other"] {
      var transaction = StoreTransaction.sample("GPA.1", product: product)
      transaction.platform = .google
      shop.store.tell(.updated(.verified(transaction)), on: shop.rig)
    }
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished.count == 2 }
    #expect(shop.rig.hasAccess(Rig.pro))
    #expect(shop.rig.hasAccess("com.app.other"))
  }

  @Test("product_ids limit what store purchases grant, too")
  func productIDs() throws {
    var wishes = Self.wishes()
    wishes.productIDs = ["prod_elsewhere"]
    let shop = try shop(wishes) { $0.outcome = bought(.sample("1")) }
    shop.store.tell(.updated(.verified(.sample("1"))), on: shop.rig)
    shop.rig.letTimePass(inStepsOf: 10) { shop.store.finished.count == 1 }
    #expect(!shop.rig.isSubscribed)
  }

  @Test("A product that no plan is mapped to counts under its own id; a mapping that is added later counts then")
  func mappings() throws {
    let directory = TemporaryDirectory()
    let first = try shop(Rig.Wishes(), storage: directory.path)
    first.store.tell(.updated(.verified(.sample("1"))), on: first.rig)
    first.rig.letTimePass(inStepsOf: 10) { first.store.finished.count == 1 }
    #expect(first.rig.hasAccess(Self.product))
    #expect(!first.rig.hasAccess(Rig.pro))
    #expect(first.rig.isSubscribed)
    first.rig.close()
    let second = try shop(storage: directory.path, after: first)
    second.rig.letTimePass(inStepsOf: 10) { second.rig.hasAccess(Rig.pro) }
    #expect(second.rig.hasAccess(Rig.pro))
  }

  // MARK: Restoring, intents, calls

  @Test("Restoring asks the store and the service, and says whether anything is active")
  func restoring() throws {
    let shop = try shop()
    #expect(try shop.rig.result(of: shop.client.restorePurchases())["restored"] == false)
    shop.store.change { $0.entitlements = [.verified(.sample("1"))] }
    #expect(try shop.rig.result(of: shop.client.restorePurchases())["restored"] == true)
    #expect(shop.rig.hasAccess(Rig.pro))
    shop.store.change { $0.isRestoreDismissed = true }
    #expect(try shop.rig.result(of: shop.client.restorePurchases())["outcome"]?.string == "cancelled")
  }

  @Test("What the user starts in the store is bought by itself, or told to the host")
  func intents() throws {
    let automatic = try shop { $0.outcome = bought(.sample("1")) }
    automatic.store.tell(.intent(StoreOrder(productID: Self.product)), on: automatic.rig)
    automatic.rig.letTimePass(inStepsOf: 10) { automatic.store.finished == ["1"] }
    #expect(automatic.rig.events().filter { $0["type"]?.string == "transaction_updated" }.count == 1)

    let manual = try shop(Self.wishes([("purchase_intents", "manual")])) { $0.outcome = bought(.sample("1")) }
    _ = manual.rig.events()
    manual.store.tell(.intent(StoreOrder(productID: Self.product, offer: .id("back"))), on: manual.rig)
    manual.rig.settle()
    let intent = try #require(manual.rig.events().first { $0["type"]?.string == "purchase_intent" })
    #expect(intent["plan_id"]?.string == Rig.monthly)
    let options = try #require(intent["options"])
    #expect(try manual.rig.result(of: manual.client.purchase(Rig.monthly, options))["outcome"]?.string == "purchased")
  }

  @Test("What the store wants to show is told to the host, or shown at once")
  func messages() throws {
    func told(_ shop: Shop, _ message: JSON) -> [JSON?] {
      _ = shop.rig.events()
      shop.store.tell(.message(message), on: shop.rig)
      shop.rig.settle()
      return shop.rig.events().filter { $0["type"]?.string == "store_message" }.map { $0["message"] }
    }
    let message: JSON = ["id": "m1", "reason": "price_increase_consent"]
    let manual = try shop()
    #expect(told(manual, message) == [message])
    #expect(!manual.store.calls.contains("display_message"))

    let automatic = try shop(Self.wishes([("store_messages", "automatic")]))
    #expect(told(automatic, message).isEmpty)
    #expect(automatic.store.calls.contains("display_message"))
    let nameless: JSON = ["reason": "generic"]
    #expect(told(automatic, nameless) == [nameless])
  }

  @Test("Store calls reach the store; unknown ones name the nearest; without a store there is the web")
  func calls() throws {
    let shop = try shop()
    #expect(try shop.rig.result(of: shop.client.storeCall("can_make_payments", [:]))["method"] == "can_make_payments")
    #expect(
      try shop.rig.result(of: shop.client.storeCall("storefront", [:]))["storefront"]?["country_code"]?.string == "DE")
    let error = try shop.rig.error(of: shop.client.storeCall("begin_refunds", [:]))
    #expect(error["message"]?.string == #"there is no store method "begin_refunds"; did you mean "begin_refund"?"#)
    let none = try Rig()
    #expect(try none.error(of: none.client.storeCall("messages", [:]))["code"]?.string == "unsupported")
    #expect(try none.error(of: none.client.storeCall("manage_subscriptions", [:]))["code"]?.string == "not_found")
    try none.buy()
    #expect(try none.result(of: none.client.storeCall("manage_subscriptions", [:]))["url"]?.string != nil)
  }

  @Test("Parameters are checked, of what the engine itself asks for too", arguments: ["storefront", "entitlements"])
  func parameters(method: String) throws {
    let shop = try shop()
    shop.rig.settle()
    let before = shop.store.calls.count
    let error = try shop.rig.error(of: shop.client.storeCall(method, ["bogus": 1]))
    #expect(error["code"] == "invalid_argument")
    #expect(error["message"]?.string == "params.bogus is not a known key")
    #expect(shop.store.calls.count == before)
    _ = try shop.rig.result(of: shop.client.storeCall(method, [:]))
  }

  @Test("Notifications: the foreground is understood, others go to the store, and refusals are said")
  func notifications() throws {
    let shop = try shop()
    shop.rig.settle()
    #expect(shop.client.notify(["type": "foreground"]))
    #expect(!shop.client.notify(["type": "storefront_changed"]))
    #expect(shop.rig.diagnostics() == ["notification_refused"])
    let none = try Rig()
    #expect(!none.client.notify(["type": "transaction_updated"]))
    // Before the configuration it is kept, up to a number.
    let early = try Rig(configure: false)
    for _ in 0..<Constants.earlyNotifications { #expect(early.client.notify(["type": "foreground"])) }
    #expect(early.diagnostics() == [])
    #expect(!early.client.notify(["type": "foreground"]))
    #expect(!early.client.notify(["type": "foreground"]))
    #expect(early.diagnostics() == ["notification_refused"])
  }
}
