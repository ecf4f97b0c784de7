import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import KassaReceipts
import Testing

@testable import KassaStores

@Suite("What the simulated App Store remembers")
struct StoreStateTests {
  @Test func aRestartKeepsEverything() async throws {
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      let first = try Counter(Goods.with { $0.hasBillingGracePeriod = true }, path: path)
      let half = try await first.buy("basic.monthly")
      try await first.buy("basic.monthly", offer: .id("half"))
      _ = try await first.store.purchase(StoreOrder(productID: "coins", simulatesAskToBuy: true))
      try first.act(["action": "set_policy", "policy": "cancel"])
      try first.act(["action": "set_storefront", "country": "GB"])
      try first.act(["action": "price_increase", "product_id": "basic.monthly", "price": "11"])
      try first.act(["action": "fail_billing"])
      try first.act(["action": "agree_to_price"])
      try await first.store.finish(half)
      try first.advance(days: 8)
      let second = try Counter(
        Goods.with { $0.hasBillingGracePeriod = true }, path: path, seed: 2, time: first.time)
      #expect(second.store.ledger == first.store.ledger)
      #expect(try second.store.eventLog() == first.store.eventLog())
      #expect(try await second.state() == "grace_period")
      #expect(try await second.unfinished() == first.unfinished())
      #expect(second.store.root.der == first.store.root.der)
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test func whoeverHearsOfATransactionFindsItOnDisk() async throws {
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      let shop = try Counter(path: path)
      let found = Locked<[Bool]>([])
      // What a process that is killed here would find at its next start.
      shop.store.listen { event in
        guard case .updated(.verified(let transaction)) = event else { return }
        let next = try? Counter(path: path, time: shop.time)
        let kept = next?.store.ledger.transactions[transaction.id]
        found.with { $0.append(kept?.isFinished == false && next?.registrations.contains(transaction) == true) }
      }
      try await shop.buy("basic.other")
      try await shop.buy("pro.monthly")
      try shop.advance(days: 70)
      try shop.act(["action": "buy_elsewhere", "product_id": "coins"])
      #expect(found.with { $0 } == [true, true, true, true])
    }
  }

