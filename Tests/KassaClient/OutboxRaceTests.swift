import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// What happens while something else is under way: sheets, logins, refunds, restores, a disk that is full.
@Suite struct OutboxRaceTests {
  // MARK: Owners

  @Test("S086 What comes while somebody else's sheet is open is whose token it carries")
  func foreignSheet() throws {
    let booth = try Booth { $0.outcome = .success(.pending) }
    _ = try booth.logIn("ada")
    try booth.rig.result(of: booth.client.purchase("pro_lifetime", [:]))
    let token = try #require(booth.store.tokens.last)
    _ = try booth.logIn("bob")
    booth.store.change {
      $0.isSheetOpen = true
      $0.outcome = .success(.cancelled)
    }
    let open = booth.client.purchase("coins_100", [:])
    booth.waitUntil { booth.store.calls.filter { $0.hasPrefix("purchase ") }.count == 2 }
    let approved = try booth.sold("1", Booth.lifetime, kind: .nonConsumable) { $0.appAccountToken = token.uppercased() }
    booth.store.tell(.updated(.verified(approved)), on: booth.rig)
    booth.waitUntil { booth.pendingCount == 0 && !booth.sent().isEmpty }
    #expect(booth.sent() == ["ada 1"])
    booth.store.change { $0.isSheetOpen = false }
    try booth.rig.result(of: open)
  }

