import Glibc
import KassaCore
import KassaJSON
import KassaPlatform
import KassaStores

/// A clock that the script moves.
private final class ScriptClock: TimeSource {
  private let time = Locked<Int64>(ScriptedYear.start)
  var wallMilliseconds: Int64 { time.with { $0 } }
  var bootNanoseconds: Int64 { 0 }
  func advance(days: Int64) { time.with { $0 += days * 86_400_000 } }
  func sleep(milliseconds: Int64) async throws(CancellationError) { throw CancellationError() }
}

/// A year of one subscriber: trial, renewals, a failed charge, grace, recovery, upgrade, refund, and a new start.
struct ScriptedYear {
  /// 2026-01-31T10:00:00Z
  static let start: Int64 = 1_769_853_600_000

  private let clock = ScriptClock()
  private let store: SimulatedStore
  private let products: (basic: String, pro: String)

  init(_ file: [UInt8], path: String, seed: UInt64) throws {
    let clock = clock
    store = try SimulatedStore(
      SimulatedStoreConfiguration(storekitFile: "year.storekit"), file: file, path: path,
      ports: SimulatedStorePorts(
        time: clock, random: SeededRandom(seed: seed), now: { clock.wallMilliseconds }))
    store.listen { _ in }
    products = try Self.products(file)
  }

  /// A monthly subscription with a free trial, and a higher one of its group.
  private static func products(_ file: [UInt8]) throws -> (basic: String, pro: String) {
    let groups = try JSON.parse(file)["subscriptionGroups"]?.elements ?? []
    for group in groups {
      let monthly = (group["subscriptions"]?.elements ?? []).filter { $0["recurringSubscriptionPeriod"] == "P1M" }
      let byLevel = monthly.sorted { ($0["groupNumber"]?.integer ?? 0) < ($1["groupNumber"]?.integer ?? 0) }
      let basic = byLevel.last { $0["introductoryOffer"]?["paymentMode"] == "free" }
      if let basic = basic?["productID"]?.string, let pro = byLevel.first?["productID"]?.string, pro != basic {
        return (basic, pro)
      }
    }
    throw KassaError(.invalidArgument, "the file has no monthly subscription with a free trial and one above it")
  }

  /// Runs it, and gives its event log.
  func run() async throws -> [String] {
    try await buy(products.basic)
    for month in 1...11 {
      switch month {
      case 4: try act(["action": "fail_billing", "grace": true])
      case 5:
        try act(["action": "recover_billing"])
        try await finishAll()
      case 7: try await buy(products.pro)
      case 10:
        let newest = try await store.entitlements().last
        guard case .verified(let transaction)? = newest else { break }
        try act(["action": "refund", "transaction_id": JSON(transaction.id), "prorated": true])
      case 11: try await buy(products.basic)
      default: break
      }
      // To the renewal, and where it failed, into the grace period.
      try await wait(days: month == 4 ? 36 : 31)
    }
    try act(["action": "cancel_subscription"])
    try await wait(days: 31)
    return try store.eventLog()
  }

  private func act(_ action: JSON) throws { try store.simulate(action) }

  private func buy(_ id: String) async throws {
    guard case .purchased(.verified) = try await store.purchase(StoreOrder(productID: id)) else {
      throw KassaError(.storeFailed, "\(id) was not sold")
    }
    try await finishAll()
  }

  private func wait(days: Int64) async throws {
    clock.advance(days: days)
    try store.refresh()
    try await finishAll()
  }

  private func finishAll() async throws {
    for case .verified(let transaction) in try await store.unfinished() { try await store.finish(transaction) }
  }
}

/// What a year costs at least: its events are signed, and written in so many transactions.
struct YearWork {
  var commits = 0
  var signatures = 0

  init(_ log: [String]) throws {
    // What happens at one moment and in one call is written together: a change of the old transaction with the new one,
    // and what a changed switch sets free with the change.
    let together = ["upgraded", "recovered"]
    let signed = ["purchased", "renewed", "recovered", "upgraded", "refunded"]
    for line in log {
      let kind = try JSON.parse(line)["event"]?.string ?? ""
      if !together.contains(kind) { commits += 1 }
      if signed.contains(kind) { signatures += 1 }
    }
  }
}

/// Times years in files against as many bare commits and signatures, in turn.
func compareYears(_ file: [UInt8], folder: String, rounds: Int) async throws -> (Comparison, YearWork) {
  let work = try YearWork(await ScriptedYear(file, path: ":memory:", seed: 1).run())
  guard let bare = BareWork(path: "\(folder)/bare.db") else {
    throw KassaError(.storage, "no database can be made in \(folder)")
  }
  var times: [(Double, Double)] = []
  for round in 0...rounds {
    let year = try ScriptedYear(file, path: "\(folder)/year\(round).db", seed: UInt64(round))
    let start = now()
    _ = try await year.run()
    let middle = now()
    for _ in 0..<work.commits { bare.commit() }
    for _ in 0..<work.signatures { bare.sign() }
    // The first round builds what is built once.
    if round > 0 { times.append((Double(middle - start), Double(now() - middle))) }
  }
  return (Comparison(times), work)
}

/// Runs many years and says whether they were all the same: the number of different event logs, and the hash of the last.
func repeatYears(_ count: Int, _ file: [UInt8]) async throws -> (different: Int, hash: String) {
  var hashes: Set<UInt64> = []
  var last: UInt64 = 0
  for _ in 0..<count {
    // FNV-1a
    last = 0xCBF2_9CE4_8422_2325
    for byte in try await ScriptedYear(file, path: ":memory:", seed: 1).run().joined(separator: "\n").utf8 {
      last = (last ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    hashes.insert(last)
  }
  return (hashes.count, String(last, radix: 16))
}
