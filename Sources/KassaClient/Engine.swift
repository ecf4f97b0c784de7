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
  private let storage: ClientStorage
  private let assembly: Assembly
  private let surroundings: Surroundings

  /// The configuration in force; replaced as a whole.
  struct Active {
    /// Grows with each new one: what was asked of an older one must not count for a newer.
    var number: Int
    var document: JSON
    var configuration: Configuration
    var setup: Setup
    var mayReadMemberships = false
    var reported: Set<String> = []
  }

  var active: Active?
  /// The configuration's cache has been read for its answers only.
  private var restIsUnread = false
  /// Purchases that may still succeed.
  var attempts: [String: PurchaseAttempt] = [:]
  var isPurchasing = false
  /// The store's sheet is open, and who was logged in when it was opened.
  var isInStore = false
  var purchaser: Identity?
  /// What the store delivered meanwhile, and what the user wanted to buy there.
  var waitingDeliveries: [StoreDelivery] = []
  var waitingIntents: [StoreOrder] = []
  /// By `StoreTransaction.key`: told of in this run; being finished; not on disk, since it refused them.
  var toldTransactions: Set<String> = []
  var finishing: Set<String> = []
  var unsavedReceipts: Set<String> = []
  var reportedUnverified: Set<String> = []
  var scannedAt: Int64?
  var laterScan: Task<Void, Never>?
  /// What the host said of its store before it configured the client.
  var earlyNotifications: [JSON] = []
  var submission: Task<Void, Never>?
  /// Logins whose own operation is still at the claim.
  var firstTries: Set<Int64> = []
  /// When the answer was asked for that a membership's row comes from, on the boot clock: an answer that was asked for
  /// earlier, and comes later, is older.
  private var rowsAskedAt: [String: Int64] = [:]
  private var settling: Task<Void, Never>?
  private var retry: Task<Void, Never>?
  private var expiry: Task<Void, Never>?
  private var expiryAt: Int64?
  private var renewalCheck: Task<Void, Never>?
  /// Those that look for the success of a purchase whose operation has ended, by the number of the attempt.
  var lateLooks: [String: Task<Void, Never>] = [:]
  /// The trusted time that is on disk.
  private var savedTime: Int64?
  private var storageFailed = false
  private var watch: StorageWatch?

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
  }

  // MARK: Configuration

  /// Checks a configuration and loads what is cached for it.
  func adopt(_ document: JSON) throws(KassaError) {
    if active?.document == document { return }
    let configuration = try Configuration(document)
    let setup = try assembly(configuration, surroundings)
    readRest()
    let isFirst = active == nil
    let isNewScope = active?.setup.scope != setup.scope
    if isNewScope { rowsAskedAt = [:] }
    active?.setup.store?.close()
    let hasSameStore = active?.configuration.store == configuration.store
    active = Active(
      number: (active?.number ?? 0) + 1, document: document, configuration: configuration, setup: setup)
    queue.setSandbox(setup.isSandbox)
    let facts = ClientState.SetupFacts(
      isSandbox: setup.isSandbox, hasStore: setup.store != nil, offlineDays: configuration.offlineDays,
      isStrict: configuration.isStrict, priceText: setup.priceText)
    let policy = EntitlementPolicy(
      productIDs: setup.productIDs, environments: setup.storeEnvironments, offlineDays: configuration.offlineDays,
      isStrict: configuration.isStrict)
    let storefront = setup.store == nil ? nil : Self.storefront(configuration)
    openStore()
    if isFirst, let early = earlyAnswers(setup.scope, policy) {
      restIsUnread = true
      return state.publish(early) {
        ($0.setup, $0.policy) = (facts, policy)
        $0.storefront = storefront
      }
    }
    take(readCache(setup.scope)) { knowledge in
      (knowledge.setup, knowledge.policy) = (facts, policy)
      // What the same store said still holds.
      let isKnown = hasSameStore && knowledge.storefront?.source == .store
      if !isKnown { knowledge.storefront = storefront }
      knowledge.isInitialized = false
      if isNewScope { knowledge.forget() }
    }
  }

  /// Until the store says where the user buys: what the configuration says, or its locale.
  static func storefront(_ configuration: Configuration) -> ClientState.KnownStorefront? {
    if let region = configuration.region.flatMap({ Storefront(country: $0) }) {
      return ClientState.KnownStorefront(storefront: region, source: .region)
    }
    let locale = configuration.locale ?? ProcessEnvironment.locale
    let region = locale.split { $0 == "-" || $0 == "_" }.dropFirst().compactMap { Storefront(country: String($0)) }
      .first
    return region.map { ClientState.KnownStorefront(storefront: $0, source: .locale) }
  }

  /// The answers that the last run left, if they still hold for whoever asks now.
  private func earlyAnswers(_ scope: String, _ policy: EntitlementPolicy) -> ClientStorage.EarlyAnswers? {
    let user = state.identity.appUserID
    let early = read { storage throws(DatabaseError) in
      try storage.earlyAnswers(scope: scope, appUserID: user, policy: policy)
    }
    return early ?? nil
  }

  /// Reads what `adopt` left for later, if it did.
  func readRest() {
    guard restIsUnread, let active else { return }
    restIsUnread = false
    // If the disk refuses now, the answers that it gave still stand.
    if let cache = readCache(active.setup.scope) { take(cache) { _ in } }
  }

  private func readCache(_ scope: String) -> ClientStorage.Cache? {
    read { storage throws(DatabaseError) in try storage.load(scope: scope) }
  }

  private func take(_ cache: ClientStorage.Cache?, _ prepare: (inout ClientState.Knowledge) -> Void) {
    attempts = Dictionary((cache?.attempts ?? []).map { ($0.nonce, $0) }) { $1 }
    state.change(.configure) { knowledge in
      prepare(&knowledge)
      if let cache { knowledge.fill(from: cache, unsaved: unsavedReceipts, keepingNewer: storageFailed) }
    }
    mapReceipts()
    checkRenewals()
  }

  /// Where a mapping was changed, or a plan was not known when its transaction came.
  private func mapReceipts() {
    guard let active else { return }
    var changed: [Receipt] = []
    for receipt in state.knowledge.receipts.values {
      let planID = active.setup.planMappings.first { $0.storeProductID == receipt.transaction.productID }?.planID
      let isSame = planID == receipt.planID
      let productID = planID.flatMap(state.productID(ofPlan:)) ?? (isSame ? receipt.productID : nil)
      if !isSame || productID != receipt.productID { changed.append(receipt.mapped(to: planID, productID)) }
    }
    guard !changed.isEmpty else { return }
    state.change(.refresh) { knowledge in
      for receipt in changed { knowledge.receipts[receipt.transaction.key] = receipt }
    }
    let answers = answersToKeep
    write { storage throws(DatabaseError) in
      try storage.save(receipts: changed, answers: answers, scope: active.setup.scope)
    }
    scheduleSubmission()
  }

  /// What the network says to the configuration that was adopted. Offline, the cache stands.
  func confirm() async throws(KassaError) -> JSON {
    guard let active else { throw .notConfigured }
    var source = "network"
    do throws(KassaError) {
      if hasCache { try await pause(milliseconds: Constants.confirmationDelayMilliseconds) }
      readRest()
      startWatching()
      keepTime()
      settleStore()
      try await refresh(.configure)
      settle()
    } catch {
      guard active.number == self.active?.number else { throw error }
      guard error.isTransient else { throw error }
      scheduleRetry()
      guard hasCache else { throw error }
      source = "cache"
    }
    guard isCurrent(active) else { throw replaced }
    state.change(.configure) { $0.isInitialized = true }
    return ["source": JSON(source)]
  }

  /// Something was once learnt for whoever asks now.
  private var hasCache: Bool { state.hasListing }

  private func pause(milliseconds: Int64) async throws(KassaError) {
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

  // MARK: Refreshing

  /// Plans and memberships, side by side.
  func refresh(_ cause: Change.Cause) async throws(KassaError) {
    async let plans = outcome { engine throws(KassaError) in _ = try await engine.refreshPlans(cause) }
    let memberships = await outcome { engine throws(KassaError) in try await engine.refreshMemberships(cause) }
    let both = (memberships, await plans)
    try both.0.get()
    try both.1.get()
  }

  /// Runs one operation here.
  func run(_ body: @Sendable (isolated Engine) async throws(KassaError) -> JSON) async -> Result<JSON, KassaError> {
    do throws(KassaError) { return .success(try await body(self)) } catch { return .failure(error) }
  }

  private func outcome(
    _ body: @Sendable (isolated Engine) async throws(KassaError) -> Void
  ) async -> Result<Void, KassaError> {
    do throws(KassaError) { return .success(try await body(self)) } catch { return .failure(error) }
  }

  func refreshPlans(_ cause: Change.Cause) async throws(KassaError) -> JSON {
    let active = try configured()
    var plans = try await active.setup.backend.plans()
    guard isCurrent(active) else { throw replaced }
    // The store's prices stand until it has been asked again.
    let known = Dictionary(state.loadedPlans.map { ($0.id, $0.storeDisplayPrice) }) { $1 }
    for index in plans.indices { plans[index].storeDisplayPrice = known[plans[index].id] ?? nil }
    keep(plans, cause: cause, active)
    mapReceipts()
    if cause == .configure {
      Task(executorPreference: loop) { await self.showStorePrices() }
    } else {
      await showStorePrices()
    }
    return ["plans": state.plans]
  }

  func keep(_ plans: [Plan], cause: Change.Cause, _ active: Active) {
    state.change(cause) { $0.plans = .loaded(plans) }
    write { storage throws(DatabaseError) in
      try storage.save(plans: StoredPlans.encode(plans), scope: active.setup.scope)
    }
  }

  func refreshMemberships(_ cause: Change.Cause) async throws(KassaError) {
    let active = try configured()
    let identity = state.identity
    let askedAt = time.bootNanoseconds
    let listing: MembershipListing
    do throws(KassaError) {
      listing = try await active.setup.backend.memberships(of: identity)
    } catch {
      if error.code == .notServiceAnswer {
        reportOnce("not_service_answer", error.message, ["status": JSON(error.status)])
      }
      throw error
    }
    if listing.scanned > Constants.largeScan {
      reportOnce(
        "membership_scan_large",
        "\(listing.scanned) memberships were read to find those of this user; a service with an index answers faster",
        ["scanned": JSON(listing.scanned)])
    }
    if listing.memberships.isEmpty { try await verifyEmptiness(active) }
    let verified = await verifyOmissions(from: listing.memberships, of: identity, active)
    guard isCurrent(active) else { throw replaced }
    self.active?.reported.remove("not_service_answer")
    learn(listing.memberships + verified, listed: identity, cause: cause, askedAt: askedAt)
  }

  /// An empty list also comes from a credential that may not read; that says nothing about the user.
  func verifyEmptiness(_ active: Active) async throws(KassaError) {
    guard !active.mayReadMemberships else { return }
    do throws(KassaError) {
      guard try await active.setup.backend.mayReadMemberships() else {
        let message = "the credential may not read memberships, so the empty answer says nothing"
        reportOnce("credential_lacks_permission", message, [:])
        throw KassaError(.permissionDenied, message)
      }
    } catch {
      // A broker that does not know the question need not answer it.
      guard error.code == .notFound else { throw error }
    }
    if isCurrent(active) { self.active?.mayReadMemberships = true }
  }

  /// Asks one by one for the grants that a list left out. Only a membership's own row can end it.
  private func verifyOmissions(
    from listed: [Membership], of identity: Identity, _ active: Active
  ) async -> [Membership] {
    let ids = Set(listed.map(\.id))
    let knowledge = state.knowledge
    guard knowledge.ownership.identity == identity else { return [] }
    let now = state.now
    let omitted = knowledge.memberships.values
      .filter { !ids.contains($0.id) }
      .map { Entitlement($0, ownership: knowledge.ownership, policy: knowledge.policy) }
      .filter { $0.isActive(at: now) }
      .prefix(Constants.maximumVerifications)
    var rows: [Membership] = []
    for entitlement in omitted {
      let id = entitlement.id
      guard let word = try? await active.setup.backend.membership(id) else { continue }
      switch word {
      case .row(let row): rows.append(row)
      case .silence:
        reportOnce(
          "downgrade_refused:\(id)", "the service's list leaves out \"\(id)\", which has not ended; it stays",
          ["membership_id": JSON(id)])
      }
    }
    return rows
  }

  /// Takes in rows that the service gave. `listed` says for whom they are everything there is, `askedAt` when they were
  /// asked for, if that was not just now.
  func learn(_ rows: [Membership], listed identity: Identity?, cause: Change.Cause, askedAt: Int64? = nil) {
    guard let active else { return }
    let askedAt = askedAt ?? time.bootNanoseconds
    let rows = rows.filter { rowsAskedAt[$0.id, default: .min] <= askedAt }
    for row in rows { rowsAskedAt[row.id] = askedAt }
    let settled = rows.compactMap(\.nonce).filter { attempts[$0] != nil }
    let now = state.now
    let saved = state.change(settled.isEmpty ? cause : .purchase) { knowledge -> [Membership] in
      var saved: [Membership] = []
      for row in rows {
        let row = row.withReceipt(knowledge.memberships[row.id]?.receiptID)
        knowledge.memberships[row.id] = row
        saved.append(row)
      }
      if let identity { knowledge.listedAt[identity.appUserID] = now }
      return saved
    }
    for nonce in settled { attempts[nonce] = nil }
    write { storage throws(DatabaseError) in
      try storage.save(
        memberships: saved, listing: identity.map { ($0.appUserID, now) }, answers: answersToKeep,
        scope: active.setup.scope)
      for nonce in settled { try storage.removeAttempt(nonce) }
    }
    claimLatecomers(rows.filter { $0.nonce.map(settled.contains) ?? false }, active)
    checkRenewals()
  }

  /// A guest's purchase that settles after a login came too late for that login's claim: it is claimed for whoever is
  /// logged in now.
  private func claimLatecomers(_ settled: [Membership], _ active: Active) {
    let ownership = state.knowledge.ownership
    guard let user = ownership.identity.appUserID else { return }
    let late = settled.filter {
      $0.deviceID == ownership.identity.deviceID && ownership.owner(of: $0) == nil
    }
    guard let newest = late.map(\.createdAt).max() else { return }
    let at = max(state.now, newest)
    let id = write { storage throws(DatabaseError) in
      try storage.save(appUserID: user, claim: (active.setup.scope, user, at))
    }
    guard let id = id ?? nil else { return }
    state.change(.purchase) {
      $0.ownership.pendingClaims.append(PendingClaim(id: id, appUserID: user, loggedInAt: at))
    }
    scheduleRetry()
  }

  func isCurrent(_ active: Active) -> Bool { active.number == self.active?.number }
  var replaced: KassaError { KassaError(.cancelled, "another configuration took the place of this one") }

  func restorePurchases() async throws(KassaError) -> JSON {
    let active = try configured()
    // What the service knows does not wait for a store that is out of reach, nor the other way round.
    let inStore = await outcome { engine throws(KassaError) in try await engine.restoreFromStore() }
    if case .failure(let error) = inStore, error.code == .cancelled {
      guard !Task.isCancelled, isCurrent(active) else { throw error }
      return ["outcome": "cancelled", "restored": false]
    }
    try await refreshMemberships(.restore)
    try await claimPending()
    await checkAttempts(active)
    try inStore.get()
    return ["outcome": "completed", "restored": JSON(state.isAnythingActive)]
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
      state.correctClock(serverMilliseconds: now)
      active?.setup.store?.clockMoved()
    }
    return result
  }

  // MARK: By itself

  /// Claims and purchases that are still open; nobody waits for them.
  private func settleStore() {
    guard active?.setup.store != nil else { return }
    Task(executorPreference: loop) { await self.settleStoreNow() }
  }

  private func settleStoreNow() async {
    await lookUpStorefront()
    await scanStore(always: true)
    scheduleSubmission()
  }

  private func settle() {
    settling?.cancel()
    settling = Task(executorPreference: loop) { await self.settleOpen() }
  }

  private func settleOpen() async {
    guard let active else { return }
    do throws(KassaError) { try await claimPending() } catch { if error.isTransient { scheduleRetry() } }
    await checkAttempts(active)
  }

  /// Tries again what failed, until it succeeds.
  func scheduleRetry() {
    guard retry == nil else { return }
    retry = Task(executorPreference: loop) { await self.retryUntilDone() }
  }

  private func retryUntilDone() async {
    defer { retry = nil }
    var tries = 0
    while let number = active?.number {
      tries += 1
      let delay = RetryPolicy.background.delay(retry: tries, jitter: random.fraction())
      do throws(CancellationError) { try await time.sleep(milliseconds: delay) } catch { return }
      guard number == active?.number else { continue }
      do throws(KassaError) {
        try await refresh(.refresh)
        if !state.isInitialized { state.change(.refresh) { $0.isInitialized = true } }
        try await claimPending()
        scheduleSubmission()
        return
      } catch {
        // Another configuration deserves tries of its own.
        guard number == active?.number else {
          tries = 0
          continue
        }
        if active?.configuration.isDebug ?? false {
          report("refresh_failed", error.message, ["code": JSON(error.code.rawValue), "try": JSON(tries)])
        }
        if error.code == .closed || !error.isTransient { return }
      }
    }
  }

  /// When an answer next changes by itself, on the boot clock.
  func armExpiry(at boot: Int64?) {
    guard boot != expiryAt else { return }
    expiryAt = boot
    expiry?.cancel()
    expiry = nil
    guard let boot else { return }
    expiry = Task(executorPreference: loop) { await self.expire(at: boot) }
  }

  private func expire(at boot: Int64) async {
    let milliseconds = max(0, boot &- time.bootNanoseconds) / 1_000_000 + 1
    do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch { return }
    expiryAt = nil
    state.expireIfDue()
    armExpiry(at: state.nextEndOnBootClock)
    // So that a clock set back before the next start cannot revive what has ended.
    saveTime()
    // The store may know of a renewal, or of a grace period.
    await scanStore(always: true)
  }

  /// Soon after a period ended, the service knows whether it was renewed.
  private func checkRenewals() {
    renewalCheck?.cancel()
    let knowledge = state.knowledge
    let now = state.now
    var next = Int64.max
    for membership in knowledge.memberships.values
    where membership.status.grants && knowledge.ownership.isVisible(membership) {
      // A renewal shows after its period; what has no end must be confirmed before it becomes stale.
      let stale =
        membership.expiresAt == nil
        ? membership.confirmedAt.adding(knowledge.policy.offlineMilliseconds / 2) : nil
      guard let due = membership.renewalPeriodEnd ?? stale else { continue }
      // What is late is asked for again and again, but not often.
      next = min(next, due > now ? due : now.adding(Constants.lateRenewalCheckMilliseconds))
    }
    guard next != .max else { return }
    let wait = next.subtracting(now).adding(Constants.renewalCheckMilliseconds)
    renewalCheck = Task(executorPreference: loop) { await self.checkRenewal(after: wait) }
  }

  private func checkRenewal(after milliseconds: Int64) async {
    do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch { return }
    do throws(KassaError) { try await refreshMemberships(.refresh) } catch {
      if error.isTransient { scheduleRetry() }
    }
  }

  // MARK: Storage

  /// Keeps the time, as far as it is trusted; at most once a minute.
  func keepTime() {
    let age = state.now.subtracting(savedTime ?? .min)
    if (0..<Constants.saveTimeMilliseconds).contains(age) { return }
    saveTime()
  }

  func saveTime() {
    let now = state.now
    savedTime = now
    write { storage throws(DatabaseError) in try storage.save(time: now) }
  }

  func saveIdentity() {
    let user = state.identity.appUserID
    write { storage throws(DatabaseError) in _ = try storage.save(appUserID: user, claim: nil) }
    state.change(.logout) { $0.unsavedIdentities -= 1 }
  }

  /// Not before the first answers: the kernel takes its time to end a watch, and a program that only asks and leaves
  /// would wait for it.
  private func startWatching() {
    guard watch == nil, surroundings.storage != ClientOptions.inMemory else { return }
    watch = StorageWatch(directory: surroundings.storage, loop: loop) { [weak self] in
      self?.assumeIsolated { $0.reloadIfChanged() }
    }
  }

  /// What only this process knows is not for the next one.
  var answersToKeep: ClientStorage.KeptAnswers? { storageFailed ? nil : state.answersToKeep }

  /// Another process may have written.
  private func reloadIfChanged() {
    guard storage.hasForeignChanges(), let active else { return }
    guard let cache = readCache(active.setup.scope) else { return }
    let user = read { storage throws(DatabaseError) in try storage.appUserID() }
    for attempt in cache.attempts { attempts[attempt.nonce] = attempt }
    state.change(.anotherProcess) { knowledge in
      knowledge.fill(from: cache, unsaved: unsavedReceipts, keepingNewer: storageFailed)
      // What this process's host has just said counts, even before it is on disk.
      if let user, knowledge.unsavedIdentities == 0 { knowledge.ownership.identity.appUserID = user }
    }
    checkRenewals()
  }

  /// Writes, and says once when the disk refuses; the client goes on from memory.
  @discardableResult
  func write<Value>(_ body: (ClientStorage) throws(DatabaseError) -> Value) -> Value? {
    do throws(DatabaseError) {
      let value = try body(storage)
      storageFailed = false
      return value
    } catch {
      if !storageFailed {
        storageFailed = true
        report(
          "storage_failed",
          "the disk refused a write, what is learnt now lasts for this process only: \(error.message)",
          ["sqlite_code": JSON(Int(error.code))])
      }
      return nil
    }
  }

  /// Writes what must be durable, or throws.
  func writeDurably<Value>(
    _ what: String, _ body: (ClientStorage) throws(DatabaseError) -> Value
  ) throws(KassaError) -> Value {
    do throws(DatabaseError) { return try body(storage) } catch {
      throw KassaError(.storage, "\(what) cannot be saved, so nothing was charged: \(error.message)", retryable: true)
    }
  }

  private func read<Value>(_ body: (ClientStorage) throws(DatabaseError) -> Value) -> Value? {
    do throws(DatabaseError) { return try body(storage) } catch {
      report("storage_failed", "the storage cannot be read: \(error.message)", ["sqlite_code": JSON(Int(error.code))])
      return nil
    }
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
    if let active, let answersToKeep {
      write { storage throws(DatabaseError) in try storage.keep(answersToKeep, scope: active.setup.scope) }
    }
    watch?.stop()
    watch = nil
    active?.setup.store?.close()
    for task in [settling, retry, expiry, renewalCheck, submission, laterScan].compactMap(\.self) + lateLooks.values {
      task.cancel()
    }
    active = nil
  }
}

