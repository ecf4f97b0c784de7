import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// What waits for the service: whose it is, and that none of it gets in the way of another.
@Suite struct OutboxQueueTests {
  @Test("S014 A sweep and the store's own word see one transaction at once: one receipt, one event")
  func sweepAndListener() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1001")
    booth.store.change { $0.unfinished = [.verified(transaction)] }
    _ = booth.client.notify(["type": "foreground"])
    booth.store.tell(.updated(.verified(transaction)), on: booth.rig)
    booth.waitUntil { !booth.store.finished.isEmpty }
    booth.rig.advance(milliseconds: 20_000)
    let updates = booth.rig.events().filter { $0["type"]?.string == "transaction_updated" }
    #expect(updates.map { $0["synced"]?.bool } == [true])
    #expect(try booth.accepted()["1001"]?.deliveries == 1)
    #expect(booth.store.finished == ["1001"])
  }

  @Test("S014 The receipt on which the key was refused is the first that is sent when the key is good again")
  func refusedKey() throws {
    let booth = try Booth()
    try ["2001", "2002"].forEach { _ = try booth.sold($0, Booth.coins, kind: .consumable) }
    try booth.rig.simulate(["action": "revoke_key", "key": "vh_pk_sandbox"])
    for id in ["2001", "2002"] { try booth.rig.result(of: booth.client.report(transaction: JSON(id))) }
    booth.rig.advance(milliseconds: 5_000)
    #expect(booth.pendingCount == 2)
    try booth.rig.simulate(["action": "restore_key", "key": "vh_pk_sandbox"])
    booth.rig.network.forget()
    booth.rig.advance(milliseconds: 61_000)
    _ = booth.client.notify(["type": "foreground"])
    booth.waitUntil { booth.pendingCount == 0 }
    #expect(booth.sent().map { $0.split(separator: " ").last } == ["2001", "2002"])
    #expect(try Set(booth.accepted().keys) == ["2001", "2002"])
  }

  @Test("S078 Of a thousand unfinished transactions each is sent once, one at a time, and the person now and then")
  func crowd() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path)
    let crowd = try (1...1_000).map { try before.sold("\($0)", Booth.coins, kind: .consumable) }
    before.rig.close()
    before.store.change { $0.unfinished = crowd.map { .verified($0) } }
    before.rig.network.forget()
    let after = try Booth(storage: directory.path, after: before)
    // Slowly: what is told of 10 s late counts as not synced, and a busy machine is given time.
    for _ in 0..<8 { after.rig.letTimePass(inStepsOf: 1) { after.store.finished.count == 1_000 } }
    #expect(after.store.finished == crowd.map(\.id))
    #expect(try after.accepted().values.allSatisfy { $0.deliveries == 1 })
    let asked = after.rig.network.requests.filter { $0.url.hasSuffix("/person") }
    #expect(asked.count < 50)
    after.rig.advance(milliseconds: 10)
    let updates = after.rig.events().filter { $0["type"]?.string == "transaction_updated" }
    #expect(updates.allSatisfy { $0["synced"]?.bool == true })
  }

  @Test(
    "An order of Google's is one receipt, whether the host's report or the store tells of it first",
    arguments: [true, false])
  func order(reportIsFirst: Bool) throws {
    let storage = try ClientStorage(path: ":memory:")
    let owner = DistinctID("alice")
    var transaction = StoreTransaction.sample("GPA.1", product: "coins_100", kind: .consumable, until: nil)
    (transaction.platform, transaction.proof) = (.google, "token")
    let captured = OutgoingReceipt(
      platform: .google, transactionID: "GPA.1", originalID: "GPA.1", storeProductID: "coins_100",
      purchaseToken: "token", owner: owner)
    let reported = OutgoingReceipt(
      platform: .google, transactionID: "GPA.1", purchaseToken: "token", owner: owner, isHostOwned: true)
    if reportIsFirst {
      try storage.add(reported, nil, scope: "s")
      try storage.add(captured, transaction, scope: "s")
    } else {
      try storage.add(captured, transaction, scope: "s")
      try storage.add(reported, nil, scope: "s")
    }
    let rows = try storage.waitingReceipts(limit: 10, scope: "s")
    #expect(rows.map(\.receipt.isHostOwned) == [true])
    #expect(try storage.receiptRow(of: transaction, scope: "s")?.id == rows.first?.id)
    // Another order, whose id begins alike, is another receipt.
    let other = OutgoingReceipt(platform: .google, transactionID: "GPA.12", purchaseToken: "other", owner: owner)
    try storage.add(other, nil, scope: "s")
    #expect(try storage.waitingReceipts(limit: 10, scope: "s").count == 2)
  }
}
