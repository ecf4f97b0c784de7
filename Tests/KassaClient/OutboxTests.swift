import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// The outbox: nothing that was charged is lost, sent as somebody else's, or finished before the service has it.
@Suite struct OutboxTests {
  // MARK: Refusals and outages

  @Test(
    "S002 No status but an acceptance lets a consumable's receipt go",
    arguments: [400, 404, 409, 422, 408, 429, 500, 503])
  func statuses(status: Int) throws {
    let booth = try Booth()
    try booth.receiptsMeet(status: status)
    let result = try booth.buy("coins_100", booth.sold("1", Booth.coins, kind: .consumable))
    #expect(result["outcome"]?.string == "purchased")
    let isRefusal = (400..<500).contains(status) && status != 408 && status != 429
    if isRefusal {
      #expect(result["synced"]?.bool == false)
      #expect(booth.pendingCount == 1)
      #expect(booth.store.finished.isEmpty)
      #expect(booth.rig.diagnostics().contains("transaction_rejected"))
      // Offered again after six hours, and not before.
      booth.rig.advance(milliseconds: 6 * 3_600_000 - 60_000)
      #expect(booth.pendingCount == 1)
      booth.rig.advance(milliseconds: 61_000)
    } else {
      #expect(booth.rig.diagnostics().contains("transaction_sync_deferred"))
    }
    booth.waitUntil { booth.pendingCount == 0 && booth.store.finished == ["1"] }
    #expect(booth.store.finished == ["1"])
    #expect(try booth.accepted()["1"]?.deliveries == 1)
  }

