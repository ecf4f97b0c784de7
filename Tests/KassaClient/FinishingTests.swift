import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// The store hears of each version of a transaction that it was delivered: once the service has it, and not before.
@Suite struct FinishingTests {
  enum Change: String, CaseIterable { case refunded, upgraded }

  private func changed(_ transaction: StoreTransaction, _ change: Change, in booth: Booth) throws -> StoreTransaction {
    var new = transaction
    switch change {
    case .refunded: new.revocation = .init(at: booth.rig.time.wallMilliseconds)
    case .upgraded: new.isUpgraded = true
    }
    new.signedAt = booth.rig.time.wallMilliseconds + 1
    try booth.rig.network.register(new)
    booth.store.change { [new] in $0.unfinished = [.verified(new)] }
    return new
  }

  @Test("S123 What was refunded or upgraded is finished again, after the service has it", arguments: Change.allCases)
  func again(_ change: Change) throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    try booth.buy("pro_monthly", transaction)
    booth.waitUntil { booth.store.finished == ["1"] }
    let new = try changed(transaction, change, in: booth)
    booth.rig.network.hold { $0.url.hasSuffix(Booth.sync) }
    booth.store.tell(.updated(.verified(new)), on: booth.rig)
    booth.waitUntil { booth.sent().count == 2 }
    booth.rig.advance(milliseconds: 1_000)
    #expect(booth.store.finished == ["1"])
    booth.rig.network.hold(nil)
    booth.waitUntil { booth.store.finished.count == 2 }
    #expect(booth.store.finished == ["1", "1"])
    // And that is all.
    booth.rig.advance(milliseconds: 61_000)
    #expect(booth.client.notify(["type": "foreground"]))
    booth.rig.advance(milliseconds: 1_000)
    #expect(booth.store.finished.count == 2)
    #expect(booth.sent().count == 2)
  }

  @Test("A refund of what the host reported is never finished here", arguments: [false, true])
  func hostOwned(isSigned: Bool) throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    booth.store.change { $0.signed["a.b.c"] = .verified(transaction) }
    try booth.rig.result(of: booth.client.report(transaction: isSigned ? "a.b.c" : "1"))
    booth.waitUntil { booth.pendingCount == 0 }
    booth.store.tell(.updated(.verified(try changed(transaction, .refunded, in: booth))), on: booth.rig)
    booth.waitUntil { booth.sent().count == 2 && booth.pendingCount == 0 }
    booth.rig.advance(milliseconds: 1_000)
    #expect(booth.sent().count == 2)
    #expect(booth.store.finished.isEmpty)
  }

  @Test("A refund that is accepted while the store is still being told of the charge is told, too")
  func underWay() throws {
    let booth = try Booth { $0.finishHangs = true }
    let transaction = try booth.sold("1")
    try booth.buy("pro_monthly", transaction)
    booth.store.tell(.updated(.verified(try changed(transaction, .refunded, in: booth))), on: booth.rig)
    booth.waitUntil { booth.sent().count == 2 && booth.pendingCount == 0 }
    booth.rig.advance(milliseconds: 1_000)
    booth.store.change { $0.finishHangs = false }
    booth.waitUntil { booth.store.finished.count == 2 }
    #expect(booth.store.finished == ["1", "1"])
  }

  @Test("Where plans are sold, too")
  func underWayOfPlan() throws {
    let time = ManualTime(wallMilliseconds: Rig.start)
    let store = ScriptedStore(time: time)
    store.change { $0.finishHangs = true }
    let rig = try Rig(
      Rig.Wishes(mappings: [(Rig.monthly, "com.app.monthly")]), time: time, network: Network(time: time, store: store))
    store.tell(.updated(.verified(.sample("1"))), on: rig)
    rig.letTimePass(inStepsOf: 10) { rig.isSubscribed }
    var refunded = StoreTransaction.sample("1")
    (refunded.revocation, refunded.signedAt) = (StoreTransaction.Revocation(at: Rig.start), Rig.start + 1)
    store.tell(.updated(.verified(refunded)), on: rig)
    rig.letTimePass(inStepsOf: 10) { !rig.isSubscribed }
    store.change { $0.finishHangs = false }
    rig.letTimePass(inStepsOf: 100) { store.finished.count == 2 }
    #expect(store.finished == ["1", "1"])
  }
}
