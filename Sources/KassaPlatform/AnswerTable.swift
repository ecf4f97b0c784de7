import CLinux
import Glibc
import KassaCore
import Synchronization

/// Writes the answers to `kassa_has_access`, `kassa_has_perk` and `kassa_is_subscribed` of one client, which any thread
/// reads through `answers` meanwhile, without a lock, an allocation or a reference count.
///
/// Three tables are filled in turn and one pointer says which is current, so a reader is disturbed only when the writer
/// comes round to the table that it is reading; a number in the table, odd while it is filled, tells it so.
///
/// One thread writes at a time: the caller holds a lock around `publish` and `setClock`.
///
/// The memory is never given back while the process lives, so that a reader that comes late reads something harmless.
/// It is used again: by the next, smaller publication, and by the next client.
public final class AnswerTable: @unchecked Sendable {
  /// Until when an answer is yes, on CLOCK_BOOTTIME. At that nanosecond it is no.
  public enum End: Sendable, Hashable {
    case never
    case at(bootNanoseconds: Int64)
  }

  /// Access to one product, or one perk.
  public struct Grant: Sendable, Hashable {
    public let id: String
    public let end: End
    public init(_ id: String, end: End) {
      self.id = id
      self.end = end
    }
  }

  /// The clock that ends are held against.
  public enum Clock: Sendable, Hashable {
    /// CLOCK_BOOTTIME, and as much more as a simulation has let pass.
    case machine(ahead: Int64)
    /// One that stands still until it is set again, for tests.
    case standing(bootNanoseconds: Int64)
  }

  /// What other threads read. It stays readable when the client is gone, and then says no to everything.
  public var answers: Answers { Answers(board) }

  private let board: UnsafeMutablePointer<AnswerBoard>

  /// All answers are no until the first `publish`. `random` keys the table where its memory is new, so give it the
  /// kernel's.
  public init(random: some RandomSource) {
    board = ClientHandles.takeSpareBoard() ?? AnswerBoard.make(hash: KeyedHash(random: random))
  }

  deinit {
    board.pointee.current.store(nil, ordering: .releasing)
    board.pointee.set(.machine(ahead: 0))
    ClientHandles.putSpareBoard(board)
  }

  /// Replaces all answers at once.
  ///
  /// A product may occur more than once; the latest end counts. `subscription` is until when `isSubscribed` is yes;
  /// nil: not at all. What has ended by now is left out, so after a clock is set back everything is published anew.
  ///
  /// `known` are the only products that may be asked for; nil: any. Of others the answer is `unknown`.
  public func publish(
    _ grants: [Grant], perks: [Grant] = [], subscription: End?, known: Set<String>? = nil
  ) {
    let now = board.pointee.now()
    let writer = board.pointee.writer
    let entries = grants.count + perks.count + (known?.count ?? 0)
    let table = writer.pointee.nextTable(entries: entries)
    table.fill(publication: writer.pointee.nextPublication(), entries: entries) {
      table.pointee.missing.store(known == nil ? GrantTable.notGranted : GrantTable.unknown)
      for product in known ?? [] { table.insert(board.pointee.tag(of: product), end: GrantTable.notGranted) }
      table.pointee.subscriptionEnd.store(table.noticed(subscription.map { $0.word(after: now) } ?? 0))
      for grant in grants {
        let end = table.noticed(grant.end.word(after: now))
        if end != 0 { table.insert(board.pointee.tag(of: grant.id), end: end) }
      }
      for grant in perks {
        let end = table.noticed(grant.end.word(after: now))
        if end != 0 { table.insert(AnswerBoard.perkTag(board.pointee.tag(of: grant.id)), end: end) }
      }
    }
    board.pointee.current.store(table, ordering: .releasing)
  }

