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
    func told() -> [String] { booth.rig.diagnostics().filter { words.contains($0) } }
    for _ in 0..<3 { booth.rig.advance(milliseconds: 61_000) }
    #expect(told() == ["store_connection_failed"])
    booth.store.change { $0.isOutOfReach = false }
    for _ in 0..<2 { booth.rig.advance(milliseconds: 61_000) }
    #expect(told().isEmpty)
    for _ in 0..<2 {
      booth.store.change { $0.isOutOfReach = true }
      booth.rig.advance(milliseconds: 61_000)
      #expect(booth.client.notify(["type": "foreground"]))
      for _ in 0..<3 { booth.rig.advance(milliseconds: 61_000) }
      #expect(told() == ["store_reconciliation_failed"])
      booth.store.change { $0.isOutOfReach = false }
      for _ in 0..<2 { booth.rig.advance(milliseconds: 61_000) }
      #expect(told().isEmpty)
    }
  }
}
