import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// A disk that refuses a write once: full, or held by another process for longer than a write waits.
@Suite struct RefusedWriteTests {
  private let directory = TemporaryDirectory()

  /// Holds the storage as another process would.
  private func lock() throws -> Database {
    let other = try Database(path: "\(directory.path)/kassa.db")
    try other.script("BEGIN IMMEDIATE")
    return other
  }

  /// Who is on disk as the one who asks.
  private func userOnDisk() throws -> String? {
    try Database(path: "\(directory.path)/kassa.db").run("SELECT value FROM facts WHERE name = 'app_user_id'") {
      $0.text(0)
    }.first
  }

  private func identifications(_ booth: Booth) -> Int {
    booth.rig.network.requests.filter { $0.url.hasSuffix("/identify") }.count
  }

  @Test("S073 A log-out that the disk refuses is written as soon as it takes something") func logOut() throws {
    let booth = try Booth(storage: directory.path)
    _ = try booth.logIn("ada")
    let other = try lock()
    booth.client.logOut()
    booth.rig.settle()
    #expect(booth.client.pending != nil)
    try other.script("ROLLBACK")
    #expect(try userOnDisk() == "ada")
    booth.waitUntil { (try? userOnDisk()) == .some(nil) }
    #expect(try userOnDisk() == nil)
    #expect(booth.client.appUserID == nil)
  }

  @Test("S073 A log-out that the disk refuses is written with the next report, or when the client is closed")
  func logOutAtClose() throws {
    for way in ["report", "close"] {
      let booth = try Booth(storage: directory.path)
      _ = try booth.logIn("ada")
      let other = try lock()
      booth.client.logOut()
      _ = booth.client.pending
      try other.script("ROLLBACK")
      #expect(try userOnDisk() == "ada")
      if way == "report" { try booth.rig.result(of: booth.client.report(transaction: "1")) } else { booth.rig.close() }
      #expect(try userOnDisk() == nil, "\(way)")
      booth.rig.close()
      #expect(try Booth(storage: directory.path, after: booth).client.appUserID == nil)
    }
  }

  @Test("S073 With memberships, too, whoever logs out or in while the disk refuses it is written down later")
  func memberships() throws {
    let rig = try Rig(storage: directory.path)
    try rig.result(of: rig.client.logIn("ada"))
    var other = try lock()
    rig.client.logOut()
    _ = rig.client.pending
    try other.script("ROLLBACK")
    rig.letTimePass(inStepsOf: 50) { (try? userOnDisk()) == .some(nil) }
    #expect(try userOnDisk() == nil)
    rig.network.set(.offline)
    other = try lock()
    #expect(try rig.result(of: rig.client.logIn("bob"))["deferred"]?.bool == true)
    try other.script("ROLLBACK")
    rig.letTimePass(inStepsOf: 50) { rig.client.pending?["writes"]?.elements.count == 1 }
    #expect(rig.client.pending?["writes"]?.elements.first?["app_user_id"]?.string == "bob")
    #expect(try userOnDisk() == "bob")
    rig.network.set(.fine)
    rig.letTimePass(inStepsOf: 5_000) { rig.client.pending?["writes"]?.elements.isEmpty == true }
    #expect(rig.client.pending?["writes"]?.elements.isEmpty == true)
  }

  @Test("S073 A log-in that the disk refuses is told to the service all the same, and written down later")
  func logIn() throws {
    let booth = try Booth(storage: directory.path)
    let other = try lock()
    let result = try booth.logIn("ada")
    #expect(result["deferred"]?.bool == false)
    #expect(result["person"]?["distinct_id"]?.string == "ada")
    #expect(identifications(booth) == 1)
    try other.script("ROLLBACK")
    booth.waitUntil { (try? userOnDisk()) == "ada" }
    #expect(try userOnDisk() == "ada")
    booth.rig.close()
    let again = try Booth(storage: directory.path, after: booth)
    #expect(again.client.appUserID == "ada")
    #expect(identifications(again) == 1)
  }

