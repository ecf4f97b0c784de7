import CLinux
import Glibc
import KassaCore
import KassaJSON
import KassaPlatform
import Synchronization

/// The one queue of a client: what it has to say to its host, and the operations that will still say something.
///
/// Completions and requests are never dropped. Of the changes, one for each subject waits at most. Any thread may put
/// in and take out.
final class EventQueue: Sendable {
  enum Entry {
    case completed(operation: UInt64, JSON)
    case changed(what: Change.Subject, JSON)
    case request(id: UInt64, JSON)
    /// A transaction that came by itself.
    case transaction(JSON)
    case other(JSON)

    static func diagnostic(_ code: String, _ message: String, _ details: JSON) -> Entry {
      .other(["type": "diagnostic", "code": JSON(code), "message": JSON(message), "details": details])
    }

    var document: JSON {
      switch self {
      case .completed(_, let document), .changed(_, let document), .request(_, let document),
        .transaction(let document), .other(let document):
        document
      }
    }
  }

  private struct Operation {
    enum Progress { case running, queued, held(JSON) }
    var name: String
    var progress = Progress.running
    var waiters = 0
    var task: Task<Void, Never>?
  }

  private struct State {
    var entries: [Entry] = []
    /// The first of `entries` that has not been taken: taking must not move the others.
    var first = 0
    var operations: [UInt64: Operation] = [:]
    var lastNumber: UInt64 = 0
    var readers = 0
    var queuedRequests = 0
    /// Somebody has asked for events.
    var hasListener = false
    var isClosed = false
    var isSignalled = false

    var isEmpty: Bool { first == entries.count }

    mutating func pop() -> Entry? {
      guard first < entries.count else { return nil }
      let entry = entries[first]
      first += 1
      if first == entries.count {
        entries.removeAll(keepingCapacity: entries.count < 64)
        first = 0
      } else if first > 1_024 {
        entries.removeFirst(first)
        first = 0
      }
      return entry
    }

    mutating func remove(where matches: (Entry) -> Bool) -> Entry? {
      guard let index = entries[first...].firstIndex(where: matches) else { return nil }
      let entry = entries.remove(at: index)
      if first == entries.count { (entries, first) = ([], 0) }
      return entry
    }
  }

  private let loop: EventLoop
  private let log: Log
  private let state = Locked(State())
  private let wakeup = Wakeup()
  /// Every document comes from the sandbox in this process, and says so.
  private let isSandbox = Atomic(false)
  /// Readable while the queue holds an event.
  let descriptor: Int32

  init(loop: EventLoop, log: Log) throws(KassaError) {
    self.loop = loop
    self.log = log
    descriptor = kassa_eventfd()
    guard descriptor >= 0 else {
      throw KassaError(.internalError, "no descriptor for the event queue: the process has too many open")
    }
  }

  deinit { Glibc.close(descriptor) }

  func setSandbox(_ flag: Bool) { isSandbox.store(flag, ordering: .relaxed) }

  private func stamped(_ document: JSON) -> JSON {
    isSandbox.load(ordering: .relaxed) ? document.merging([("sandbox", true)]) : document
  }

  // MARK: Putting in

  func put(_ entry: Entry) {
    let becameReadable = state.with { state -> Bool in
      guard !state.isClosed else { return false }
      return put(entry, into: &state)
    }
    log.line(entry.summary)
    announce(becameReadable)
  }

  /// Returns whether the queue was empty before.
  private func put(_ entry: Entry, into state: inout State) -> Bool {
    if case .changed(let subject, _) = entry {
      // A slow reader gets the latest change of each subject.
      _ = state.remove {
        if case .changed(subject, _) = $0 { true } else { false }
      }
    }
    if case .request = entry { state.queuedRequests += 1 }
    if case .transaction = entry, !state.hasListener { dropOldTransactions(&state) }
    state.entries.append(entry)
    return signal(&state)
  }

