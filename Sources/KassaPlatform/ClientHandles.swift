import CLinux
import Glibc
import Synchronization

/// The open clients of the process, by the handles that hosts hold.
///
/// A handle is a number in the shape of a pointer: a mark that no address has, the client's number in the process's
/// life, and the index of its slot. So it is never NULL, never dereferenced and never used twice; a closed one and an
/// invented one are told from an open one by a comparison.
///
/// Everything lies in memory that reads as zeroes in a child made by `fork`: there no client is open, the mutex is free
/// whatever the parent's threads were doing, and the child opens clients of its own.
public enum ClientHandles {
  /// So many clients can be open at once.
  public static var limit: Int { 4096 }

  private struct Slot: ~Copyable {
    /// 0: free.
    let handle: Atomic<UInt64>
    /// Where the client's answers are.
    let answers: Atomic<UInt>
    /// The client, retained.
    var client: UnsafeMutableRawPointer?
    /// The next free slot's index, plus one, while this one is free.
    var next: Int
  }

  private struct Registry: ~Copyable {
    var mutex: pthread_mutex_t
    /// The number of the first client that this process itself opened.
    var firstNumber: UInt64
    /// How many slots were ever used.
    var used: Int
    /// The first free slot among them: its index plus one.
    var free: Int
    var spareBoards: UnsafeMutablePointer<AnswerBoard>?
  }

  // Computed, all of them: a constant that Swift sets up on first use can hang in a child made by fork.
  private static var indexBits: UInt64 { 12 }
  /// Not the top byte of any address of a 64-bit process.
  private static var mark: UInt64 { 0x4B << 56 }
  private static var slotsOffset: Int { 128 }
  static var memorySize: Int { slotsOffset + limit * MemoryLayout<Slot>.stride }

  @inline(__always)
  private static var registry: UnsafeMutablePointer<Registry>? {
    kassa_handle_memory()?.assumingMemoryBound(to: Registry.self)
  }

  /// The slot that a handle names, whether or not it is that client's.
  @inline(__always)
  private static func slot(at index: UInt64) -> UnsafeMutablePointer<Slot>? {
    guard let memory = kassa_handle_memory() else { return nil }
    return (memory + slotsOffset).assumingMemoryBound(to: Slot.self) + Int(index & UInt64(limit - 1))
  }

  @inline(__always)
  private static func bits(_ handle: OpaquePointer?) -> UInt64 { UInt64(UInt(bitPattern: handle)) }

  // MARK: Opening and closing

  /// Gives a client a handle; nil when too many are open. The client must keep `answers` alive.
  public static func insert(_ client: AnyObject, answers: AnswerTable) -> OpaquePointer? {
    guard let registry else { return nil }
    return withLock(registry) {
      guard let index = takeFreeIndex(registry), let slot = slot(at: index) else { return nil }
      let number = kassa_next_client_number()
      if registry.pointee.firstNumber == 0 { registry.pointee.firstNumber = number }
      let handle = mark | number << indexBits | index
      slot.pointee.client = Unmanaged.passRetained(client).toOpaque()
      slot.pointee.answers.store(answers.answers.address, ordering: .relaxed)
      slot.pointee.handle.store(handle, ordering: .releasing)
      return OpaquePointer(bitPattern: UInt(handle))
    }
  }

  /// Ends a handle and gives its client back. Calls that are under way keep the client until they return; every later
  /// one fails.
  public static func remove(_ handle: OpaquePointer?) -> AnyObject? {
    withSlot(of: handle) { registry, slot in
      slot.pointee.handle.store(0, ordering: .releasing)
      let client = slot.pointee.client
      slot.pointee.client = nil
      slot.pointee.next = registry.pointee.free
      registry.pointee.free = Int(bits(handle) & UInt64(limit - 1)) + 1
      return client.map { Unmanaged<AnyObject>.fromOpaque($0).takeRetainedValue() }
    }
  }

  // MARK: Asking

  /// The open client of a handle. Who holds it keeps it alive, also when it is closed meanwhile.
  public static func client(_ handle: OpaquePointer?) -> AnyObject? {
    withSlot(of: handle) { _, slot in
      slot.pointee.client.map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
    }
  }

  /// Whether the handle is one of a parent process's clients, from before the `fork` that made this process.
  public static func isForked(_ handle: OpaquePointer?) -> Bool {
    let bits = bits(handle)
    let number = (bits ^ mark) >> indexBits
    guard let registry else { return false }
    return withLock(registry) {
      let ownNumbers = registry.pointee.firstNumber == 0 ? UInt64.max : registry.pointee.firstNumber
      return number > 0 && number <= kassa_last_client_number() && number < ownNumbers
    }
  }