  /// Sets the clock; every answer obeys it from the next question on.
  public func setClock(_ clock: Clock) {
    board.pointee.set(clock)
    // What was found out by the former clock no longer holds: the new number refuses it, even from a reader that is
    // about to write it down.
    let writer = board.pointee.writer
    let quiet = QuietWord(publication: writer.pointee.nextPublication())
    board.pointee.current.load(ordering: .relaxed)?.pointee.quiet.store(quiet.bits, ordering: .releasing)
  }
}

/// The reader's side of an `AnswerTable`: one pointer, copied freely, good for ever.
public struct Answers: @unchecked Sendable {
  private let board: UnsafeMutablePointer<AnswerBoard>
  init(_ board: UnsafeMutablePointer<AnswerBoard>) { self.board = board }
  init?(address: UInt) {
    guard let board = UnsafeMutablePointer<AnswerBoard>(bitPattern: address) else { return nil }
    self.init(board)
  }
  var address: UInt { UInt(bitPattern: board) }

  public enum Access: Sendable {
    case granted, notGranted
    /// Not one of the products that may be asked for.
    case unknown
  }

  /// Whether a grant of this product, a C string, stands at this moment.
  public func access(_ product: UnsafePointer<CChar>) -> Access { access(product, count: strlen(product)) { true } }
  public func hasAccess(_ product: UnsafePointer<CChar>) -> Bool { access(product) == .granted }

  /// Whether there is a subscription at this moment.
  public func isSubscribed() -> Bool { isSubscribed { true } }

  /// The same; but no, if the client turns out to be closed after its table was read.
  @inline(__always)
  func access(_ product: UnsafePointer<CChar>, count: Int, isOpen: () -> Bool) -> Access {
    let tag = board.pointee.tag(of: UnsafeRawPointer(product), count: count)
    return stands(isOpen) { $0.end(of: tag) }
  }

  /// Whether a grant of this perk stands. Perks and products may have the same names.
  @inline(__always)
  func perk(_ perk: UnsafePointer<CChar>, count: Int, isOpen: () -> Bool) -> Bool {
    let tag = AnswerBoard.perkTag(board.pointee.tag(of: UnsafeRawPointer(perk), count: count))
    return stands(isOpen) { $0.end(of: tag) } == .granted
  }

  public func hasPerk(_ perk: UnsafePointer<CChar>) -> Bool { self.perk(perk, count: strlen(perk)) { true } }

  @inline(__always)
  func isSubscribed(isOpen: () -> Bool) -> Bool {
    stands(isOpen) { $0.pointee.subscriptionEnd.load() } == .granted
  }

  @inline(__always)
  private func stands(_ isOpen: () -> Bool, _ read: (UnsafeMutablePointer<GrantTable>) -> UInt64) -> Access {
    while let table = board.pointee.current.load(ordering: .acquiring) {
      let sequence = table.pointee.sequence.load(ordering: .acquiring)
      let end = read(table)
      atomicMemoryFence(ordering: .acquiring)
      guard sequence & 1 == 0, table.pointee.sequence.load() == sequence else { continue }
      guard isOpen() else { return .notGranted }
      if end <= GrantTable.notGranted { return end == GrantTable.unknown ? .unknown : .notGranted }
      if end == .max { return .granted }
      let quiet = QuietWord(bits: table.pointee.quiet.load(ordering: .acquiring))
      // If the table was filled anew since the end was read, this says nothing about that end.
      guard table.pointee.sequence.load() == sequence else { continue }
      return quiet.coversNow() ? .granted : stands(until: end, table, sequence, quiet)
    }
    return .notGranted
  }

