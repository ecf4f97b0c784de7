import KassaCore
import KassaJSON
import KassaPlatform

/// Taking a configuration in: what is cached for it at once, then what the service says.
extension Engine {
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
      isSandbox: setup.isSandbox, hasStore: setup.store != nil,
      mappedPlans: setup.store == nil ? [] : Set(setup.planMappings.map(\.planID)), anonymousID: setup.anonymousID,
      offlineDays: configuration.offlineDays,
      isStrict: configuration.isStrict, priceText: setup.priceText)
    let policy = EntitlementPolicy(
      productIDs: setup.productIDs, environments: setup.storeEnvironments, bundleID: setup.storeBundleID,
      offlineDays: configuration.offlineDays, isStrict: configuration.isStrict)
    let storefront = setup.store == nil ? nil : Self.storefront(configuration)
    openStore()
    if isFirst, let early = earlyAnswers(setup.scope, policy) {
      restIsUnread = true
      return state.publish(early) {
        ($0.setup, $0.policy) = (facts, policy)
        $0.storefront = storefront
      }
    }
    take(readCache(setup.scope, as: state.identity.appUserID)) { knowledge in
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
  func earlyAnswers(_ scope: String, _ policy: EntitlementPolicy) -> ClientStorage.EarlyAnswers? {
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
    if let cache = readCache(active.setup.scope, as: state.identity.appUserID) { take(cache) { _ in } }
  }

  func readCache(_ scope: String, as user: AppUserID?) -> ClientStorage.Cache? {
    read { storage throws(DatabaseError) in try storage.load(scope: scope, as: user) }
  }

  func take(_ cache: ClientStorage.Cache?, _ prepare: (inout ClientState.Knowledge) -> Void) {
    attempts = Dictionary((cache?.attempts ?? []).map { ($0.nonce, $0) }) { $1 }
    state.change(.configure) { knowledge in
      prepare(&knowledge)
      if let cache { knowledge.fill(from: cache, unsaved: unsavedReceipts, keepingNewer: storageFailed) }
    }
    (people.catalogueFetchedAt, people.catalogueAppVersion) = (
      cache?.catalogue?.fetchedAt, cache?.catalogue?.appVersion
    )
    (people.catalogueAskedAt, people.unsoldPerks) = (nil, [])
    if let active { ensureAnonymousID(active) }
    mapReceipts()
    checkRenewals()
  }

  /// Where a mapping was changed, or a plan was not known when its transaction came.
  func mapReceipts() {
    guard let active else { return }
    let products = Dictionary(active.setup.planMappings.map { ($0.planID, productID(ofPlan: $0.planID)) }) { $1 }
    var changed: [Receipt] = []
    for receipt in state.knowledge.receipts.values {
      let planID = active.setup.planMappings.first { $0.storeProductID == receipt.transaction.productID }?.planID
      let isSame = planID == receipt.planID
      let productID = planID.flatMap { products[$0] ?? nil } ?? (isSame ? receipt.productID : nil)
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
    wakeOutbox()
  }

  /// What the network says to the configuration that was adopted. Offline, the cache stands.
  func confirm() async throws(KassaError) -> JSON {
    guard let active else { throw .notConfigured }
    var source = "network"
    do throws(KassaError) {
      let pause =
        await hasCache
        ? outcome { engine throws(KassaError) in
          try await engine.pause(milliseconds: Constants.confirmationDelayMilliseconds)
        } : .success(())
      guard isCurrent(active) else { throw replaced }
      // Also when nobody waits for the confirmation any more.
      readRest()
      startWatching()
      keepTime()
      startOutbox(active)
      let storefront = settleStore()
      try pause.get()
      if active.hasPeople {
        source = try await confirmPeople()
      } else {
        try await refresh(.configure)
        settle()
        if let storefront {
          // What the first offer of a plan looks like depends on both.
          let answers = Task(executorPreference: loop) {
            await storefront.value
            await self.showStorePrices()
          }
          await wait(Constants.storeAnswerMilliseconds, for: answers)
        }
      }
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
  var hasCache: Bool { state.hasListing }
}
