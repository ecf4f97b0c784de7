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
  /// Counted where it is wanted, for counting reads the log.
  private(set) var work: YearWork?
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
  mutating func run(counting: Bool = false) async throws -> [String] {
    work = counting ? YearWork() : nil
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

  private mutating func count() throws {
    if work != nil { try work?.count(store.eventLog()) }
  }

  private mutating func act(_ action: JSON) throws {
    try store.simulate(action)
    try count()
  }

  private mutating func buy(_ id: String) async throws {
    guard case .purchased(.verified) = try await store.purchase(StoreOrder(productID: id)) else {
      throw KassaError(.storeFailed, "\(id) was not sold")
    }
    try count()
    try await finishAll()
  }

  private mutating func wait(days: Int64) async throws {
    clock.advance(days: days)
    try store.refresh()
    try count()
    try await finishAll()
  }

  private mutating func finishAll() async throws {
    for case .verified(let transaction) in try await store.unfinished() {
      try await store.finish(transaction)
      try count()
    }
  }
}

/// What a year costs at least, counted while one runs.
struct YearWork {
  /// The calls that left something in the log: what one call changes is written in one transaction.
  private(set) var commits = 0
  /// The transactions that were made or changed.
  private(set) var signatures = 0
  private var seen = 0

  mutating func count(_ log: [String]) throws {
    if log.count > seen { commits += 1 }
    for line in log.dropFirst(seen) where Self.signed.contains(try JSON.parse(line)["event"]?.string ?? "") {
      signatures += 1
    }
    seen = log.count
  }

  private static let signed = ["purchased", "renewed", "recovered", "upgraded", "refunded"]
}

/// Times years in files against as many bare commits and signatures, in turn.
func compareYears(_ file: [UInt8], folder: String, rounds: Int) async throws -> (Comparison, YearWork) {
  var counted = try ScriptedYear(file, path: ":memory:", seed: 1)
  _ = try await counted.run(counting: true)
  let work = counted.work ?? YearWork()
  var times: [(Double, Double)] = []
  for round in 0...rounds {
    // Both begin with a new file: a log that grows costs the disk more than one that is written over.
    var year = try ScriptedYear(file, path: "\(folder)/year\(round).db", seed: UInt64(round))
    guard let bare = BareWork(path: "\(folder)/bare\(round).db") else {
      throw KassaError(.storage, "no database can be made in \(folder)")
    }
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
    var year = try ScriptedYear(file, path: ":memory:", seed: 1)
    for byte in try await year.run().joined(separator: "\n").utf8 {
      last = (last ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    hashes.insert(last)
  }
  return (hashes.count, String(last, radix: 16))
}
