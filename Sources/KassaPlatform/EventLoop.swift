import CLinux
import Glibc
import Synchronization

/// Why a part of the platform cannot be had: what was tried, and the system's word for it.
public struct PlatformError: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }

  /// The system call that just failed.
  static func call(_ name: String, _ code: Int32 = errno) -> PlatformError {
    PlatformError("\(name): \(systemErrorName(code))")
  }
}

/// The name of an error number: `ENOSPC`.
public func systemErrorName(_ number: Int32) -> String {
  kassa_error_name(number).map { String(cString: $0) } ?? "error \(number)"
}

/// One epoll set with descriptors, timers and jobs, turned by one thread at a time: the library's own, or whichever
/// thread of the host is inside a call. Actors and tasks run on it, so Swift's own pool of threads is never started.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
  public enum Mode: Sendable {
    /// A thread named "kassa" turns the loop.
    case library
    /// The threads of the host turn it, inside `wait` and `sync`.
    case host
  }

  public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    public static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// Error or hang-up; always reported.
    public static let broken = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
  }

  private enum Job {
    case task(UnownedJob)
    case closure(@Sendable () -> Void)
  }

  private struct Shared {
    var jobs: [Job] = []
    /// A job waits, and the loop has been woken for it.
    var isWoken = false
    var isStopped = false
    /// The loop is gone: nothing runs any more, and its descriptors may belong to somebody else.
    var isClosed = false
  }

  private struct Waiting {
    /// In host mode, the thread that turns the loop now.
    var isTurning = false
    /// Threads in `sync` that want the turn next, before any that only waits.
    var impatient = 0
    var isFree: Bool { !isTurning && impatient == 0 }
    /// Grows whenever somebody who waits should look again.
    var round: UInt64 = 0
  }

  public let mode: Mode
  /// Readable exactly when work is due.
  public let descriptor: Int32
  private let wake: Int32
  private let timer: Int32
  private let shared = Locked(Shared())
  /// Threads that are about to write to `wake`.
  private let wakers = Atomic(0)
  private let waiters = Condition(Waiting())
  /// The round of `waiters`, to be read without its lock.
  private let news = Atomic<UInt64>(0)
  private var thread = pthread_t()

  // Touched only by whoever turns the loop.
  private var spareJobs: [Job] = []
  private var idleJobs: [() -> Void] = []
  private var timers = TimerHeap()
  private var armed: Int64 = 0
  private var watched: [Int32: @Sendable (Readiness) -> Void] = [:]
  private var cleanups: [() -> Void] = []
  private var residents: [ObjectIdentifier: AnyObject] = [:]

  public init(mode: Mode) throws(PlatformError) {
    self.mode = mode
    descriptor = kassa_epoll()
    wake = kassa_eventfd()
    timer = kassa_timerfd()
    guard descriptor >= 0, wake >= 0, timer >= 0,
      kassa_epoll_control(descriptor, EPOLL_CTL_ADD, wake, EPOLLIN.rawValue) == 0,
      kassa_epoll_control(descriptor, EPOLL_CTL_ADD, timer, EPOLLIN.rawValue) == 0
    else {
      let error = PlatformError.call("epoll")
      closeDescriptors()
      throw error
    }
    guard mode == .library else { return }
    let context = Unmanaged.passRetained(self)
    let code = kassa_thread_start(
      &thread, "kassa",
      { argument in
        if let argument { Unmanaged<EventLoop>.fromOpaque(argument).takeRetainedValue().runUntilStopped() }
        return nil
      }, context.toOpaque())
    guard code == 0 else {
      context.release()
      closeDescriptors()
      throw PlatformError.call("pthread_create", code)
    }
  }

  private func closeDescriptors() {
    for descriptor in [descriptor, wake, timer] where descriptor >= 0 { close(descriptor) }
  }

  /// Ends the loop after what was put into it before: in library mode its thread is joined, or, where that thread
  /// itself is the caller, it ends by itself after its round. What is put in later is dropped.
  public func stop() {
    shared.with { $0.isStopped = true }
    guard mode == .library else { return finish() }
    kassa_eventfd_write(wake)
    if isCurrent { pthread_detach(thread) } else { pthread_join(thread, nil) }
  }

  private func finish() {
    asCurrent {
      runJobs()
      for cleanup in cleanups { cleanup() }
      runJobs()
    }
    (cleanups, residents, watched, timers, idleJobs) = ([], [:], [:], TimerHeap(), [])
    // Released outside the lock: what the jobs hold may want to put something in.
    let dropped = shared.with { shared -> [Job] in
      shared.isClosed = true
      defer { shared.jobs = [] }
      return shared.jobs
    }
    _ = dropped
    while wakers.load(ordering: .acquiring) > 0 { sched_yield() }
    closeDescriptors()
  }

  /// Something that lives as long as the loop, such as a connection pool, ends with it. On the loop only.
  func atStop(_ cleanup: @escaping () -> Void) { cleanups.append(cleanup) }

  /// The one object of its kind in this loop, made on first use and kept until the loop stops. On the loop only.
  func resident<Kind: AnyObject, Failure: Error>(_ make: () throws(Failure) -> Kind) throws(Failure) -> Kind {
    let key = ObjectIdentifier(Kind.self)
    if let resident = residents[key] as? Kind { return resident }
    let resident = try make()
    residents[key] = resident
    return resident
  }

  // MARK: Jobs

  public func enqueue(_ job: consuming ExecutorJob) { put(.task(UnownedJob(job))) }

  /// Runs the job on the loop, after those that were put in before.
  public func post(_ job: @escaping @Sendable () -> Void) { put(.closure(job)) }

  /// Runs the job as soon as no other one waits, so that what goes out to the network goes first. On the loop only.
  public func postWhenIdle(_ job: @escaping () -> Void) { idleJobs.append(job) }

  private func put(_ job: Job) {
    // Whoever runs the jobs looks for new ones before it sleeps.
    let needsWake = shared.with { shared -> Bool in
      guard !shared.isClosed else { return false }
      shared.jobs.append(job)
      guard !shared.isWoken, !isCurrent else { return false }
      shared.isWoken = true
      wakers.add(1, ordering: .relaxed)
      return true
    }
    guard needsWake else { return }
    kassa_eventfd_write(wake)
    wakers.subtract(1, ordering: .releasing)
  }

  /// Starts an async function on the loop; everything that it calls without an actor of its own stays there.
  @discardableResult
  public func start(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: self, operation: operation)
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// The calling thread turns this loop at this moment.
  public var isCurrent: Bool { kassa_current_loop() == Unmanaged.passUnretained(self).toOpaque() }

  public func checkIsolated() { precondition(isCurrent, "not on the loop of this client") }
  public func isIsolatingCurrentContext() -> Bool? { isCurrent }

  @discardableResult
  private func runJobs() -> Bool {
    var ran = false
    var jobs = spareJobs
    spareJobs = []
    while true {
      shared.with { swap(&$0.jobs, &jobs) }
      if jobs.isEmpty {
        guard !idleJobs.isEmpty else { break }
        idleJobs.removeFirst()()
      }
      ran = true
      for job in jobs {
        switch job {
        case .task(let job):
          job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .closure(let closure): closure()
        }
      }
      // Its memory is used again.
      jobs.removeAll(keepingCapacity: jobs.count <= 64)
    }
    spareJobs = jobs
    return ran
  }

  // MARK: Turning

  private func runUntilStopped() {
    while !shared.with({ $0.isStopped }) { turn(timeoutMilliseconds: -1) }
    finish()
  }

  /// One round: sleeps until work is due, and does it. Returns whether there was any.
  @discardableResult
  private func turn(timeoutMilliseconds: Int32) -> Bool {
    asCurrent {
      var didWork = pollDescriptors(timeoutMilliseconds: timeoutMilliseconds)
      didWork = fireTimers() || didWork
      didWork = runJobs() || didWork
      // Last, so that the descriptor tells a host about every timer that there is now.
      armTimer()
      return didWork
    }
  }

  /// Runs the body as the one who turns the loop. In host mode, where the thread takes signals, no connection that
  /// breaks may raise SIGPIPE.
  private func asCurrent<Value>(_ body: () -> Value) -> Value {
    let before = kassa_current_loop()
    kassa_set_current_loop(Unmanaged.passUnretained(self).toOpaque())
    let blocksSIGPIPE = mode == .host && kassa_block_sigpipe()
    defer {
      if blocksSIGPIPE { kassa_unblock_sigpipe() }
      kassa_set_current_loop(before)
    }
    return body()
  }

  private func pollDescriptors(timeoutMilliseconds: Int32) -> Bool {
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
      let count = kassa_epoll_wait(descriptor, events.baseAddress, 64, timeoutMilliseconds)
      var didWork = false
      for event in events.prefix(Int(max(0, count))) {
        var event = event
        let ready = kassa_epoll_event_descriptor(&event)
        if ready == wake {
          // In this order: whoever puts a job in between needs no wake, since the jobs run after this.
          kassa_eventfd_read(wake)
          shared.with { $0.isWoken = false }
        } else if ready == timer {
          kassa_timerfd_read(timer)
          armed = 0
        } else if let handler = watched[ready] {
          didWork = true
          handler(Readiness(rawValue: event.events))
        }
      }
      return didWork
    }
  }

  // MARK: Timers

  /// Calls `fire` on the loop at that time of the boot clock. On the loop only.
  public func timer(atBootNanoseconds time: Int64, _ fire: @escaping @Sendable () -> Void) -> TimerID {
    timers.add(at: time, fire)
  }

  /// On the loop only. A timer that has fired is no mistake.
  public func cancel(_ timer: TimerID) { timers.remove(timer) }

  private func armTimer() {
    // One that is set to ring earlier is left: it rings once for nothing, which is cheaper than setting it anew whenever
    // the timer of a request that was answered in time is taken back.
    guard let next = timers.next else { return }
    let wanted = max(1, next)
    guard armed == 0 || wanted < armed else { return }
    armed = wanted
    kassa_timerfd_set(timer, wanted)
  }

  private func fireTimers() -> Bool {
    guard timers.next != nil else { return false }
    var didWork = false
    let now = kassa_boot_nanoseconds()
    while let fire = timers.takeDue(at: now) {
      didWork = true
      fire()
    }
    return didWork
  }

  // MARK: Descriptors

  /// Calls `handler` on the loop whenever the descriptor is ready. On the loop only.
  @discardableResult
  public func watch(
    _ descriptor: Int32, events: Readiness, _ handler: @escaping @Sendable (Readiness) -> Void
  ) -> Bool {
    let operation = watched[descriptor] == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
    guard kassa_epoll_control(self.descriptor, operation, descriptor, events.rawValue) == 0 else { return false }
    watched[descriptor] = handler
    return true
  }

  /// On the loop only, and before the descriptor is closed.
  public func unwatch(_ descriptor: Int32) {
    guard watched.removeValue(forKey: descriptor) != nil else { return }
    _ = kassa_epoll_control(self.descriptor, EPOLL_CTL_DEL, descriptor, 0)
  }

  // MARK: Waiting, from any thread

  /// Waits until `done` says so; -1 waits without end, 0 looks once. Any number of threads may wait at once. In host
  /// mode one of them turns the loop meanwhile, and a look turns it once, even if there is nothing to wait for.
  ///
  /// `done` may take what it finds: once it has said yes it is not asked again.
  public func wait(timeoutMilliseconds: Int32, until done: () -> Bool) -> Bool {
    let deadline =
      timeoutMilliseconds < 0 ? Int64.max : kassa_monotonic_nanoseconds() + Int64(timeoutMilliseconds) * 1_000_000
    let turns = mode == .host && !isCurrent
    var mustTurn = turns && timeoutMilliseconds == 0
    var isDone = false
    while true {
      let round = waiters.with { $0.round }
      isDone = isDone || done()
      if isDone, !mustTurn { return true }
      let left = isDone ? 0 : deadline == .max ? .max : deadline - kassa_monotonic_nanoseconds()
      if left <= 0, !mustTurn { return false }
      if turns, beginTurn(after: round) {
        turn(timeoutMilliseconds: left == .max ? -1 : Int32(clamping: max(0, (left + 999_999) / 1_000_000)))
        endTurn()
      } else {
        if !turns { lookForNews(after: round) }
        waiters.wait(until: deadline) { $0.round != round || (turns && $0.isFree) }
      }
      mustTurn = false
    }
  }

  /// The library's thread often answers sooner than this one could fall asleep and be woken, so it looks a moment first.
  private func lookForNews(after round: UInt64) {
    let end = kassa_monotonic_nanoseconds() + 30_000
    while news.load(ordering: .relaxed) == round, kassa_monotonic_nanoseconds() < end { sched_yield() }
  }

  /// Takes the turn, if nobody has it and nothing has happened since that round.
  private func beginTurn(after round: UInt64) -> Bool {
    waiters.with { waiting in
      guard waiting.isFree, waiting.round == round else { return false }
      waiting.isTurning = true
      return true
    }
  }

  /// Takes the turn as soon as whoever has it ends a round.
  private func insistOnTurn() {
    let isTaken = waiters.with { waiting -> Bool in
      waiting.impatient += 1
      return waiting.isTurning
    }
    if isTaken { interrupt() }
    waiters.wait(until: .max) { waiting in
      guard !waiting.isTurning else { return false }
      waiting.isTurning = true
      waiting.impatient -= 1
      return true
    }
  }

  private func endTurn() {
    waiters.with {
      $0.isTurning = false
      $0.round &+= 1
    }
    waiters.broadcast()
  }

  /// Everybody who waits looks again.
  public func wakeWaiters() {
    waiters.with {
      $0.round &+= 1
      news.store($0.round, ordering: .relaxed)
    }
    waiters.broadcast()
    // In host mode the one who turns may sleep in epoll.
    if mode == .host, !isCurrent { interrupt() }
  }

  /// Ends the sleep of whoever turns the loop.
  private func interrupt() { post {} }

  /// Runs the body on the loop, or in its place, and returns when it has run.
  public func sync<Value>(_ body: () -> Value) -> Value {
    if isCurrent { return body() }
    return mode == .host ? inTurn(body) : onThread(body)
  }

  private func inTurn<Value>(_ body: () -> Value) -> Value {
    insistOnTurn()
    let value = asCurrent {
      defer { armTimer() }
      return body()
    }
    let isIdleWorkDue = !idleJobs.isEmpty
    endTurn()
    // What the body put in is for the next turn.
    if isIdleWorkDue || shared.with({ !$0.jobs.isEmpty && !$0.isWoken }) { interrupt() }
    return value
  }

  private func onThread<Value>(_ body: () -> Value) -> Value {
    withoutActuallyEscaping(body) { body in
      let slot = Slot(body)
      post {
        slot.run()
        self.wakeWaiters()
      }
      while true {
        let round = waiters.with { $0.round }
        if let value = slot.value { return value }
        waiters.wait(until: .max) { $0.round != round }
      }
    }
  }

  /// Carries a body to the loop and its value back; the caller waits meanwhile.
  private final class Slot<Value>: @unchecked Sendable {
    private var body: (() -> Value)?
    private let result = Locked<Value?>(nil)
    init(_ body: @escaping () -> Value) { self.body = body }
    var value: Value? { result.with { $0 } }

    func run() {
      let value = call()
      result.with { $0 = value }
    }

    /// Lets go of the body, which the caller owns, before the caller can see that it has run.
    private func call() -> Value? {
      defer { body = nil }
      return body?()
    }
  }
}
