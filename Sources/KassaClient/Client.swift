import KassaCore
import KassaJSON
import KassaPlatform

/// One client: what the C door opens, asks, starts, listens to and closes. Every method may be called from any thread.
public final class Client: Sendable {
  private let loop: EventLoop
  private let threading: ClientOptions.Threading
  private let queue: EventQueue
  private let requests: HostRequests
  private let state: ClientState
  private let engine: Engine
  private let random: any RandomSource
  private let tasks = Locked(0)

  /// Where `kassa_has_access` looks things up.
  public var answers: AnswerTable { state.answers }

  // MARK: Life

  /// - Parameters:
  ///   - assembly: builds what a configuration names; called on the client's loop.
  ///   - time: the clocks; the machine's own if nil.
  public init(
    _ options: ClientOptions, assembly: @escaping Assembly, time: (any TimeSource)? = nil,
    random: any RandomSource = SystemRandom()
  ) throws(KassaError) {
    threading = options.threading
    self.random = random
    loop = try Self.loop(threading)
    do throws(KassaError) {
      let time = time ?? SystemTime(loop: loop)
      let opened = try StorageDirectory.open(options.storage, wallMilliseconds: time.wallMilliseconds)
      let knowledge = try Self.knowledge(in: opened.storage, time: time, random: random)
      queue = try EventQueue(loop: loop, log: options.log)
      requests = HostRequests(queue: queue, loop: loop, time: time)
      let link = EngineLink(loop: loop)
      state = ClientState(
        knowledge: knowledge, queue: queue, time: time, answers: AnswerTable(random: SystemRandom()),
        nextEndMoved: link.armExpiry)
      engine = Engine(
        loop: loop, state: state, queue: queue, time: time, random: random, storage: opened.storage,
        assembly: assembly,
        surroundings: Surroundings(
          loop: loop, time: time, random: random, storage: options.storage, requests: requests, state: state,
          log: options.log, serverAnswered: link.serverAnswered,
          report: { [queue] code, message, details in queue.put(.diagnostic(code, message, details)) }))
      link.connect(engine)
      reportStorage(options, damagedFile: opened.damagedFile)
    } catch {
      Self.release(loop, threading)
      throw error
    }
  }

  private static func loop(_ threading: ClientOptions.Threading) throws(KassaError) -> EventLoop {
    do throws(PlatformError) {
      return threading == .host ? try EventLoop(mode: .host) : try EventLoop.acquireShared()
    } catch {
      throw KassaError(.internalError, "the event loop cannot start: \(error)")
    }
  }

  private static func release(_ loop: EventLoop, _ threading: ClientOptions.Threading) {
    if threading == .host { loop.stop() } else { EventLoop.releaseShared(loop) }
  }

  private static func knowledge(
    in storage: ClientStorage, time: any TimeSource, random: any RandomSource
  ) throws(KassaError) -> ClientState.Knowledge {
    do throws(DatabaseError) {
      let deviceID = try storage.deviceID { random.uuid() }
      guard !deviceID.isEmpty else { throw DatabaseError(code: 0, message: "the system has no random bytes to give") }
      return ClientState.Knowledge(
        ownership: Ownership(identity: Identity(deviceID: deviceID, appUserID: try storage.appUserID())),
        clock: TrustedClock(
          savedMilliseconds: try storage.savedTime(), wallMilliseconds: time.wallMilliseconds,
          bootNanoseconds: time.bootNanoseconds))
    } catch {
      throw KassaError(
        .storage, "the storage cannot be read or written: \(error)", retryable: error.isBusy || error.isFull)
    }
  }

  private func reportStorage(_ options: ClientOptions, damagedFile: String?) {
    if let damagedFile {
      engine.report(
        "storage_reset", "the storage file was damaged; it was set aside and a new one begun",
        ["kept_as": JSON(damagedFile)])
    }
    if options.storage == ClientOptions.inMemory, !options.choseStorage {
      engine.report(
        "storage_in_memory", "without \"app_id\" or \"storage\" nothing survives this process", [:])
    }
  }

