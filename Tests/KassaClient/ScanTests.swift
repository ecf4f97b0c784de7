import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// Looking at the store: when, and what is said of a store that cannot be read.
@Suite struct ScanTests {
  @Test("A store that cannot be read is told of once until it can, by its own word at the start and later")
  func unreadable() throws {
    let booth = try Booth { $0.isOutOfReach = true }
    let words = ["store_connection_failed", "store_reconciliation_failed"]
    var told: [String] = []
    func listen() { told += booth.rig.diagnostics().filter { words.contains($0) } }
    func looks() -> Int { booth.store.calls.filter { $0 == "unfinished" }.count }
    /// Lets the store be looked at some times more.
    func look(_ times: Int) {
      let end = looks() + times
      booth.waitLonger { looks() >= end }
      booth.rig.settle()
      listen()
    }
    look(3)
    #expect(told == ["store_connection_failed"])
    for _ in 0..<2 {
      told = []
      booth.store.change { $0.isOutOfReach = false }
      look(1)
      #expect(told.isEmpty)
      booth.store.change { $0.isOutOfReach = true }
      booth.rig.advance(milliseconds: 61_000)
      #expect(booth.client.notify(["type": "foreground"]))
      look(3)
      #expect(told == ["store_reconciliation_failed"])
    }
  }

  @Test("The network that is back by the library's own requests has the store looked at, at most once a minute")
  func ownEdge() throws {
    let booth = try Booth()
    booth.rig.advance(milliseconds: 61_000)
    func looks() -> Int { booth.store.calls.filter { $0 == "unfinished" }.count }
    var before = looks()
    func cut() throws {
      booth.rig.network.set(.offline)
      #expect(try booth.rig.result(of: booth.client.setAttributes(["a": 1], [:]))["deferred"]?.bool == true)
      booth.rig.network.set(.fine)
      booth.waitUntil { booth.client.pending?["attributes"]?.elements.isEmpty ?? true }
      try booth.rig.result(of: booth.client.syncPendingWork())
      booth.rig.settle()
    }
    try cut()
    #expect(looks() == before + 1)
    try cut()
    #expect(looks() == before + 1)
    booth.rig.advance(milliseconds: 61_000)
    before = looks()
    // Nothing was missed while nothing failed.
    try booth.rig.result(of: booth.client.setAttributes(["a": 2], [:]))
    #expect(looks() == before)
    try cut()
    #expect(looks() == before + 1)
  }
}