  @Test("S073 A log-in that neither the disk nor the service takes fails, and is taken back") func failedLogIn() throws
  {
    let booth = try Booth(storage: directory.path)
    let nobody = booth.distinctID
    booth.rig.network.set(.offline)
    let other = try lock()
    let error = try booth.rig.error(of: booth.client.logIn("ada"))
    #expect(error["code"]?.string == "storage")
    #expect(error["retryable"]?.bool == true)
    #expect(booth.client.appUserID == nil)
    #expect(booth.distinctID == nobody)
    try other.script("ROLLBACK")
    booth.rig.network.set(.fine)
    booth.waitLonger { (try? booth.logIn("ada"))?["deferred"]?.bool == false }
    #expect(booth.client.appUserID == "ada")
    #expect(try userOnDisk() == "ada")
    // Whoever comes after them is nobody else's follower.
    _ = try booth.logIn("bob")
    let previous = booth.rig.network.requests.last { $0.url.hasSuffix("/identify") }?.headers
    #expect(previous?.contains { $0.name == "x-distinct-id" && $0.value == nobody } == false)
  }

  @Test("S073 A log-in that waits for the network is on disk, if the disk takes it by then") func lateLogIn() throws {
    let booth = try Booth(storage: directory.path)
    booth.rig.network.set(.silent)
    let other = try lock()
    let operation = booth.client.logIn("ada")
    _ = booth.client.pending
    try other.script("ROLLBACK")
    let result = try booth.rig.result(of: operation)
    #expect(result["deferred"]?.bool == true)
    #expect(booth.client.pending?["writes"]?.elements.count == 1)
    #expect(try userOnDisk() == "ada")
    booth.rig.network.set(.fine)
    booth.waitLonger { booth.client.pending?["writes"]?.elements.isEmpty == true }
    #expect(booth.client.pending?["writes"]?.elements.isEmpty == true)
  }

  @Test("S073 A log-in that the disk refused waits on disk when the client is closed before the service was told")
  func closedLogIn() throws {
    let booth = try Booth(storage: directory.path)
    booth.rig.network.set(.silent)
    let other = try lock()
    _ = booth.client.logIn("ada")
    _ = booth.client.pending
    try other.script("ROLLBACK")
    booth.rig.close()
    #expect(try userOnDisk() == "ada")
    booth.rig.network.forget()
    booth.rig.network.set(.fine)
    let again = try Booth(storage: directory.path, after: booth)
    again.waitUntil { identifications(again) == 1 }
    #expect(identifications(again) == 1)
    #expect(again.client.appUserID == "ada")
  }

  /// The store has charged, and the disk does not take the receipt before the lock is gone.
  private func chargedWhileLocked() throws -> (Booth, lock: Database) {
    let booth = try Booth(storage: directory.path)
    let transaction = try booth.sold("1")
    booth.store.change {
      $0.outcome = .success(.purchased(.verified(transaction)))
      $0.isSheetOpen = true
    }
    let operation = booth.client.purchase("pro_monthly", [:])
    booth.waitUntil { booth.store.calls.contains { $0.hasPrefix("purchase ") } }
    let other = try lock()
    booth.store.change { $0.isSheetOpen = false }
    #expect(try booth.rig.result(of: operation)["synced"]?.bool == false)
    return (booth, other)
  }

  @Test("S071 A receipt that the disk refuses after the charge is kept and sent as soon as it takes something")
  func receipt() throws {
    let (booth, other) = try chargedWhileLocked()
    let work = try booth.rig.result(of: booth.client.syncPendingWork())
    #expect(work["completed"]?.bool == false)
    #expect(work["pending_transaction_count"]?.integer == 1)
    try other.script("ROLLBACK")
    #expect(booth.pendingCount == 0)
    let before = booth.rig.time.wallMilliseconds
    booth.waitUntil { booth.store.finished == ["1"] }
    #expect(try booth.accepted()["1"]?.deliveries == 1)
    #expect(booth.rig.time.wallMilliseconds - before < 20_000)
    #expect(try booth.rig.result(of: booth.client.syncPendingWork())["completed"]?.bool == true)
  }

  @Test("S071 Sending what waits first writes what the disk refused after a charge") func receiptOnDemand() throws {
    let (booth, other) = try chargedWhileLocked()
    try other.script("ROLLBACK")
    #expect(try booth.rig.result(of: booth.client.syncPendingWork())["completed"]?.bool == true)
    #expect(try booth.accepted()["1"]?.deliveries == 1)
  }
}