  @Test func aPurchaseThatCannotBeWrittenIsNotMade() async throws {
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      let shop = try Counter(path: path)
      try await shop.buy("coins")
      let blocker = try Database(path: path)
      try blocker.run("BEGIN IMMEDIATE")
      let failed = await refusal { try await shop.buy("lifetime") }
      try blocker.run("ROLLBACK")
      #expect(failed == "storage")
      #expect(try await shop.unfinished().map(\.productID) == ["coins"])
      #expect(shop.registrations.count == 1)
      try await shop.buy("lifetime")
      #expect(try await shop.unfinished().map(\.productID) == ["coins", "lifetime"])
    }
  }

  @Test func signedTextIsKeptWithoutItsHeaderAndReadWithOneToo() async throws {
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      let proof = try await Counter(path: path).buy("coins").proof
      let database = try Database(path: path)
      let kept = try database.run("SELECT signed FROM transactions") { $0.text(0) }
      #expect(kept == [String(proof.drop { $0 != "." })])
      #expect(try await Counter(path: path).unfinished().map(\.proof) == [proof])
      // As an earlier version kept it.
      try database.run("UPDATE transactions SET signed = ?", [.text(proof)])
      #expect(try await Counter(path: path).unfinished().map(\.proof) == [proof])
    }
  }

  @Test func twoProcessesShareOneAccount() async throws {
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      let one = try Counter(path: path), two = try Counter(path: path, time: one.time)
      let bought = try await one.buy("basic.other")
      try two.store.refresh()
      #expect(two.takeUpdates() == [bought])
      #expect(try await two.buy("basic.other").id == bought.id)
      // Both notice that the month is over; it is renewed once, and both hear of it.
      one.time.advance(milliseconds: 32 * Counter.day)
      try two.store.refresh()
      try one.store.refresh()
      #expect(one.takeUpdates().map(\.isRenewal) == [true])
      #expect(two.takeUpdates().map(\.isRenewal) == [true])
      try await two.store.finish(bought)
      #expect(try await one.unfinished().count == 1)
      try two.act(["action": "set_storefront", "country": "KWT"])
      #expect(try await one.store.storefront()?.country == "KW")
      try two.act(["action": "clear"])
      #expect(try await one.unfinished() == [])
    }
  }

  @Test func aConfiguredStorefrontWinsUntilAnActionMovesTheAccount() async throws {
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      func open(_ country: String?) async throws -> (Counter, String?) {
        let shop = try Counter(path: path, country: country)
        return (shop, try await shop.store.storefront()?.country)
      }
      #expect(try await open("DE").1 == "DE")
      let (japan, country) = try await open("JP")
      #expect(country == "JP")
      #expect(try japan.store.eventLog().last?.contains("JPY") == true)
      #expect(try await japan.buy("coins").storefront == "JP")
      #expect(try await open(nil).1 == "JP")
      #expect(try await open("JP").1 == "JP")
      try await open("JP").0.act(["action": "set_storefront", "country": "GB"])
      #expect(try await open("JP").1 == "GB")
      #expect(try await open(nil).1 == "GB")
      #expect(try await open("JP").1 == "JP")
      // Another process hears of a move.
      let (other, _) = try await open("JP")
      _ = try await open("DE")
      try other.store.refresh()
      #expect(other.events == [.storefrontChanged(Storefront(country: "DE", currency: "EUR"))])
    }
  }

  @Test func aFileThatIsNoStoreIsRefused() async throws {
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      #expect(FileManager.default.createFile(atPath: path, contents: Data("no database, but long enough".utf8)))
      #expect(await refusal { _ = try Counter(path: path) } == "storage")
      let other = "\(folder)/other.db"
      _ = try Counter(path: other)
      let database = try Database(path: other)
      try database.run("UPDATE account SET value = '{\"now\":\"soon\"}' WHERE key = 'ledger'")
      #expect(await refusal { _ = try Counter(path: other) } == "storage")
    }
  }

  // MARK: The clock

  @Test func renewalsComeByThemselves() async throws {
    let loop = try EventLoop(mode: .library)
    defer { loop.stop() }
    let time = ManualTime(wallMilliseconds: Counter.start)
    let shop = loop.sync {
      Result { try Counter(time: time, start: { operation in loop.start(operation) }) }
    }
    let counter = try shop.get()
    _ = loop.sync { Result { try counter.act(["action": "buy_elsewhere", "product_id": "basic.other"]) } }
    _ = counter.takeUpdates()
    // The longest sleep is an hour, so that a clock that was set is noticed.
    for _ in 0..<31 * 24 + 2 where counter.events.isEmpty {
      while time.sleeperCount == 0 { await turn(loop) }
      time.advance(milliseconds: 3_600_000)
      await turn(loop)
    }
    #expect(counter.takeUpdates().map(\.isRenewal) == [true])
    loop.sync { counter.store.close() }
  }

  private func turn(_ loop: EventLoop) async { await Task(executorPreference: loop) {}.value }

  // MARK: Signatures

  @Test func signedTextIsApplesFormAndNobodyElseBelievesIt() async throws {
    let shop = try Counter()
    let bought = try await shop.buy("basic.monthly", token: "7e3fb20b-4cdb-47cc-936d-99d65f608138")
    let expectation = SignedDataExpectation(.transaction, bundleID: "com.example.app", environments: [.sandbox])
    let verifier = SignedDataVerifier(anchors: [shop.store.root], time: shop.time)
    let payload = try verifier.verify(bought.proof, expectation)
    let expected: [(String, JSON)] = [
      ("type", "Auto-Renewable Subscription"), ("inAppOwnershipType", "PURCHASED"), ("environment", "Sandbox"),
      ("transactionReason", "PURCHASE"), ("price", 0), ("currency", "USD"), ("storefront", "USA"),
      ("storefrontId", "143441"), ("offerType", 1), ("offerDiscountType", "FREE_TRIAL"), ("offerPeriod", "P1W"),
      ("subscriptionGroupIdentifier", "main"), ("isUpgraded", false), ("signedDate", JSON(Counter.start)),
    ]
    for (key, value) in expected { #expect(payload[key] == value, "\(key)") }
    #expect(payload["webOrderLineItemId"]?.string?.allSatisfy(\.isNumber) == true)
    let stranger = SignedDataVerifier(anchors: AppleRoots.anchors, time: shop.time)
    #expect(throws: Refusal.self) { try stranger.verify(bought.proof, expectation) }
    let production = SignedDataExpectation(.transaction, bundleID: "com.example.app")
    #expect(throws: Refusal.self) { try verifier.verify(bought.proof, production) }
    let app = try await shop.store.call(.appTransaction, .null)
    #expect(app["bundle_id"] == "com.example.app" && app["environment"] == "Sandbox")
    #expect(app["original_purchased_at"] == JSON(Counter.start))
  }
}