  /// Ends everything; at most once.
  public func close() {
    queue.close()
    requests.close()
    loop.sync { engine.assumeIsolated { $0.shutDown() } }
    // Tasks that were cancelled still have to notice; what they wait for is gone, so that is soon.
    _ = loop.wait(timeoutMilliseconds: 1_500) { tasks.with { $0 == 0 } }
    Self.release(loop, threading)
  }

  // MARK: Ask

  public var isInitialized: Bool { state.isInitialized }
  public var supportsExternalPurchases: Bool { state.supportsExternalPurchases }
  public var deviceID: String { state.identity.deviceID }
  public var appUserID: String? { state.identity.appUserID?.text }
  public var plans: JSON { wholeState.plans }
  public var memberships: JSON { wholeState.memberships }
  public var entitlements: JSON { wholeState.entitlements }
  public var revision: UInt64 { state.revision }
  func clockMoved() { state.clockMoved() }
  public func explain(_ productID: String) -> JSON { wholeState.explain(productID) }

  /// Reading what is stale asks for news.
  public var person: JSON {
    let person = wholeState.person
    if person["stale"]?.bool ?? true { loop.post { [engine] in engine.assumeIsolated { $0.freshenPerson() } } }
    return person
  }

  /// nil when the disk does not say.
  public var pending: JSON? { loop.sync { engine.assumeIsolated { $0.pending() } } }

  /// The state with all that the storage holds. Right after a start only the answers of `kassa_has_access` have been
  /// read; whoever wants more first has the rest read.
  private var wholeState: ClientState {
    if state.isEarly { loop.sync { engine.assumeIsolated { $0.readRest() } } }
    return state
  }

  // MARK: Start

  public func configure(_ document: JSON) -> UInt64 {
    let operation = queue.begin("configure")
    let adopted: Result<Void, KassaError> = loop.sync {
      engine.assumeIsolated { engine in
        do throws(KassaError) { return .success(try engine.adopt(document)) } catch { return .failure(error) }
      }
    }
    switch adopted {
    case .success: run(operation) { engine throws(KassaError) in try await engine.confirm() }
    case .failure(let error): queue.complete(operation, .failure(error))
    }
    return operation
  }

  public func refreshPlans() -> UInt64 {
    start("refresh_plans") { engine throws(KassaError) in try await engine.refreshPlans(.refresh) }
  }

  /// - Parameter slugs: which, in this order; nil for all.
  public func products(_ slugs: [String]?) -> UInt64 {
    start("get_products") { engine throws(KassaError) in try await engine.products(slugs) }
  }

  public func purchase(_ name: String, _ options: JSON) -> UInt64 {
    start("purchase") { engine throws(KassaError) in try await engine.purchase(name, options: options) }
  }

  public func setAttributes(_ set: JSON, _ setOnce: JSON) -> UInt64 {
    start("set_attributes") { engine throws(KassaError) in
      try await engine.setAttributes(try Attributes(checking: set, setOnce: setOnce))
    }
  }

  /// On disk when this returns; sent in the background.
  public func report(transaction: JSON) -> UInt64 {
    let operation = queue.begin("report_transaction")
    let ending: Result<JSON, KassaError> = loop.sync {
      engine.assumeIsolated { engine in
        do throws(KassaError) { return .success(try engine.report(transaction: transaction)) } catch {
          return .failure(error)
        }
      }
    }
    queue.complete(operation, ending)
    return operation
  }

  public func syncPurchases() -> UInt64 {
    start("sync_purchases") { engine throws(KassaError) in try await engine.syncPurchases() }
  }

  public func syncPendingWork() -> UInt64 {
    start("sync_pending_work") { engine throws(KassaError) in try await engine.syncPendingWork() }
  }

  public func restorePurchases() -> UInt64 {
    start("restore_purchases") { engine throws(KassaError) in try await engine.restorePurchases() }
  }

  public func simulate(_ action: JSON) -> UInt64 {
    start("simulate") { engine throws(KassaError) in try await engine.simulate(action) }
  }

  public func storeCall(_ method: String, _ params: JSON) -> UInt64 {
    start("store_call") { engine throws(KassaError) in try await engine.storeCall(method, params) }
  }

