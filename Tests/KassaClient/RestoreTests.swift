import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// What a restore sends besides what the store lists, and when it has its answer.
@Suite struct RestoreTests {
  /// What it gives, and how long it takes by the device's clock.
  private func timed<Value>(
    in booth: Booth, _ body: () throws -> Value
  ) rethrows -> (value: Value, milliseconds: Int64) {
    let start = booth.rig.time.bootNanoseconds
    let value = try body()
    return (value, (booth.rig.time.bootNanoseconds - start) / 1_000_000)
  }

  // MARK: What has ended

  @Test("The latest transaction of a subscription that has ended is sent again, and not finished again")
  func ended() throws {
    let booth = try Booth()
    try booth.buy("pro_monthly", booth.sold("1"))
    booth.rig.advance(days: 30)
    try booth.buy("pro_monthly", booth.sold("2") { $0.originalID = "1" })
    booth.waitUntil { booth.store.finished.count == 2 }
    booth.rig.advance(days: 31)
    booth.rig.network.forget()
    #expect(try booth.rig.result(of: booth.client.restorePurchases())["outcome"]?.string == "completed")
    #expect(booth.sent().map { $0.split(separator: " ").last } == ["2"])
    booth.rig.advance(milliseconds: 1_000)
    #expect(booth.store.finished == ["1", "2"])
  }

  @Test("What the store lists takes the place of what is remembered of the same series")
  func listed() throws {
    let booth = try Booth()
    try booth.buy("pro_monthly", booth.sold("1"))
    let renewal = try booth.sold("2") { $0.originalID = "1" }
    booth.store.change { $0.entitlements = [.verified(renewal)] }
    booth.rig.network.forget()
    try booth.rig.result(of: booth.client.restorePurchases())
    #expect(booth.sent().map { $0.split(separator: " ").last } == ["2"])
  }

  @Test("No consumable, nothing refunded, and nothing of somebody else's whom this account may not belong to")
  func leftOut() throws {
    let booth = try Booth()
    _ = try booth.logIn("ada")
    try booth.buy("pro_monthly", booth.sold("1"))
    _ = try booth.logIn("bob")
    try booth.buy("coins_100", booth.sold("2", Booth.coins, kind: .consumable))
    let lifetime = try booth.sold("3", Booth.lifetime, kind: .nonConsumable)
    try booth.buy("pro_lifetime", lifetime)
    var refunded = lifetime
    refunded.revocation = .init(at: booth.rig.time.wallMilliseconds)
    refunded.signedAt = booth.rig.time.wallMilliseconds + 1
    try booth.rig.network.register(refunded)
    booth.store.tell(.updated(.verified(refunded)), on: booth.rig)
    booth.waitUntil { booth.sent().count == 4 && booth.pendingCount == 0 }
    booth.rig.network.forget()
    try booth.rig.result(of: booth.client.restorePurchases())
    #expect(booth.sent().isEmpty)
    // It is ada's to restore.
    _ = try booth.logIn("ada")
    try booth.rig.result(of: booth.client.restorePurchases())
    #expect(booth.sent() == ["ada 1"])
  }

  @Test("What the host reported is restored, too, and stays the host's to finish")
  func hostOwned() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    booth.store.change { $0.signed["a.b.c"] = .verified(transaction) }
    try booth.rig.result(of: booth.client.report(transaction: "a.b.c"))
    booth.waitUntil { booth.pendingCount == 0 }
    try booth.rig.result(of: booth.client.restorePurchases())
    booth.rig.advance(milliseconds: 1_000)
    #expect(booth.sent().count == 2)
    #expect(booth.store.finished.isEmpty)
  }

  // MARK: The answer

  @Test("A restore whose receipts all arrived gives the known person, marked stale, where nobody can be asked for them")
  func stalePerson() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    try booth.buy("pro_lifetime", transaction)
    booth.waitUntil { booth.rig.hasPerk("premium") }
    booth.rig.advance(milliseconds: 20_000)
    booth.store.change { $0.entitlements = [.verified(transaction)] }
    #expect(booth.client.person["stale"]?.bool == false)
    booth.rig.network.rewrite { request, response in
      request.url.hasSuffix("/person") ? HTTPResponse(status: 503, body: []) : response
    }
    let result = try booth.rig.result(of: booth.client.restorePurchases())
    #expect(result["outcome"]?.string == "completed")
    #expect(result["restored"]?.bool == true)
    #expect(result["person"]?["stale"]?.bool == true)
    #expect(result["person"]?["distinct_id"]?.string == booth.distinctID)
    #expect(booth.sent().count == 2)
  }

  @Test("A refusal for good ends the wait of a purchase, of a restore and of a look at the store at once")
  func refusal() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    try booth.receiptsMeet(status: 422, times: 2)
    let purchase = try timed(in: booth) { try booth.buy("pro_monthly", transaction) }
    #expect(purchase.value["synced"]?.bool == false)
    #expect(purchase.milliseconds < 5_000)
    booth.store.change { $0.entitlements = [.verified(transaction)] }
    let look = try timed(in: booth) { try booth.rig.result(of: booth.client.syncPurchases()) }
    #expect(look.value["synced"]?.bool == false)
    #expect(look.milliseconds < 5_000)
    let restore = try timed(in: booth) { try booth.rig.error(of: booth.client.restorePurchases()) }
    #expect(restore.value["code"]?.string == "reconcile_transactions_failed")
    #expect(restore.milliseconds < 5_000)
    #expect(booth.sent().count == 2)
    #expect(booth.pendingCount == 1)
  }
}