  @Test("S014 A refund that comes while the receipt is on its way is sent, too")
  func refundUnderWay() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    booth.rig.network.hold { $0.url.hasSuffix(Booth.sync) }
    booth.store.tell(.updated(.verified(transaction)), on: booth.rig)
    booth.waitUntil { booth.sent().count == 1 }
    var refunded = transaction
    refunded.revocation = .init(at: booth.rig.time.wallMilliseconds)
    refunded.signedAt = booth.rig.time.wallMilliseconds + 1
    try booth.rig.network.register(refunded)
    booth.store.tell(.updated(.verified(refunded)), on: booth.rig)
    booth.rig.settle()
    booth.rig.network.hold(nil)
    booth.waitUntil { booth.pendingCount == 0 }
    #expect(booth.sent().count == 2)
  }

  @Test("A restore whose receipt is on its way to a refusal is sent all the same")
  func restoreUnderWay() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1", Booth.lifetime, kind: .nonConsumable)
    try booth.rig.simulate([
      "action": "fault", "kind": "rate_limited", "retry_after": 600, "retry_form": "seconds", "route": JSON(Booth.sync),
    ])
    booth.rig.network.hold { $0.url.hasSuffix(Booth.sync) }
    booth.store.tell(.updated(.verified(transaction)), on: booth.rig)
    booth.waitUntil { booth.sent().count == 1 }
    booth.store.change { $0.entitlements = [.verified(transaction)] }
    let restore = booth.client.restorePurchases()
    booth.rig.advance(milliseconds: 50)
    booth.rig.network.hold(nil)
    #expect(try booth.rig.result(of: restore)["outcome"]?.string == "completed")
    #expect(booth.sent().count == 2)
  }

  @Test("A restore of two gives the person with both")
  func restoreOfTwo() throws {
    let booth = try Booth()
    let (first, second) = (try booth.sold("1", Booth.lifetime, kind: .nonConsumable), try booth.sold("2"))
    booth.store.change { $0.entitlements = [.verified(first), .verified(second)] }
    let result = try booth.rig.result(of: booth.client.restorePurchases())
    #expect(
      result["person"]?["purchases"]?["history"]?.elements.count ?? result["person"]?["purchases"]?.elements.count == 2)
  }

  @Test("What was accepted in an earlier run, and neither finished nor told of, is told of and finished")
  func acceptedBefore() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path)
    let transaction = try before.sold("1", Booth.coins, kind: .consumable)
    before.store.change { $0.finishFails = true }
    try before.buy("coins_100", transaction)
    before.rig.close()
    before.store.change {
      $0.finishFails = false
      $0.unfinished = [.verified(transaction)]
    }
    let after = try Booth(storage: directory.path, after: before)
    var told: [JSON] = []
    after.waitUntil {
      told += after.updates()
      return !told.isEmpty && after.store.finished == ["1"]
    }
    #expect(told.map { $0["synced"]?.bool } == [true])
    #expect(after.store.finished == ["1"])
    #expect(after.sent().count == 1)
  }

  // MARK: The disk and the clock

  @Test(
    "S071 A disk that does not take what the service accepted: it is not sent over and over", arguments: [true, false])
  func fullDisk(isAwaited: Bool) throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    let transaction = try booth.sold("1")
    let database = try Database(path: directory.path + "/kassa.db")
    try database.script(
      "CREATE TRIGGER full BEFORE UPDATE ON outgoing_receipts BEGIN SELECT RAISE(ABORT, 'full'); END")
    if isAwaited {
      #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    } else {
      booth.store.tell(.updated(.verified(transaction)), on: booth.rig)
      for _ in 0..<20 { booth.rig.advance(milliseconds: 500) }
    }
    #expect((1...2).contains(booth.sent().count))
    try database.script("DROP TRIGGER full")
    booth.rig.letTimePass(inStepsOf: 5_000) { booth.pendingCount == 0 }
    #expect(booth.pendingCount == 0)
  }

  @Test("S030 A wait that was measured by a wrong clock ends when the clock is corrected")
  func wrongClock() throws {
    let storage = try ClientStorage(path: ":memory:")
    let owner = DistinctID("ada"), year: Int64 = 365 * 86_400_000
    let receipt = OutgoingReceipt(platform: .apple, transactionID: "1", owner: owner)
    let row = try #require(try storage.receiptRow(storage.add(receipt, nil, scope: "s"), scope: "s"))
    try storage.save([(row, .postponed(until: Rig.start + year, attempts: 1, refusedAt: nil))], scope: "s")
    try storage.hold(.receipts, until: Rig.start + year, scope: "s", now: Rig.start + year - 1)
    #expect(try storage.waitingReceipts(dueBy: Rig.start, limit: 9, scope: "s").count == 1)
    #expect(try storage.heldUntil(.receipts, scope: "s", now: Rig.start) == nil)
    #expect(try storage.heldUntil(.receipts, scope: "s", now: Rig.start + year - 1) == Rig.start + year)
  }

  @Test("Owners are found by tokens in any case, also those of Google's orders")
  func tokenCase() throws {
    let storage = try ClientStorage(path: ":memory:")
    for token in ["restored google GPA.3345-1", "3501E751-7582-58F9"] {
      try storage.save(accountToken: token, of: DistinctID("ada"), scope: "s")
      #expect(try storage.owner(ofAccountToken: token, scope: "s") == DistinctID("ada"))
      #expect(try storage.owner(ofAccountToken: token.lowercased(), scope: "s") == DistinctID("ada"))
    }
  }

  // MARK: Logins

  @Test("S085 A login that waits is not lost when the same user logs in again")
  func repeatedLogIn() throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    try booth.buy("pro_lifetime", booth.sold("1", Booth.lifetime, kind: .nonConsumable))
    booth.waitUntil { booth.rig.hasPerk("premium") }
    booth.rig.network.set(.offline)
    #expect(try booth.logIn("ada", ["team": "blue"])["deferred"]?.bool == true)
    booth.rig.close()
    let again = try Booth(storage: directory.path, after: booth, offline: true)
    #expect(try again.logIn("ada")["deferred"]?.bool == true)
    again.rig.network.set(.fine)
    again.waitLonger { again.client.pending?["writes"]?.elements.isEmpty == true && again.rig.hasPerk("premium") }
    #expect(again.rig.hasPerk("premium"))
    #expect(try again.rig.network.serviceState()["voidhash"]?.text().contains("blue") == true)
  }

  @Test("S014 A login that waits outlives a key that is refused for a while")
  func refusedKey() throws {
    let booth = try Booth()
    booth.rig.network.set(.offline)
    #expect(try booth.logIn("ada")["deferred"]?.bool == true)
    try booth.rig.simulate(["action": "revoke_key", "key": "vh_pk_sandbox"])
    booth.rig.network.set(.fine)
    booth.rig.letTimePass(inStepsOf: 5_000) { booth.rig.diagnostics().contains("authentication_failed") }
    #expect(booth.client.pending?["writes"]?.elements.count == 1)
    try booth.rig.simulate(["action": "restore_key", "key": "vh_pk_sandbox"])
    booth.rig.advance(milliseconds: 61_000)
    #expect(booth.client.notify(["type": "foreground"]))
    booth.waitLonger { booth.client.pending?["writes"]?.elements.isEmpty == true }
    #expect(booth.client.pending?["writes"]?.elements.isEmpty == true)
  }

  @Test("Two logins that are both refused leave whoever asked before; a later one as the same user stands")
  func refusedLogIns() throws {
    let booth = try Booth()
    try booth.buy("pro_lifetime", booth.sold("1", Booth.lifetime, kind: .nonConsumable))
    booth.waitUntil { booth.rig.hasPerk("premium") }
    let tag = "Api/SdkPersonAlreadyIdentifiedError"
    try booth.receiptsMeet(status: 409, tag: tag, times: 2, route: "/api/v1/sdk/identify")
    let (first, second) = (booth.client.logIn("ada"), booth.client.logIn("bob"))
    #expect(try booth.rig.error(of: first)["code"]?.string == "already_identified")
    #expect(try booth.rig.error(of: second)["code"]?.string == "already_identified")
    #expect(booth.client.appUserID == nil)
    booth.waitUntil { booth.rig.hasPerk("premium") }
    #expect(booth.rig.hasPerk("premium"))
    try booth.receiptsMeet(status: 409, tag: tag, times: 1, route: "/api/v1/sdk/identify")
    let (third, fourth) = (booth.client.logIn("ada"), booth.client.logIn("bob"))
    _ = try booth.rig.error(of: third)
    #expect(try booth.rig.result(of: fourth)["deferred"]?.bool == false)
    // What the guest had follows, since nobody was asking in between.
    #expect(booth.client.appUserID == "bob")
    booth.waitUntil { booth.rig.hasPerk("premium") }
    #expect(booth.rig.hasPerk("premium"))
  }

  @Test("Attributes right after a login go as the user, in the order of the calls")
  func attributesAfterLogIn() throws {
    let booth = try Booth()
    booth.rig.network.hold { $0.url.hasSuffix("/identify") }
    let logIn = booth.client.logIn("ada")
    let (one, two) = (booth.client.setAttributes(["level": 1], [:]), booth.client.setAttributes(["level": 2], [:]))
    booth.rig.settle()
    booth.rig.network.hold(nil)
    try booth.rig.result(of: logIn)
    #expect(try booth.rig.result(of: one)["deferred"]?.bool == false)
    #expect(try booth.rig.result(of: two)["deferred"]?.bool == false)
    let writes = booth.rig.network.requests.filter { $0.url.hasSuffix("/traits") || $0.url.hasSuffix("/identify") }
    #expect(writes.map { $0.url.split(separator: "/").last } == ["identify", "traits", "traits"])
    #expect((try? JSON.parse(writes.last?.body ?? []))?["traits"]?["level"]?.integer == 2)
  }

  @Test("S079 A login that was told under another configuration shows nobody of it", .timeLimit(.minutes(1)))
  func otherConfiguration() throws {
    let booth = try Booth(others: [("debug", true)])
    booth.rig.network.hold { $0.url.hasSuffix("/identify") }
    let logIn = booth.client.logIn("ada")
    booth.rig.settle()
    booth.rig.network.setScope("another")
    let other = booth.rig.configuration.merging([("region", "DE")])
    let configure = booth.client.configure(other)
    booth.rig.network.hold(nil)
    _ = try booth.rig.completion(of: logIn)
    _ = try booth.rig.completion(of: configure)
    let database = booth.client.person
    #expect(database.isNull || database["from"]?.string == "network")
  }

  @Test("A logout right before the end is kept")
  func logOutAndClose() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path)
    _ = try before.logIn("ada")
    let anonymous = before.rig.network.requests.last { $0.url.hasSuffix("/identify") }?
      .headers.first { $0.name == "x-distinct-id" }?.value
    before.client.logOut()
    before.rig.close()
    let after = try Booth(storage: directory.path, after: before)
    #expect(after.client.appUserID == nil)
    try after.rig.result(of: after.client.configure(after.rig.configuration))
    let asked = after.rig.network.requests.last { $0.url.hasSuffix("/person") }?
      .headers.first { $0.name == "x-distinct-id" }?.value
    #expect(asked?.hasPrefix("vh:anon:") == true)
    #expect(asked != anonymous)
  }
}