  /// Until somebody listens, the last few transactions are enough (Voidhash, purchases that complete later).
  private func dropOldTransactions(_ state: inout State) {
    func isTransaction(_ entry: Entry) -> Bool { if case .transaction = entry { true } else { false } }
    let count = state.entries[state.first...].count(where: isTransaction)
    if count >= Constants.transactionsKeptForListener { _ = state.remove(where: isTransaction) }
  }

  /// Makes the descriptor readable exactly while there is an entry. Returns whether it just became readable.
  private func signal(_ state: inout State) -> Bool {
    let isReadable = !state.isEmpty
    guard isReadable != state.isSignalled else { return false }
    state.isSignalled = isReadable
    if isReadable { kassa_eventfd_write(descriptor) } else { kassa_eventfd_read(descriptor) }
    return isReadable
  }

  private func announce(_ becameReadable: Bool) {
    loop.wakeWaiters()
    if becameReadable { wakeup.call() }
  }

  // MARK: Taking out

  func next(timeoutMilliseconds: Int32) -> JSON? {
    state.with {
      $0.readers += 1
      $0.hasListener = true
    }
    var taken: Entry?
    _ = loop.wait(timeoutMilliseconds: timeoutMilliseconds) {
      state.with { state in
        taken = state.pop()
        guard let taken else { return state.isClosed }
        forget(taken, &state)
        return true
      }
    }
    let leavesRequest = state.with { state in
      state.readers -= 1
      _ = signal(&state)
      return state.readers == 0 && state.queuedRequests > 0
    }
    // Whoever waits for an operation relied on this reader.
    if leavesRequest { loop.wakeWaiters() }
    return (taken?.document).map(stamped)
  }

  private func forget(_ entry: Entry, _ state: inout State) {
    switch entry {
    case .completed(let operation, _): state.operations[operation] = nil
    case .request: state.queuedRequests -= 1
    case .changed, .transaction, .other: break
    }
  }

  func setWakeup(_ function: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ userdata: UnsafeMutableRawPointer?)
  {
    wakeup.set(function, userdata)
    // Events may already wait; without this nobody would ever tell.
    if function != nil, state.with({ !$0.isEmpty }) { wakeup.call() }
  }

  // MARK: Operations

  /// A new operation, or 0 once the client is closed.
  func begin(_ name: String) -> UInt64 {
    state.with { state in
      guard !state.isClosed else { return 0 }
      state.lastNumber += 1
      state.operations[state.lastNumber] = Operation(name: name)
      return state.lastNumber
    }
  }

  func attach(_ task: Task<Void, Never>, to operation: UInt64) {
    state.with { $0.operations[operation]?.task = task }
  }

  /// Ends an operation; only the first ending counts.
  func complete(_ operation: UInt64, _ ending: Result<JSON, KassaError>) {
    let becameReadable = state.with { state in complete(operation, ending, &state) }
    log.line("operation \(operation): \(ending.summary)")
    announce(becameReadable)
  }

  private func complete(_ number: UInt64, _ ending: Result<JSON, KassaError>, _ state: inout State) -> Bool {
    guard let operation = state.operations[number], case .running = operation.progress else { return false }
    let end: (String, JSON) =
      switch ending {
      case .success(let result): ("result", result)
      case .failure(let error): ("error", error.document)
      }
    let document = JSON.object([
      ("type", "completed"), ("op", JSON(Int64(clamping: number))), ("operation", JSON(operation.name)), end,
    ])
    state.operations[number]?.task = nil
    if operation.waiters > 0 {
      state.operations[number]?.progress = .held(document)
      return false
    }
    state.operations[number]?.progress = .queued
    return put(.completed(operation: number, document), into: &state)
  }