  /// Holds an end against the exact clock, and notes for how long nobody need ask that again.
  @inline(never)
  private func stands(
    until end: UInt64, _ table: UnsafeMutablePointer<GrantTable>, _ sequence: UInt64, _ quiet: QuietWord
  ) -> Access {
    let earliestEnd = table.pointee.earliestEnd.load(ordering: .acquiring)
    let isSameTable = table.pointee.sequence.load() == sequence

    // The coarse clock first: what is noted may begin too early, never too late.
    let coarse = kassa_coarse_nanoseconds()
    let now = board.pointee.now()
    if isSameTable, !board.pointee.isClockStanding, earliestEnd > now,
      let longer = quiet.extended(from: coarse, nanosecondsToEarliestEnd: earliestEnd - now)
    {
      _ = table.pointee.quiet.compareExchange(expected: quiet.bits, desired: longer.bits, ordering: .relaxed)
    }
    return now < end ? .granted : .notGranted
  }
}

/// Until when, on the coarse clock, no grant of a table ends; and the number of the publication of which that is true,
/// in one word, so that what was found out about one publication is never noted for another in the same table.
struct QuietWord {
  let bits: UInt64
  // The moment has 36 bits, in units of 2^24 ns (17 ms): 36 years of uptime. The number has the other 28.
  private static let momentBits: UInt64 = 36
  private static let unitBits: UInt64 = 24
  private static let momentMask: UInt64 = 1 << momentBits - 1
  /// The coarse clock lags by some milliseconds, at most a few ticks.
  private static let margin: UInt64 = 250_000_000
  /// The coarse clock stands still while the machine is suspended, so it is not trusted for longer than this.
  private static let longest: UInt64 = 1_000_000_000

  init(bits: UInt64) { self.bits = bits }
  /// Of a new publication nothing is known.
  init(publication: UInt64) { bits = publication << Self.momentBits }

  /// A function of its own, which saves few registers: the caller, inlined into every question, has none to spare.
  @inline(never)
  func coversNow() -> Bool { covers(kassa_coarse_nanoseconds()) }

  @inline(__always)
  func covers(_ coarse: Int64) -> Bool {
    UInt64(truncatingIfNeeded: coarse) >> Self.unitBits < bits & Self.momentMask
  }

  /// The same publication's word with a later moment; nil when the next end is too near.
  func extended(from coarse: Int64, nanosecondsToEarliestEnd rest: UInt64) -> QuietWord? {
    guard rest > Self.margin else { return nil }
    let moment = (UInt64(truncatingIfNeeded: coarse) &+ min(Self.longest, rest - Self.margin)) >> Self.unitBits
    return QuietWord(bits: bits & ~Self.momentMask | moment & Self.momentMask)
  }
}

// MARK: - Memory

/// What one client's tables hang on. Made once, then passed from client to client.
struct AnswerBoard: ~Copyable {
  /// nil: no answer but no.
  let current = Atomic<UnsafeMutablePointer<GrantTable>?>(nil)
  private let clockAhead = Atomic<Int64>(0)
  private let standingClock = Atomic<Int64>(AnswerBoard.noStandingClock)
  private let hash: KeyedHash

  /// What nobody reads but the writer. Memory of its own, its address taken before it is changed: to Swift, changing a
  /// part of the board would be changing the board, which others read.
  let writer: UnsafeMutablePointer<Writer>

  private static let noStandingClock = Int64.min

  private init(hash: KeyedHash) {
    self.hash = hash
    writer = .allocate(capacity: 1)
    writer.initialize(to: Writer())
  }

  static func make(hash: KeyedHash) -> UnsafeMutablePointer<AnswerBoard> {
    let board = UnsafeMutablePointer<AnswerBoard>.allocate(capacity: 1)
    board.initialize(to: AnswerBoard(hash: hash))
    return board
  }

  /// 63 bits stand for the id; always odd.
  @inline(__always)
  func tag(of bytes: UnsafeRawPointer, count: Int) -> UInt64 { hash(bytes, count: count) | 1 }

  func tag(of product: String) -> UInt64 {
    var product = product
    return product.withUTF8 { bytes in
      // An empty text may have no address; any will do.
      withUnsafePointer(to: 0) { tag(of: bytes.baseAddress ?? UnsafePointer($0), count: bytes.count) }
    }
  }

