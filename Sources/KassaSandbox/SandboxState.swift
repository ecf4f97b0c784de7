import KassaCore
import KassaJSON
import KassaPlatform

/// What all services of one sandbox share: memory, clock, randomness, address.
final class SandboxState {
  var store: Store
  /// Where the clock stands until an action moves it; nil: it runs.
  private let startsAt: Int64?
  private let time: any TimeSource
  private let random: any RandomSource
  /// Before the paths of pages, such as `http://127.0.0.1:8080`.
  var baseURL = "embedded:"

  init(
    path: String, startsAt: Int64? = nil, time: any TimeSource, random: any RandomSource
  ) throws(DatabaseError) {
    store = try Store(path: path)
    self.startsAt = startsAt
    self.time = time
    self.random = random
  }

  /// In milliseconds since 1970 UTC: the time source, and what actions moved the clock ahead of it.
  var now: Int64 { (startsAt ?? time.wallMilliseconds).adding(offset) }

  private var offset: Int64 { store.clock.all.first?.offset ?? 0 }

  func advanceClock(milliseconds: Int64) throws(Refusal) {
    // It never goes back, so it must not come where no date is written any more.
    guard Timestamp.range.contains(now.adding(milliseconds)) else {
      throw .invalid("advance", "would move the clock beyond the year 9999")
    }
    store.clock.put(ClockRecord(offset: offset.adding(milliseconds)))
  }

  /// A new id such as `mem_f3KxT0aZ91LpQe`.
  func makeID(_ prefix: String, isTaken: (String) -> Bool) -> String {
    while true {
      let id = "\(prefix)_\(randomText(length: 14))"
      if !isTaken(id) { return id }
    }
  }

  func makeUUID() -> String { random.uuid() }

  func randomText(length: Int) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    return String(random.bytes(length).map { alphabet[Int($0) % alphabet.count] })
  }
}
