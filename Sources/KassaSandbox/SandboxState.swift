import KassaCore
import KassaJSON
import KassaPlatform

/// What all services of one sandbox share: memory, clock, randomness, address.
final class SandboxState {
  var store: Store
  private let time: any TimeSource
  private let random: any RandomSource
  /// Before the paths of pages, such as `http://127.0.0.1:8080`.
  var baseURL = "embedded:"

  init(path: String, time: any TimeSource, random: any RandomSource) throws(DatabaseError) {
    store = try Store(path: path)
    self.time = time
    self.random = random
  }

  /// In milliseconds since 1970 UTC: the time source, and what actions moved the clock ahead of it.
  var now: Int64 { time.wallMilliseconds.addingReportingOverflow(offset).partialValue }

  private var offset: Int64 { store.clock.all.first?.offset ?? 0 }

  func advanceClock(milliseconds: Int64) { store.clock.put(ClockRecord(offset: offset + milliseconds)) }

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
