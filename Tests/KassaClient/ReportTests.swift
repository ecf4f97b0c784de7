import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// Restoring, reporting what another billing code sold, and observing.
@Suite struct ReportTests {
  // MARK: Restoring

  @Test("A restore sends everything again, but no consumable, and gives the refreshed person")
  func restore() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    try booth.buy("pro_lifetime", transaction)
    booth.store.change { $0.entitlements = [.verified(transaction)] }
    let result = try booth.rig.result(of: booth.client.restorePurchases())
    #expect(result["outcome"]?.string == "completed")
    #expect(result["restored"]?.bool == true)
    #expect(result["person"]?["grants"]?.elements.first?["perk"]?.string == "premium")
    #expect(booth.sent().count == 2)
    booth.rig.advance(milliseconds: 1_000)
    #expect(booth.store.finished == ["1"])
    booth.store.change { $0.isRestoreDismissed = true }
    #expect(try booth.rig.result(of: booth.client.restorePurchases())["outcome"]?.string == "cancelled")
  }

  @Test("A restore whose receipts do not arrive in 20 s fails, and keeps them")
  func restoreOffline() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    booth.store.change { $0.entitlements = [.verified(transaction)] }
    booth.rig.network.set(.offline)
    let started = booth.rig.time.bootNanoseconds
    let error = try booth.rig.error(of: booth.client.restorePurchases())
    #expect(error["code"]?.string == "reconcile_transactions_failed")
    #expect((20_000...23_000).contains((booth.rig.time.bootNanoseconds - started) / 1_000_000))
    #expect(booth.pendingCount == 1)
    booth.rig.network.set(.fine)
    booth.waitLonger { booth.rig.hasPerk("premium") }
    #expect(booth.rig.hasPerk("premium"))
    #expect(booth.pendingCount == 0)
  }

  @Test("S082 Only a restore moves a purchase: the older capture first, then the one for who restores")
  func restoreForAnother() throws {
    let booth = try Booth()
    _ = try booth.logIn("ada")
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    booth.rig.network.rewrite { request, response in
      request.url.hasSuffix(Booth.sync) ? HTTPResponse(status: 503, body: []) : response
    }
    #expect(try booth.buy("pro_lifetime", transaction)["synced"]?.bool == false)
    _ = try booth.logIn("bob")
    booth.store.change { $0.entitlements = [.verified(transaction)] }
    booth.rig.network.forget()
    let operation = booth.client.restorePurchases()
    booth.rig.advance(milliseconds: 100)
    booth.rig.network.rewrite(nil)
    #expect(try booth.rig.result(of: operation)["outcome"]?.string == "completed")
    let good = booth.sent().suffix(2)
    #expect(Array(good) == ["ada 1", "bob 1"])
    #expect(booth.rig.hasPerk("premium"))
  }

  // MARK: Reports

  @Test("A report is on disk at once, sent in the background, and never finished, over a restart too")
  func report() throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    let transaction = try booth.sold("18446744073709551615")
    booth.rig.network.set(.offline)
    let operation = booth.client.report(transaction: "18446744073709551615")
    #expect(booth.pendingCount == 1)
    #expect(try booth.rig.result(of: operation)["transaction_id"]?.string == "18446744073709551615")
    booth.rig.close()
    booth.store.change { $0.unfinished = [.verified(transaction)] }
    booth.rig.network.set(.fine)
    let again = try Booth(storage: directory.path, after: booth)
    again.waitUntil { again.pendingCount == 0 }
    again.store.tell(.updated(.verified(transaction)), on: again.rig)
    again.rig.advance(milliseconds: 120_000)
    #expect(again.client.notify(["type": "foreground"]))
    again.rig.advance(milliseconds: 1_000)
    #expect(again.store.finished.isEmpty)
    #expect(try again.accepted()["18446744073709551615"]?.deliveries == 1)
  }

  @Test(
    "Bad reports say what is wrong",
    arguments: [
      ("", "invalid_transaction"), (" \n", "invalid_transaction"), (["id": ""], "invalid_transaction"),
      ([:], "invalid_transaction"), (["id": 12], "invalid_argument"), (["id": ["a"]], "invalid_argument"),
      (["id": "1", "is_restor": true], "invalid_argument"),
      ("a.b.c", "storekit_transaction_unverified"), (["jws": "a.b.c"], "storekit_transaction_unverified"),
    ] as [(JSON, String)])
  func badReports(document: JSON, code: String) throws {
    let booth = try Booth()
    let error = try booth.rig.error(of: booth.client.report(transaction: document))
    #expect(error["code"]?.string == code)
    #expect(booth.pendingCount == 0)
  }

  @Test("A signed text is verified; a report as a restore is one for the current user")
  func signedReport() throws {
    let booth = try Booth()
    _ = try booth.logIn("ada")
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    try booth.buy("pro_lifetime", transaction)
    booth.store.change { $0.signed["a.b.c"] = .verified(transaction) }
    _ = try booth.logIn("bob")
    #expect(!booth.rig.hasPerk("premium"))
    let result = try booth.rig.result(of: booth.client.report(transaction: ["jws": "a.b.c", "is_restore": true]))
    #expect(result["transaction_id"]?.string == "1")
    booth.waitUntil { booth.rig.hasPerk("premium") }
    #expect(booth.rig.hasPerk("premium"))
    #expect(booth.sent().last == "bob 1")
  }

  // MARK: Observing

  @Test("Observing: nothing is bought or finished here, and everything is reported")
  func observer() throws {
    let booth = try Booth(others: [("observer_mode", true)])
    let refused = try booth.rig.error(of: booth.client.purchase("pro_monthly", [:]))
    #expect(refused["code"]?.string == "read_only_purchase_not_allowed")
    let transaction = try booth.sold("1")
    booth.store.tell(.updated(.verified(transaction)), on: booth.rig)
    booth.waitUntil { (try? booth.accepted()["1"]) != nil && booth.pendingCount == 0 }
    #expect(try booth.accepted()["1"]?.deliveries == 1)
    booth.store.tell(.intent(StoreOrder(productID: Booth.monthly)), on: booth.rig)
    booth.rig.advance(milliseconds: 1_000)
    #expect(booth.store.finished.isEmpty)
    let intent = booth.rig.events().first { $0["type"]?.string == "purchase_intent" }
    #expect(intent?["product_slug"]?.string == "pro_monthly")
    let header = booth.rig.network.requests.last?.headers.first { $0.name == "x-observer-mode" }?.value
    #expect(header == "true")
  }

  @Test("Synchronising purchases reports what the store lists, and not what the service has")
  func syncPurchases() throws {
    let booth = try Booth(others: [("observer_mode", true)])
    let (first, second) = (try booth.sold("1"), try booth.sold("2", Booth.coins, kind: .consumable))
    booth.store.change {
      $0.entitlements = [.verified(first)]
      $0.unfinished = [.verified(second)]
    }
    let result = try booth.rig.result(of: booth.client.syncPurchases())
    #expect(result["synced"]?.bool == true)
    #expect(result["person"]?["grants"]?.elements.isEmpty == false)
    #expect(booth.sent().count == 2)
    try booth.rig.result(of: booth.client.syncPurchases())
    #expect(booth.sent().count == 2)
    #expect(booth.store.finished.isEmpty)
  }

  @Test("What only the other kind of back end has is unsupported")
  func unsupported() throws {
    let booth = try Booth()
    #expect(try booth.rig.error(of: booth.client.refreshPlans())["code"]?.string == "unsupported")
    let shop = try Rig()
    for operation in [
      shop.client.products(nil), shop.client.setAttributes(["a": 1], [:]), shop.client.report(transaction: "1"),
      shop.client.syncPurchases(),
    ] {
      #expect(try shop.error(of: operation)["code"]?.string == "unsupported")
    }
    #expect(!shop.hasPerk("premium"))
    #expect(shop.client.person.isNull)
  }
}