  /// A perk's tag is another than that of a product with the same name; odd, too.
  @inline(__always)
  static func perkTag(_ tag: UInt64) -> UInt64 { tag ^ 0x6B61_7373_6170_6B00 }

  var isClockStanding: Bool { standingClock.load(ordering: .relaxed) != Self.noStandingClock }

  func now() -> UInt64 {
    let standing = standingClock.load(ordering: .relaxed)
    if standing != Self.noStandingClock { return UInt64(clamping: standing) }
    return UInt64(clamping: kassa_exact_boot_nanoseconds().adding(clockAhead.load(ordering: .relaxed)))
  }

  func set(_ clock: AnswerTable.Clock) {
    switch clock {
    case .machine(let ahead):
      clockAhead.store(ahead, ordering: .relaxed)
      standingClock.store(Self.noStandingClock, ordering: .relaxed)
    case .standing(let bootNanoseconds):
      standingClock.store(max(0, bootNanoseconds), ordering: .relaxed)
    }
  }

  struct Writer {
    private typealias Table = UnsafeMutablePointer<GrantTable>
    /// The current one last, and the next one first.
    private var tables: (Table?, Table?, Table?) = (nil, nil, nil)
    private var publication: UInt64 = 0
    /// The next spare board, while this one is spare.
    var nextSpare: UnsafeMutablePointer<AnswerBoard>?

    /// The number of a new publication.
    mutating func nextPublication() -> UInt64 {
      publication &+= 1
      return publication
    }

    /// The table that was current longest ago, with room for so many entries.
    mutating func nextTable(entries: Int) -> UnsafeMutablePointer<GrantTable> {
      tables = (tables.1, tables.2, tables.0)
      if let table = tables.2, table.pointee.capacity >= GrantTable.slots(for: entries) { return table }
      let table = GrantTable.make(slots: GrantTable.slots(for: entries), replacing: tables.2)
      tables.2 = table
      return table
    }
  }
}

/// One publication: a hash table with open addressing, behind this header.
struct GrantTable: ~Copyable {
  struct Slot: ~Copyable {
    /// 0: empty.
    let tag = Atomic<UInt64>(0)
    let end = Atomic<UInt64>(0)
  }

  /// Odd while the table is filled; moves with every filling.
  let sequence = Atomic<UInt64>(0)
  let slots: UnsafeMutablePointer<Slot>
  let capacity: Int
  /// How many slots are in use, less one: never more than there are.
  let mask = Atomic<UInt64>(0)
  /// See `QuietWord`.
  let quiet = Atomic<UInt64>(0)
  /// Ends are boot-time nanoseconds; the largest number stands for a grant without an end, and of the smallest two, which
  /// passed before any client was opened, one for no grant and one for a product that may not be asked for.
  static let unknown: UInt64 = 0
  static let notGranted: UInt64 = 1
  /// Which of the two a product that is not in the table has.
  let missing = Atomic<UInt64>(GrantTable.notGranted)
  let earliestEnd = Atomic<UInt64>(.max)
  let subscriptionEnd = Atomic<UInt64>(0)
  /// The smaller table whose place this one took. Kept for its late readers.
  private let replaced: UnsafeMutablePointer<GrantTable>?

  /// A quarter full at most: a search then seldom goes past its first pair, also one for what is not there.
  static func slots(for entries: Int) -> Int {
    var slots = 16
    while slots / 4 < entries { slots *= 2 }
    return slots
  }

  /// Where the search for a tag begins: at an even slot, for slots are read in pairs.
  @inline(__always)
  static func start(of tag: UInt64) -> UInt64 { (tag >> 1) & ~1 }

  private init(slots: UnsafeMutablePointer<Slot>, capacity: Int, replaced: UnsafeMutablePointer<GrantTable>?) {
    self.slots = slots
    self.capacity = capacity
    self.replaced = replaced
  }