  /// Waits for one operation and takes its completion. Ends early, with nothing, if the host must answer a request
  /// first and no other thread reads the queue.
  func wait(for number: UInt64, timeoutMilliseconds: Int32) -> JSON? {
    let exists = state.with { state in
      state.operations[number]?.waiters += 1
      return state.operations[number] != nil
    }
    guard exists else { return nil }
    var document: JSON?
    _ = loop.wait(timeoutMilliseconds: timeoutMilliseconds) {
      state.with { state in
        document = take(number, &state)
        if document != nil || state.operations[number] == nil { return true }
        return state.isClosed || (state.queuedRequests > 0 && state.readers == 0)
      }
    }
    state.with { state in
      state.operations[number]?.waiters -= 1
      // A completion that came after the last look was kept for this thread: nobody else would ever take it.
      if document == nil { document = takeHeld(number, &state) }
      _ = signal(&state)
    }
    return document.map(stamped)
  }

  private func take(_ number: UInt64, _ state: inout State) -> JSON? {
    switch state.operations[number]?.progress {
    case .held: return takeHeld(number, &state)
    case .queued:
      let entry = state.remove {
        if case .completed(number, _) = $0 { true } else { false }
      }
      state.operations[number] = nil
      return entry?.document
    case .running, nil: return nil
    }
  }

  private func takeHeld(_ number: UInt64, _ state: inout State) -> JSON? {
    guard case .held(let document) = state.operations[number]?.progress else { return nil }
    state.operations[number] = nil
    return document
  }

  var isClosed: Bool { state.with { $0.isClosed } }

  /// Whether the operation was still running; its task is told to end.
  func cancel(_ number: UInt64) -> Bool {
    let operation = state.with { $0.operations[number] }
    guard let operation, case .running = operation.progress else { return false }
    operation.task?.cancel()
    return true
  }

  // MARK: Requests

  /// A number for a request that will be put in; 0 once the client is closed.
  func reserveRequest() -> UInt64 {
    state.with { state in
      guard !state.isClosed else { return 0 }
      state.lastNumber += 1
      return state.lastNumber
    }
  }

  /// No answer is needed any more: the request leaves the queue, or the host that already took it is told.
  func withdraw(request id: UInt64) {
    let becameReadable = state.with { state -> Bool in
      let entry = state.remove {
        if case .request(id, _) = $0 { true } else { false }
      }
      if entry != nil {
        state.queuedRequests -= 1
        return signal(&state)
      }
      guard !state.isClosed else { return false }
      return put(.other(["type": "request_cancelled", "id": JSON(Int64(clamping: id))]), into: &state)
    }
    announce(becameReadable)
  }

  // MARK: The end

  /// Ends every operation as closed and wakes everybody who waits.
  func close() {
    let tasks = state.with { state -> [Task<Void, Never>] in
      let running = state.operations.filter { if case .running = $0.value.progress { true } else { false } }
      for number in running.keys {
        _ = complete(number, .failure(KassaError(.closed, "the client was closed")), &state)
      }
      state.isClosed = true
      return running.values.compactMap(\.task)
    }
    for task in tasks { task.cancel() }
    wakeup.set(nil, nil)
    loop.wakeWaiters()
  }
}

/// The host's wake-up function. Once `set` has returned, the function before it is not running and will not run.
private final class Wakeup: Sendable {
  private struct Target {
    var function: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
    nonisolated(unsafe) var userdata: UnsafeMutableRawPointer?
  }
  private let target = Locked(Target(), isRecursive: true)

  func set(_ function: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ userdata: UnsafeMutableRawPointer?) {
    target.with { $0 = Target(function: function, userdata: userdata) }
  }

  func call() {
    target.with { target in target.function?(target.userdata) }
  }
}

extension EventQueue.Entry {
  /// For the log: what kind of event, without what it is about.
  fileprivate var summary: String {
    ["type", "code", "what", "cause", "service", "method"].compactMap { document[$0]?.string }.joined(separator: " ")
  }
}

extension Result where Success == JSON, Failure == KassaError {
  fileprivate var summary: String {
    switch self {
    case .success(let result): result["outcome"]?.string ?? result["source"]?.string ?? "done"
    case .failure(let error): "\(error.code.rawValue): \(error.message)"
    }
  }
}