extension ClientState.Knowledge {
  /// Another service or account: nothing that was known is about it.
  mutating func forget() {
    (memberships, receipts, plans, listedAt) = ([:], [:], nil, [:])
  }

  /// What the storage knows takes the place of what was known, apart from what this run learnt of the network and, if
  /// the disk refused it, could not write.
  mutating func fill(from cache: ClientStorage.Cache, unsaved: Set<String>, keepingNewer: Bool) {
    let (before, unsaved) = (memberships, receipts.filter { unsaved.contains($0.key) })
    receipts = cache.receipts.merging(unsaved) { $1 }
    memberships = cache.memberships
    for (id, row) in before {
      let stored = memberships[id]
      if stored?.confirmedAt == row.confirmedAt
        || (keepingNewer && stored.map { $0.confirmedAt < row.confirmedAt } ?? true)
      {
        memberships[id] = row
      }
    }
    plans = cache.plans.map { .stored($0) } ?? (keepingNewer ? plans : nil)
    listedAt = cache.listedAt
    // Claims that the storage does not have yet are still to be saved.
    ownership.pendingClaims = cache.pendingClaims + ownership.pendingClaims.filter { $0.id < 0 }
  }
}

extension KassaError {
  /// Nothing is wrong with the call or the credential: trying again later is worth it.
  var isTransient: Bool { retryable }
}
