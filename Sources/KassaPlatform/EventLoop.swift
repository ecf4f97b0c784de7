import CLinux
import Glibc

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
    /// A job waits, and the loop has been or need not be woken.
    var isWoken = false
    var isStopped = false
    /// The descriptors are gone; what is put in now is dropped.
    var isClosed = false
  }

  private struct Waiting {
    /// In host mode, the thread that turns the loop now.
    var isTurning = false
    /// Grows whenever somebody who waits should look again.
    var round: UInt64 = 0
  }

  public let mode: Mode
  /// Readable exactly when work is due.
  public let descriptor: Int32
  private let wake: Int32
  private let timer: Int32
  private let shared = Locked(Shared())
  private let waiters = Condition(Waiting())
  private var thread = pthread_t()

  // Touched only by whoever turns the loop.
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

  /// Ends the loop: in library mode its thread is joined. What was put into it runs once more, so that tasks whose
  /// transfers end here can end too; what waits for a timer after that is dropped. Never called on the loop itself.
  public func stop() {
    shared.with { $0.isStopped = true }
    if mode == .library {
      kassa_eventfd_write(wake)
      pthread_join(thread, nil)
    }
    asCurrent {
      for cleanup in cleanups { cleanup() }
      _ = runJobs()
      (cleanups, residents, watched, timers) = ([], [:], [:], TimerHeap())
    }
    shared.with {
      ($0.isClosed, $0.jobs) = (true, [])
      closeDescriptors()
    }
  }

  /// Something that lives as long as the loop, such as a connection pool, ends with it.
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

  private func put(_ job: Job) {
    shared.with { shared in
      guard !shared.isClosed else { return }
      shared.jobs.append(job)
      // Whoever runs the jobs looks for new ones before it sleeps.
      guard !shared.isWoken, !isCurrent else { return }
      shared.isWoken = true
      // Inside the lock, so that `stop` does not close the descriptor meanwhile.
      kassa_eventfd_write(wake)
    }
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

  private func runJobs() -> Bool {
    var ran = false
    while true {
      let jobs = shared.with { shared -> [Job] in
        defer { shared.jobs = [] }
        return shared.jobs
      }
      guard !jobs.isEmpty else { return ran }
      ran = true
      for job in jobs {
        switch job {
        case .task(let job):
          job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .closure(let closure): closure()
        }
      }
    }
  }

  // MARK: Turning

  private func runUntilStopped() {
    while !shared.with({ $0.isStopped }) { turn(timeoutMilliseconds: -1) }
  }

  /// One round: sleeps until work is due, and does it. Returns whether there was any.
  @discardableResult
  private func turn(timeoutMilliseconds: Int32) -> Bool {
    asCurrent {
      var didWork = runJobs()
      armTimer()
      didWork = pollDescriptors(timeoutMilliseconds: didWork ? 0 : timeoutMilliseconds) || didWork
      didWork = fireTimers() || didWork
      return runJobs() || didWork
    }
  }

  /// Runs the body as the one who turns the loop. In host mode, where the thread has signals of its own, no broken
  /// connection may raise SIGPIPE; and the host polls the descriptor afterwards, so the timer has to be right.
  private func asCurrent<Value>(_ body: () -> Value) -> Value {
    let before = kassa_current_loop()
    kassa_set_current_loop(Unmanaged.passUnretained(self).toOpaque())
    let blocksSIGPIPE = mode == .host && kassa_block_sigpipe()
    defer {
      if mode == .host { armTimer() }
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
          shared.with { $0.isWoken = false }
          kassa_eventfd_read(wake)
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
    let next = max(1, timers.next ?? 0)
    let wanted = timers.next == nil ? 0 : next
    guard wanted != armed else { return }
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
  /// mode one of them turns the loop meanwhile.
  public func wait(timeoutMilliseconds: Int32, until done: () -> Bool) -> Bool {
    let deadline =
      timeoutMilliseconds < 0 ? Int64.max : kassa_monotonic_nanoseconds() + Int64(timeoutMilliseconds) * 1_000_000
    var hasTurned = false
    while true {
      let round = waiters.with { $0.round }
      if done() && (mode == .library || hasTurned || isCurrent || timeoutMilliseconds != 0) { return true }
      let left = deadline == .max ? Int64.max : deadline - kassa_monotonic_nanoseconds()
      let isOver = left <= 0 && (hasTurned || mode == .library)
      if isOver { return done() }
      if mode == .host, !isCurrent, beginTurn() {
        // A due timer, or an answer, may be what is waited for: look again after every turn that did something.
        let milliseconds = left == .max ? -1 : Int32(clamping: max(0, (left + 999_999) / 1_000_000))
        turn(timeoutMilliseconds: done() ? 0 : milliseconds)
        endTurn()
        hasTurned = true
      } else {
        hasTurned = true
        waiters.wait(until: deadline) { $0.round != round || (mode == .host && !$0.isTurning && !isCurrent) }
      }
    }
  }

  private func beginTurn() -> Bool {
    waiters.with { waiting in
      guard !waiting.isTurning else { return false }
      waiting.isTurning = true
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
    waiters.with { $0.round &+= 1 }
    waiters.broadcast()
    // In host mode the one who turns may sleep in epoll.
    if mode == .host, !isCurrent { post {} }
  }

  /// Runs the body on the loop, or in its place, and returns when it has run.
  public func sync<Value>(_ body: () -> Value) -> Value {
    if isCurrent { return body() }
    if mode == .host {
      while !beginTurn() {
        post {}
        waiters.wait(until: .max) { !$0.isTurning }
      }
      defer {
        endTurn()
        // What the body put in is for the next turn.
        if shared.with({ !$0.jobs.isEmpty && !$0.isWoken }) { post {} }
      }
      return asCurrent(body)
    }
    return withoutActuallyEscaping(body) { body in
      let slot = Slot(body)
      post { [waiters] in
        slot.run()
        waiters.with { $0.round &+= 1 }
        waiters.broadcast()
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
