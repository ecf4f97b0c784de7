import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaStores

@Suite("What the simulated App Store tells its listener, and when")
struct StoreNewsTests {
  private func purchase(_ counter: Counter, _ loop: EventLoop, _ id: String = "news.weekly") throws {
    _ = try loop.sync { Result { try counter.act(["action": "buy_elsewhere", "product_id": JSON(id)]) } }.get()
    _ = counter.takeUpdates()
  }

  /// Lets the loop work until it is so.
  private func eventually(_ loop: EventLoop, _ isSo: () -> Bool) async {
    for _ in 0..<10_000 where !isSo() { await Task(executorPreference: loop) {}.value }
    #expect(isSo())
  }

  /// Lets the store sleep for so long, and, if that wakes it, do what it does before it sleeps again.
  private func pass(_ milliseconds: Int64, _ time: ManualTime, _ loop: EventLoop) async {
    await eventually(loop) { time.sleeperCount == 1 }
    time.advance(milliseconds: milliseconds)
    await eventually(loop) { time.sleeperCount == 1 }
  }

  @Test("Hundreds of renewals are registered and told of a few at a time, and a close ends that")
  func aFewAtATime() async throws {
    let loop = try EventLoop(mode: .library)
    defer { loop.stop() }
    let time = ManualTime(wallMilliseconds: Counter.start)
    let counter = try loop.sync { Result { try Counter(time: time, start: { loop.start($0) }) } }.get()
    try purchase(counter, loop)
    time.setWall(milliseconds: Counter.start + 700 * Counter.day)
    loop.sync { counter.store.clockMoved() }
    #expect(counter.events.count == 32)
    #expect(counter.store.ledger.transactions.all.count == 101)
    // One sleep until the rest is told, and one until the next renewal.
    await eventually(loop) { time.sleeperCount == 2 }
    time.advance(milliseconds: 1)
    await eventually(loop) { counter.events.count == 64 }
    // Whoever looks meanwhile is given all of it, and so Apple's servers know it.
    let all = counter.store.ledger.transactions.all
    #expect(counter.registrations.count == 65)
    loop.sync { counter.store.registerNews() }
    #expect(Set(counter.registrations.map(\.id)) == Set(all.map(\.id)))
    for count in [96, 100] {
      await eventually(loop) { time.sleeperCount == 2 }
      time.advance(milliseconds: 1)
      await eventually(loop) { counter.events.count == count }
    }
    #expect(counter.takeUpdates().map(\.id) == all.dropFirst().map(\.id))

    time.setWall(milliseconds: Counter.start + 1_400 * Counter.day)
    loop.sync { counter.store.clockMoved() }
    loop.sync { counter.store.close() }
    await eventually(loop) { time.sleeperCount == 0 }
    time.advance(milliseconds: 1_000)
    await Task(executorPreference: loop) {}.value
    #expect(counter.takeUpdates().count == 32)
  }

  @Test(
    "While the disk refuses, the store tries again ever more seldom, and then catches up", arguments: [0, 1, 3, 7])
  func backsOff(_ failures: Int) async throws {
    let waits: [Int64] = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      let loop = try EventLoop(mode: .library)
      defer { loop.stop() }
      let time = ManualTime(wallMilliseconds: Counter.start)
      let counter = try loop.sync { Result { try Counter(path: path, time: time, start: { loop.start($0) }) } }.get()
      try purchase(counter, loop)
      let blocker = try Database(path: path)
      try blocker.run("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'full'); END")
      time.setWall(milliseconds: Counter.start + 7 * Counter.day)
      loop.sync { counter.store.clockMoved() }
      for wait in waits.prefix(failures) { await pass(wait, time, loop) }
      try blocker.run("DROP TRIGGER full")
      await pass(waits[failures] - 1, time, loop)
      #expect(counter.events.isEmpty)
      await pass(1, time, loop)
      #expect(counter.takeUpdates().map(\.isRenewal) == [true])
      loop.sync { counter.store.close() }
    }
  }

  @Test("A clock that was moved back or ahead is looked at anew")
  func aMovedClockWakes() async throws {
    let loop = try EventLoop(mode: .library)
    defer { loop.stop() }
    let time = ManualTime(wallMilliseconds: Counter.start)
    let counter = try loop.sync { Result { try Counter(time: time, start: { loop.start($0) }) } }.get()
    try purchase(counter, loop)
    // A minute before the renewal the sleep is a minute, not the hour that was begun before.
    time.setWall(milliseconds: Counter.start + 7 * Counter.day - 60_000)
    loop.sync { counter.store.clockMoved() }
    await pass(60_000, time, loop)
    #expect(counter.takeUpdates().map(\.isRenewal) == [true])
    loop.sync { counter.store.close() }
  }

  @Test("What is cleared is taken back: from this client and from others, without a false alarm")
  func clearTakesBack() async throws {
    try await withFolder { folder in
      let path = "\(folder)/store.db"
      let one = try Counter(path: path), two = try Counter(path: path, time: one.time)
      let bought = [
        try await one.buy("lifetime"), try await one.buy("basic.monthly"), try await one.buy("coins"),
      ]
      try one.store.refresh()
      _ = one.takeUpdates()
      // The second one has heard of nothing, and then of a purchase that is gone.
      try one.act(["action": "buy_elsewhere", "product_id": "pass"])
      try two.store.refresh()
      _ = two.takeUpdates()
      try one.act(["action": "buy_elsewhere", "product_id": "pro.monthly"])
      _ = one.takeUpdates()
      try one.act(["action": "clear"])
      try two.store.refresh()
      for counter in [one, two] {
        let unverified = counter.events.contains { if case .updated(.unverified) = $0 { true } else { false } }
        #expect(!unverified)
        let updates = counter.takeUpdates()
        #expect(updates.allSatisfy { $0.revocation?.at == one.time.wallMilliseconds })
        #expect(Set(bought.prefix(2).map(\.id)).isSubset(of: updates.map(\.id)))
        #expect(!updates.contains { $0.productID == "coins" })
        #expect(counter.registrations.suffix(updates.count).allSatisfy { $0.revocation != nil })
        #expect(try await counter.unfinished() == [])
      }
      // There is nothing left to finish, and that is no mistake.
      try await two.store.finish(bought[0])
    }
  }
}