  /// Whether an open client grants this product; no for NULL and for any handle that is not an open client's. The client
  /// hears of a product that may not be asked for.
  public static func hasAccess(_ handle: OpaquePointer?, _ product: UnsafePointer<CChar>?) -> Bool {
    guard let product else { return false }
    // Counted first: what has been looked up already would have to be kept across the call.
    let count = strlen(product)
    switch ask(handle, { $0.access(product, count: count, isOpen: $1) }) {
    case .granted: return true
    case .notGranted, nil: return false
    case .unknown: return tell(handle, ofUnknown: product)
    }
  }

  /// Whether an open client grants this perk.
  public static func hasPerk(_ handle: OpaquePointer?, _ perk: UnsafePointer<CChar>?) -> Bool {
    guard let perk else { return false }
    let count = strlen(perk)
    return ask(handle) { $0.perk(perk, count: count, isOpen: $1) } ?? false
  }

  /// Out of the ordinary, so it may cost something. Gives what is answered then.
  @inline(never)
  private static func tell(_ handle: OpaquePointer?, ofUnknown product: UnsafePointer<CChar>) -> Bool {
    if let id = String(validatingCString: product) {
      (client(handle) as? any UnknownProductListener)?.askedForUnknown(id)
    }
    return false
  }

  /// Whether an open client is subscribed; false for any handle that is not an open client's.
  public static func isSubscribed(_ handle: OpaquePointer?) -> Bool {
    ask(handle) { $0.isSubscribed(isOpen: $1) } ?? false
  }

  /// What was read counts only if the handle is still good after it: else it may have been read from the next client,
  /// to whom the closed one's memory was passed on.
  @inline(__always)
  static func ask<Answer>(
    _ handle: OpaquePointer?, _ question: (Answers, _ isOpen: () -> Bool) -> Answer
  ) -> Answer? {
    let bits = bits(handle)
    guard bits != 0, let slot = slot(at: bits), slot.pointee.handle.load(ordering: .acquiring) == bits,
      let answers = Answers(address: slot.pointee.answers.load(ordering: .relaxed))
    else { return nil }
    return question(answers) { slot.pointee.handle.load(ordering: .relaxed) == bits }
  }

  // MARK: Under the lock

  private static func withLock<Result>(_ registry: UnsafeMutablePointer<Registry>, _ body: () -> Result) -> Result {
    pthread_mutex_lock(&registry.pointee.mutex)
    defer { pthread_mutex_unlock(&registry.pointee.mutex) }
    return body()
  }

  private static func withSlot<Result>(
    of handle: OpaquePointer?, _ body: (UnsafeMutablePointer<Registry>, UnsafeMutablePointer<Slot>) -> Result?
  ) -> Result? {
    let bits = bits(handle)
    guard bits != 0, let registry, let slot = slot(at: bits) else { return nil }
    return withLock(registry) {
      slot.pointee.handle.load(ordering: .relaxed) == bits ? body(registry, slot) : nil
    }
  }

  private static func takeFreeIndex(_ registry: UnsafeMutablePointer<Registry>) -> UInt64? {
    if registry.pointee.free > 0 {
      let index = UInt64(registry.pointee.free - 1)
      registry.pointee.free = slot(at: index)?.pointee.next ?? 0
      return index
    }
    guard registry.pointee.used < limit else { return nil }
    defer { registry.pointee.used += 1 }
    return UInt64(registry.pointee.used)
  }

  /// A closed client's memory for answers.
  static func takeSpareBoard() -> UnsafeMutablePointer<AnswerBoard>? {
    guard let registry else { return nil }
    return withLock(registry) {
      let board = registry.pointee.spareBoards
      registry.pointee.spareBoards = board?.pointee.writer.pointee.nextSpare
      return board
    }
  }

  static func putSpareBoard(_ board: UnsafeMutablePointer<AnswerBoard>) {
    guard let registry else { return }
    let writer = board.pointee.writer
    withLock(registry) {
      writer.pointee.nextSpare = registry.pointee.spareBoards
      registry.pointee.spareBoards = board
    }
  }
}

/// A client that wants to hear of products that may not be asked for.
public protocol UnknownProductListener: AnyObject {
  func askedForUnknown(_ product: String)
}