  /// The local switch is made before this returns, so that logging in and out take effect in the order of the calls.
  public func logIn(_ appUserID: String, _ attributes: JSON = [:]) -> UInt64 {
    let operation = queue.begin("log_in")
    guard operation != 0 else { return 0 }
    if let error = Self.refusal(of: appUserID) ?? (state.isConfigured ? nil : .notConfigured) {
      queue.complete(operation, .failure(error))
      return operation
    }
    guard !wholeState.hasPeople else {
      let checked: Attributes
      do throws(KassaError) {
        checked = try Attributes(checking: attributes, setOnce: [:])
        try loop.sync { engine.assumeIsolated { $0.refusal(of: DistinctID(appUserID)) } }.get()
      } catch {
        queue.complete(operation, .failure(error))
        return operation
      }
      let (identification, before) = state.identify(AppUserID(appUserID), checked, uuid: random.uuid())
      run(operation) { engine throws(KassaError) in try await engine.identify(identification, before: before) }
      return operation
    }
    // Until the storage gives it a number, the claim has one that no other can have.
    let claim = wholeState.logIn(AppUserID(appUserID), temporaryID: -Int64(clamping: operation))
    run(operation) { engine throws(KassaError) in try await engine.logIn(claim) }
    return operation
  }

  private static func refusal(of appUserID: String) -> KassaError? {
    let length = appUserID.utf8.count
    guard length == 0 || length > Constants.longestAppUserID else { return nil }
    return KassaError(
      .invalidArgument, "app_user_id must have 1 to \(Constants.longestAppUserID) bytes (got \(length))")
  }

  public func logOut() {
    wholeState.logOut(uuid: random.uuid())
    loop.post { [engine] in engine.assumeIsolated { $0.saveIdentity() } }
  }

  public func cancel(_ operation: UInt64) -> Bool { queue.cancel(operation) }

  private func start(
    _ name: String, _ body: @escaping @Sendable (isolated Engine) async throws(KassaError) -> JSON
  ) -> UInt64 {
    let operation = queue.begin(name)
    run(operation, body)
    return operation
  }

  private func run(
    _ operation: UInt64, _ body: @escaping @Sendable (isolated Engine) async throws(KassaError) -> JSON
  ) {
    guard operation != 0 else { return }
    tasks.with { $0 += 1 }
    let task = loop.start { [engine, queue, tasks] in
      let ending = await engine.run(body)
      // First, since completing wakes whoever waits, for the operation or for the last task.
      tasks.with { $0 -= 1 }
      queue.complete(operation, ending)
    }
    queue.attach(task, to: operation)
  }

  // MARK: Listen

  public func nextEvent(timeoutMilliseconds: Int32) -> JSON? { queue.next(timeoutMilliseconds: timeoutMilliseconds) }

  public func wait(_ operation: UInt64, timeoutMilliseconds: Int32) -> JSON? {
    queue.wait(for: operation, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Readable while `nextEvent` has something to do.
  public var eventDescriptor: Int32 { threading == .host ? loop.descriptor : queue.descriptor }

  public func setWakeup(
    _ function: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ userdata: UnsafeMutableRawPointer?
  ) { queue.setWakeup(function, userdata) }

  /// Whether it was understood.
  public func notify(_ event: JSON) -> Bool { loop.sync { engine.assumeIsolated { $0.notify(event) } } }

  public func respond(_ request: UInt64, _ reply: JSON) -> Bool { requests.respond(request, reply) }
}

extension Client: UnknownProductListener {
  /// Reported once for each product.
  public func askedForUnknown(_ product: String) { state.noteUngranted(product) }
}

/// What the state and the outside tell the engine, from any thread and from before it exists.
private final class EngineLink: Sendable {
  private let loop: EventLoop
  private struct Weak { weak var engine: Engine? }
  private let target = Locked(Weak())

  init(loop: EventLoop) { self.loop = loop }

  /// The client keeps the engine alive; a link that did too would be a cycle.
  func connect(_ engine: Engine) { target.with { $0.engine = engine } }

  private func tell(_ message: @escaping @Sendable (isolated Engine) -> Void) {
    loop.post { [target] in target.with { $0.engine }?.assumeIsolated(message) }
  }

  var armExpiry: @Sendable () -> Void { { self.tell { $0.armExpiry(at: $0.state.nextEndOnBootClock) } } }
  var serverAnswered: @Sendable () -> Void { { self.tell { $0.serverAnswered() } } }
}
