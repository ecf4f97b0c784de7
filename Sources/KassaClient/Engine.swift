import KassaCore
import KassaJSON
import KassaPlatform

/// Everything of a client that waits: for the network, the disk, the host or the time. It lives on the client's loop,
/// and what it learns it puts into `ClientState`, from which the queries answer.
actor Engine {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  nonisolated let state: ClientState
  nonisolated let queue: EventQueue
  let time: any TimeSource
  let random: any RandomSource
  let storage: ClientStorage
  let assembly: Assembly
  let surroundings: Surroundings

  /// The configuration in force; replaced as a whole.
  struct Active {
    /// Grows with each new one: what was asked of an older one must not count for a newer.
    var number: Int
    var document: JSON
    var configuration: Configuration
    var setup: Setup
    var mayReadMemberships = false
    var reported: Set<String> = []
    /// The store has answered a scan.
    var hasReadStore = false

    func memberships() throws(KassaError) -> any MembershipBackend {
      guard case .memberships(let backend) = setup.backend else {
        throw KassaError(.unsupported, "\"\(configuration.backendKind)\" has no plans and memberships")
      }
      return backend
    }

    /// Where the back end has people, a client that is not enabled asks it nothing (Voidhash's SDKs, option `enabled`).
    var isInert: Bool { hasPeople && !configuration.isEnabled }
    var hasPeople: Bool { if case .people = setup.backend { true } else { false } }

    func people() throws(KassaError) -> any PersonBackend {
      guard case .people(let backend) = setup.backend else {
        throw KassaError(.unsupported, "\"\(configuration.backendKind)\" has no products, perks and people")
      }
      return backend
    }
  }

  var active: Active?
  /// The configuration's cache has been read for its answers only.
  var restIsUnread = false
  /// Purchases that may still succeed.
  var attempts: [String: PurchaseAttempt] = [:]
  var isPurchasing = false
  /// The store's sheet is open, and who was logged in when it was opened.
  var isInStore = false
  var purchaser: Identity?
  /// The same, where the back end has people.
  var purchaserID: DistinctID?
  /// What the store delivered meanwhile, and what the user wanted to buy there.
  var waitingDeliveries: [StoreDelivery] = []
  var waitingIntents: [StoreOrder] = []
  /// By `StoreTransaction.key`: told of in this run; being finished; not on disk, since it refused them.
  var toldTransactions: Set<String> = []
  var finishing: Set<String> = []
  var unsavedReceipts: Set<String> = []
  var reportedUnverified: Set<String> = []
  var scannedAt: Int64?
  var triggeredAt: [ScanTrigger: Int64] = [:]
  var laterScan: Task<Void, Never>?
  /// What the host said of its store before it configured the client.
  var earlyNotifications: [JSON] = []
  /// There were more of them than are kept, which has been told.
  var lostNotifications = false
  var outbox: OutboxState
  var people = PeopleState()
  /// Logins whose own operation is still at the claim.
  var firstTries: Set<Int64> = []
  /// When the answer was asked for that a membership's row comes from, on the boot clock: an answer that was asked for
  /// earlier, and comes later, is older.
  var rowsAskedAt: [String: Int64] = [:]
  var settling: Task<Void, Never>?
  var retry: Task<Void, Never>?
  var expiry: Task<Void, Never>?
  /// What it waits for, on the boot clock and by the trusted time.
  var expiryAt: Int64?
  var expiryEnd: Int64?
  var renewalCheck: Task<Void, Never>?
  /// Those that look for the success of a purchase whose operation has ended, by the number of the attempt.
  var lateLooks: [String: Task<Void, Never>] = [:]
  /// The trusted time that is on disk.
  var savedTime: Int64?
  var storageFailed = false
  var refused = RefusedWrites()
  var watch: StorageWatch?

  init(
    loop: EventLoop, state: ClientState, queue: EventQueue, time: any TimeSource, random: any RandomSource,
    storage: ClientStorage, assembly: @escaping Assembly, surroundings: Surroundings
  ) {
    self.loop = loop
    self.state = state
    self.queue = queue
    self.time = time
    self.random = random
    self.storage = storage
    savedTime = try? storage.savedTime()
    self.assembly = assembly
    self.surroundings = surroundings
    outbox = OutboxState(directory: surroundings.storage)
  }

  func pause(milliseconds: Int64) async throws(KassaError) {
    do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch {
      throw KassaError(.cancelled, "the operation was cancelled")
    }
  }

  /// The configuration in force, with everything known that is known for it.
  func configured() throws(KassaError) -> Active {
    readRest()
    guard let active else { throw .notConfigured }
    return active
  }

  /// Runs one operation here.
  func run(_ body: @Sendable (isolated Engine) async throws(KassaError) -> JSON) async -> Result<JSON, KassaError> {
    do throws(KassaError) { return .success(try await body(self)) } catch { return .failure(error) }
  }

  func outcome(
    _ body: @Sendable (isolated Engine) async throws(KassaError) -> Void
  ) async -> Result<Void, KassaError> {
    do throws(KassaError) { return .success(try await body(self)) } catch { return .failure(error) }
  }

  func isCurrent(_ active: Active) -> Bool { active.number == self.active?.number }
  var replaced: KassaError { KassaError(.cancelled, "another configuration took the place of this one") }

  /// Everything that the service can say of whoever asks.
  func refresh(_ cause: Change.Cause) async throws(KassaError) {
    if try configured().hasPeople {
      try await refreshPeople(cause)
    } else {
      try await refreshMembershipsAndPlans(cause)
    }
  }

  func restorePurchases() async throws(KassaError) -> JSON {
    let active = try configured()
    return active.hasPeople ? try await restorePeople(active) : try await restoreMemberships(active)
  }

  func simulate(_ action: JSON) async throws(KassaError) -> JSON {
    guard let simulate = try configured().setup.simulate else {
      throw KassaError(
        .unsupported,
        "kassa_simulate needs the sandbox in this process, \"base_url\":\"embedded:\", or a simulated store")
    }
    let result = try simulate(action)
    // When the sandbox's time was moved, the answers follow at once: first what ended, then what renewed.
    if let now = result["now"]?.integer {
      let hasEnded = (expiryEnd ?? .max) <= now
      // Looked after here.
      if hasEnded { expiryEnd = nil }
      state.correctClock(serverMilliseconds: now)
      active?.setup.store?.clockMoved()
      if hasEnded {
        let look = Task(executorPreference: loop) { await self.lookAfterEnd() }
        await wait(Constants.storeAnswerMilliseconds, for: look)
      }
    }
    return result
  }

  // MARK: Diagnostics

  nonisolated func report(_ code: String, _ message: String, _ details: JSON) {
    queue.put(.diagnostic(code, message, details))
  }

  /// At most once for each configuration; what stands behind a colon only tells cases apart.
  func reportOnce(_ key: String, _ message: String, _ details: JSON) {
    guard active?.reported.insert(key).inserted ?? false else { return }
    report(String(key.prefix { $0 != ":" }), message, details)
  }

  /// The last words: the time, and the end of everything that waits.
  func shutDown() {
    keepTime()
    saveIdentityAtTheEnd()
    if let active, let answersToKeep {
      write { storage throws(DatabaseError) in try storage.keep(answersToKeep, scope: active.setup.scope) }
    }
    watch?.stop()
    watch = nil
    stopOutbox()
    active?.setup.store?.close()
    let tasks = [settling, retry, expiry, renewalCheck, laterScan, people.chase, refused.retry]
    for task in tasks.compactMap(\.self) + lateLooks.values {
      task.cancel()
    }
    active = nil
  }
}