  @Test("S003 S105 What is not the service's answer takes nothing out of the outbox", arguments: [200, 302, 403, 511])
  func strangers(status: Int) throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.coins, kind: .consumable)
    let html = Array("<html>Please sign in</html>".utf8)
    booth.rig.network.rewrite { request, response in
      request.url.hasSuffix(Booth.sync)
        ? HTTPResponse(status: status, headers: [HTTPHeader("Content-Type", "text/html")], body: html) : response
    }
    let result = try booth.buy("coins_100", transaction)
    #expect(result["synced"]?.bool == false)
    #expect(booth.pendingCount == 1)
    #expect(booth.store.finished.isEmpty)
    let deferred = booth.rig.events().filter { $0["code"]?.string == "transaction_sync_deferred" }
    #expect(deferred.first?["details"]?["code"]?.string == "not_service_answer")
    booth.rig.network.rewrite(nil)
    booth.waitUntil { booth.pendingCount == 0 }
    #expect(booth.pendingCount == 0)
  }

  @Test("S014 A refused key pauses everything and loses nothing; a probe a minute later finds it good again")
  func revokedKey() throws {
    let booth = try Booth()
    try booth.rig.simulate(["action": "revoke_key", "key": "vh_pk_sandbox"])
    #expect(try booth.buy("pro_monthly", booth.sold("1"))["synced"]?.bool == false)
    #expect(booth.rig.diagnostics().filter { $0 == "authentication_failed" }.count == 1)
    let sent = booth.sent().count
    booth.rig.advance(days: 1)
    #expect(booth.sent().count == sent)
    #expect(booth.pendingCount == 1)
    try booth.rig.simulate(["action": "restore_key", "key": "vh_pk_sandbox"])
    #expect(booth.client.notify(["type": "foreground"]))
    booth.waitUntil { booth.pendingCount == 0 }
    #expect(booth.pendingCount == 0)
    #expect(booth.rig.diagnostics().contains("authentication_recovered"))
    #expect(try booth.accepted()["1"]?.deliveries == 1)
  }

  @Test("S102 Each failure doubles the wait, up to 30 s")
  func backOff() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    booth.rig.network.set(.offline)
    #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    var waits: [Int64] = [], attempts: Int64 = 0
    booth.rig.letTimePass(inStepsOf: 500) {
      let waiting = booth.client.pending?["transactions"]?.elements.first
      guard let count = waiting?["attempts"]?.integer, let next = waiting?["next_try_at"]?.integer else { return true }
      if count > attempts {
        waits.append(next - booth.rig.time.wallMilliseconds)
        attempts = count
      }
      return attempts >= 5
    }
    // The first tries are over when the purchase returns; the breaker, which opens after the fifth, waits longer.
    let bases: [Int64] = [1_000, 2_000, 4_000, 8_000, 16_000]
    let seen = Array(zip(waits.suffix(2), bases.suffix(2)))
    #expect(seen.count == 2)
    for (wait, base) in seen { #expect((base - 1_000...base * 5 / 4).contains(wait)) }
  }

  @Test("S101 Retry-After holds every receipt, over a restart too, but not a restore", arguments: ["seconds", "date"])
  func retryAfter(form: String) throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    try booth.rig.simulate([
      "action": "fault", "kind": "rate_limited", "retry_after": 600, "retry_form": JSON(form),
      "route": JSON(Booth.sync),
    ])
    let (first, second) = (try booth.sold("1"), try booth.sold("2", Booth.coins, kind: .consumable))
    #expect(try booth.buy("pro_monthly", first)["synced"]?.bool == false)
    #expect(try booth.buy("coins_100", second)["synced"]?.bool == false)
    #expect(booth.sent().count == 1)
    try booth.rig.result(of: booth.client.syncPendingWork())
    #expect(booth.sent().count == 1)
    booth.store.change { $0.entitlements = [.verified(first)] }
    let restored = try booth.rig.result(of: booth.client.restorePurchases())
    #expect(restored["outcome"]?.string == "completed")
    #expect(booth.sent().count == 2)
    #expect(booth.pendingCount == 1)
    booth.rig.close()
    let again = try Booth(storage: directory.path, after: booth)
    again.rig.advance(milliseconds: 300_000)
    #expect(again.pendingCount == 1)
    again.rig.advance(milliseconds: 310_000)
    again.waitUntil { again.pendingCount == 0 }
    #expect(try again.accepted()["2"]?.deliveries == 1)
  }

  @Test("What was refused for good is offered again at the next start, and by a restore")
  func refused() throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    let transaction = try booth.sold("1")
    try booth.receiptsMeet(status: 422, times: 2)
    #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    try booth.rig.result(of: booth.client.syncPendingWork())
    #expect(booth.sent().count == 1)
    booth.rig.close()
    let again = try Booth(storage: directory.path, after: booth)
    again.waitUntil { again.sent().count == 2 }
    #expect(again.pendingCount == 1)
    again.store.change { $0.entitlements = [.verified(transaction)] }
    try again.rig.result(of: again.client.restorePurchases())
    #expect(again.pendingCount == 0)
    #expect(again.sent().count == 3)
  }

  @Test("S010 An answer that was lost is asked for again, and counts once")
  func lostAnswer() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    try booth.rig.simulate([
      "action": "fault", "kind": "reset", "executes": true, "route": JSON(Booth.sync),
    ])
    let result = try booth.buy("pro_monthly", transaction)
    #expect(result["synced"]?.bool == true)
    #expect(booth.sent().count == 2)
    booth.waitUntil { !booth.store.finished.isEmpty }
    #expect(booth.store.finished == ["1"])
    #expect(booth.pendingCount == 0)
  }

  // MARK: Delivery

  @Test("S007 S009 S011 From the call, an update and a scan: one report, one word of it, one end")
  func once() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    booth.store.change {
      $0.isSheetOpen = true
      $0.unfinished = [.verified(transaction)]
      $0.outcome = .success(.purchased(.verified(transaction)))
    }
    let operation = booth.client.purchase("pro_monthly", [:])
    booth.waitUntil { booth.store.calls.contains { $0.hasPrefix("purchase ") } }
    for _ in 0..<3 { booth.store.tell(.updated(.verified(transaction)), on: booth.rig) }
    booth.store.change { $0.isSheetOpen = false }
    #expect(try booth.rig.result(of: operation)["synced"]?.bool == true)
    #expect(booth.client.notify(["type": "foreground"]))
    booth.rig.advance(milliseconds: 20_000)
    booth.store.tell(.updated(.verified(transaction)), on: booth.rig)
    booth.rig.advance(milliseconds: 20_000)
    #expect(booth.updates().isEmpty)
    #expect(booth.sent().count == 1)
    #expect(booth.store.finished == ["1"])
  }

  @Test("S058 A renewal by itself is told once it was handled, with what the service said")
  func updates() throws {
    let booth = try Booth()
    let (first, second) = (try booth.sold("1"), try booth.sold("2"))
    booth.store.tell(.updated(.verified(first)), on: booth.rig)
    var told: [JSON] = []
    booth.waitUntil {
      told += booth.updates()
      return !told.isEmpty
    }
    #expect(told.first?["synced"]?.bool == true)
    #expect(told.first?["transaction"]?["product_slug"]?.string == "pro_monthly")
    booth.rig.network.set(.offline)
    booth.store.tell(.updated(.verified(second)), on: booth.rig)
    told = []
    booth.waitUntil {
      told += booth.updates()
      return !told.isEmpty
    }
    #expect(told.first?["synced"]?.bool == false)
    booth.rig.network.set(.fine)
    booth.waitLonger { booth.pendingCount == 0 }
    booth.rig.advance(milliseconds: 1_000)
    // No second word of it in this session: the person changes.
    #expect(booth.updates().isEmpty)
    #expect(Set(booth.store.finished) == ["1", "2"])
  }

  @Test("S123 A refund under the same id reaches the service, ends the perk, and is no update")
  func refund() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    try booth.buy("pro_lifetime", transaction)
    booth.waitUntil { booth.rig.hasPerk("premium") }
    _ = booth.rig.events()
    var refunded = transaction
    refunded.revocation = .init(at: booth.rig.time.wallMilliseconds)
    refunded.signedAt = booth.rig.time.wallMilliseconds
    try booth.rig.network.register(refunded)
    booth.store.tell(.updated(.verified(refunded)), on: booth.rig)
    booth.waitUntil { !booth.rig.hasPerk("premium") }
    #expect(!booth.rig.hasPerk("premium"))
    #expect(booth.sent().count == 2)
    let events = booth.rig.events()
    #expect(!events.contains { $0["type"]?.string == "transaction_updated" })
    #expect(events.contains { $0["what"]?.string == "person" })
  }

  @Test("S006 A list of products leaves an unfinished consumable alone")
  func listing() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.coins, kind: .consumable)
    booth.rig.network.rewrite { request, response in
      request.url.hasSuffix(Booth.sync) ? HTTPResponse(status: 500, body: []) : response
    }
    booth.store.change { $0.unfinished = [.verified(transaction)] }
    #expect(try booth.buy("coins_100", transaction)["synced"]?.bool == false)
    #expect(try booth.rig.result(of: booth.client.products(nil))["products"]?.elements.count == 3)
    #expect(booth.store.finished.isEmpty)
  }

  @Test("S015 What the store says was bought before ends as bought")
  func boughtBefore() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    #expect(try booth.buy("pro_lifetime", transaction)["synced"]?.bool == true)
    let again = try booth.buy("pro_lifetime", transaction)
    #expect(again["outcome"]?.string == "purchased")
    #expect(again["synced"]?.bool == true)
    #expect(again["receipt_id"]?.string == "1")
    #expect(booth.sent().count == 1)
  }

  @Test("S115 What Xcode sold is not sent, not finished, and said once")
  func testing() throws {
    let booth = try Booth()
    for id in ["1", "2"] {
      let transaction = try booth.sold(id) { $0.environment = .xcode }
      #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    }
    #expect(booth.rig.diagnostics().filter { $0 == "storekit_testing_transaction_skipped" }.count == 1)
    #expect(booth.sent().isEmpty)
    #expect(booth.store.finished.isEmpty)
    #expect(booth.pendingCount == 0)
  }

  // MARK: The disk

  @Test("S071 Where nothing can be written, nothing is charged")
  func fullDisk() throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    let database = try Database(path: directory.path + "/kassa.db")
    try database.script("DROP TABLE account_tokens")
    booth.store.change { $0.outcome = .success(.cancelled) }
    let error = try booth.rig.error(of: booth.client.purchase("pro_monthly", [:]))
    #expect(error["code"]?.string == "storage")
    #expect(!booth.store.calls.contains { $0.hasPrefix("purchase ") })
  }

  @Test("A queue that cannot be read is not an empty one: nothing is lost, and reading is tried again")
  func unreadable() throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    let transaction = try booth.sold("1")
    booth.rig.network.set(.offline)
    #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    let database = try Database(path: directory.path + "/kassa.db")
    try database.script("ALTER TABLE outgoing_receipts RENAME TO elsewhere")
    booth.rig.network.set(.fine)
    _ = try booth.rig.error(of: booth.client.syncPendingWork())
    #expect(booth.client.pending == nil)
    #expect(booth.rig.diagnostics().contains("queue_read_failed"))
    try database.script("ALTER TABLE elsewhere RENAME TO outgoing_receipts")
    booth.rig.advance(milliseconds: 120_000)
    booth.waitUntil { booth.pendingCount == 0 }
    #expect(booth.pendingCount == 0)
    #expect(try booth.accepted()["1"]?.deliveries == 1)
  }

  @Test("S017 What waits is told from the disk, before a configuration is confirmed, and before there is one")
  func pendingEarly() throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    let transaction = try booth.sold("1")
    booth.rig.network.set(.offline)
    #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    booth.rig.close()
    let options = try ClientOptions(["app_id": "test", "storage": JSON(directory.path)])
    let client = try Client(options, assembly: booth.rig.network.assembly, time: booth.rig.time)
    #expect(client.pending?["pending_transaction_count"]?.integer == 1)
    _ = client.configure(booth.rig.configuration)
    let waiting = client.pending?["transactions"]?.elements.first
    #expect(waiting?["transaction_id"]?.string == "1")
    #expect(waiting?["product_slug"]?.string == "pro_monthly")
    client.close()
  }
}