  static func make(
    slots count: Int, replacing old: UnsafeMutablePointer<GrantTable>?
  ) -> UnsafeMutablePointer<GrantTable> {
    let slots = UnsafeMutableRawPointer.allocate(byteCount: count * MemoryLayout<Slot>.stride, alignment: 64)
      .bindMemory(to: Slot.self, capacity: count)
    for index in 0..<count { (slots + index).initialize(to: Slot()) }
    let table = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<GrantTable>.stride, alignment: 64)
      .bindMemory(to: GrantTable.self, capacity: 1)
    table.initialize(to: GrantTable(slots: slots, capacity: count, replaced: old))
    return table
  }
}

extension UnsafeMutablePointer<GrantTable> {
  /// The end of a tag's grant. While the table is filled the answer means nothing, but the search stays inside the table
  /// and ends.
  @inline(__always)
  func end(of tag: UInt64) -> UInt64 {
    let mask = pointee.mask.load()
    var index = GrantTable.start(of: tag)
    let last = index &+ mask
    repeat {
      let slot = pointee.slots + Int(truncatingIfNeeded: index & mask)
      let (left, right) = (slot[0].tag.load(), slot[1].tag.load())
      let end = (left == tag ? .max : 0) & slot[0].end.load() | (right == tag ? .max : 0) & slot[1].end.load()
      // A tag is odd: one branch for "found, or nothing more to come". Two would often be guessed wrong.
      if end | (~right & 1) != 0 { return end != 0 ? end : pointee.missing.load() }
      index &+= 2
    } while index < last
    return pointee.missing.load()
  }

  /// Empties the table, and has the body fill it.
  func fill(publication: UInt64, entries: Int, _ body: () -> Void) {
    let sequence = pointee.sequence.load()
    pointee.sequence.store(sequence &+ 1)
    atomicMemoryFence(ordering: .releasing)
    let slots = GrantTable.slots(for: entries)
    for index in 0..<slots {
      pointee.slots[index].tag.store(0)
      pointee.slots[index].end.store(0)
    }
    pointee.mask.store(UInt64(slots - 1))
    pointee.quiet.store(QuietWord(publication: publication).bits)
    pointee.earliestEnd.store(.max)
    body()
    pointee.sequence.store(sequence &+ 2, ordering: .releasing)
  }

  /// Adds a grant, or makes the one that is there last longer.
  func insert(_ tag: UInt64, end: UInt64) {
    let mask = pointee.mask.load()
    var index = GrantTable.start(of: tag)
    while true {
      let slot = pointee.slots + Int(truncatingIfNeeded: index & mask)
      let found = slot.pointee.tag.load()
      if found == 0 || found == tag {
        slot.pointee.tag.store(tag)
        slot.pointee.end.store(max(end, slot.pointee.end.load()))
        return
      }
      index &+= 1
    }
  }

  /// Takes note of an end, and gives it back.
  func noticed(_ end: UInt64) -> UInt64 {
    if end != 0 { pointee.earliestEnd.store(Swift.min(end, pointee.earliestEnd.load())) }
    return end
  }
}

extension AnswerTable.End {
  /// The end as tables write it; 0 when it has come.
  fileprivate func word(after now: UInt64) -> UInt64 {
    switch self {
    case .never: .max
    case .at(let bootNanoseconds): bootNanoseconds > 0 && UInt64(bootNanoseconds) > now ? UInt64(bootNanoseconds) : 0
    }
  }
}

/// Inside a table the order comes from its sequence number alone.
extension Atomic<UInt64> {
  @inline(__always)
  fileprivate func load() -> UInt64 { load(ordering: .relaxed) }
  @inline(__always)
  fileprivate func store(_ value: UInt64) { store(value, ordering: .relaxed) }
}

extension AnswerTable.End: Comparable {
  public static func < (left: AnswerTable.End, right: AnswerTable.End) -> Bool {
    switch (left, right) {
    case (.at(let left), .at(let right)): left < right
    case (.at, .never): true
    case (.never, _): false
    }
  }
}
