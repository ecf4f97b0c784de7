import KassaCore
import KassaJSON
import KassaPlatform

/// What the engine is doing about people.
struct PeopleState {
  /// The request for a person that is under way, and whom it asks for.
  var personRequest: (id: DistinctID, configuration: Int, task: Task<Result<Void, KassaError>, Never>)?
  /// When the last one began, on the boot clock.
  var personAskedAt: Int64?
  var chase: Task<Void, Never>?
  /// Receipts were accepted since the chase began.
  var isChaseDue = false
  /// What is written of people is told to the service one after another, in the order of the calls.
  let turn = Signal()
  var nextTicket = 0
  var servedTicket = 0
  var catalogueFetchedAt: Int64?
  var catalogueAppVersion: String?
  /// When it was last asked for, on the boot clock.
  var catalogueAskedAt: Int64?
  /// Perks of people that no product brought, for which the catalogue has been asked for again.
  var unsoldPerks: Set<String> = []
  /// Users whom the service refused in this run, as whom they were told to it, and who asked before.
  var refusedLogIns: [DistinctID: (previous: DistinctID, before: ClientState.PeopleIdentity)] = [:]
}

/// The person who asks and the catalogue of what is sold: what is cached of them, and asking for news.
extension Engine {
  var distinctID: DistinctID? { state.distinctID }

  // MARK: Start

  /// Where the back end has people, somebody asks, be it somebody who has not logged in: they have an id from the first
  /// look on, the same in all processes. What cannot be read is not made anew.
  func ensureAnonymousID(_ active: Active) {
    guard let make = active.setup.anonymousID, state.knowledge.anonymousID == nil else { return }
    let new = make(random.uuid())
    let id = write { storage throws(DatabaseError) in try storage.anonymousID(orElse: new) }
    if let id { state.edit { $0.anonymousID = id } }
  }

  func storedPerson(_ active: Active) -> KnownPerson? {
    guard let id = distinctID else { return nil }
    let stored = read { storage throws(DatabaseError) in try storage.person(id, scope: active.setup.scope) } ?? nil
    return stored.map { KnownPerson($0.person, as: id, fetchedAt: $0.fetchedAt, isFromNetwork: false) }
  }

  /// What the network says to a configuration that was adopted. Who has a cached person waits for news only a moment.
  func confirmPeople() async throws(KassaError) -> String {
    if try configured().isInert { return "cache" }
    let refresh = Task(executorPreference: loop) {
      await self.outcome { engine throws(KassaError) in
        try await engine.refreshPeople(.configure)
      }
    }
    guard hasCache else {
      try await refresh.value.get()
      return "network"
    }
    return await isDone(refresh, within: Constants.freshnessBudgetMilliseconds) ? "network" : "cache"
  }

  /// Whether it succeeds in time; it goes on in any case.
  private func isDone(_ task: Task<Result<Void, KassaError>, Never>, within milliseconds: Int64) async -> Bool {
    let race = Race()
    let alarm = Task(executorPreference: loop) { try? await self.time.sleep(milliseconds: milliseconds) }
    let watcher = Task(executorPreference: loop) {
      race.result = await task.value
      alarm.cancel()
    }
    await alarm.value
    watcher.cancel()
    if case .success = race.result { return true }
    if case .failure(let error) = race.result, error.isTransient { scheduleRetry() }
    if race.result == nil { scheduleRetry(after: task) }
    return false
  }

  private func scheduleRetry(after task: Task<Result<Void, KassaError>, Never>) {
    Task(executorPreference: loop) {
      if case .failure(let error) = await task.value, error.isTransient { await self.scheduleRetry() }
    }
  }

  /// The catalogue where it is missing or stale, and the person.
  func refreshPeople(_ cause: Change.Cause) async throws(KassaError) {
    let active = try configured()
    if active.isInert { return }
    if state.knowledge.catalogue == nil {
      // Without one the person's perks still count; products wait for it.
      do throws(KassaError) { try await refreshCatalogue(cause) } catch { reportCatalogue(error) }
    }
    try await refreshPerson(cause)
  }

  // MARK: The person

  /// Asks for the person; whoever asks meanwhile shares the answer, unless it has to be one that was asked for since.
  func refreshPerson(_ cause: Change.Cause, isFresh: Bool = false) async throws(KassaError) {
    let active = try configured()
    if active.isInert { return }
    guard let id = distinctID else { throw .notConfigured }
    if let request = people.personRequest, request.id == id, request.configuration == active.number {
      let shared = await request.task.value
      if !isFresh { return try shared.get() }
    }
    people.personAskedAt = time.bootNanoseconds
    freshenCatalogue(active)
    let number = active.number
    let task = Task(executorPreference: loop) { () -> Result<Void, KassaError> in
      await self.outcome { engine throws(KassaError) in
        guard let active = engine.active, active.number == number else { throw engine.replaced }
        var person = try await active.people().person(id)
        // One answer without what was granted a moment ago, and has not ended, may be a server's mistake.
        if engine.isDowngrade(person, of: id) { person = try await active.people().person(id) }
        engine.learn(person, as: id, cause: cause, configuration: number)
      }
    }
    people.personRequest = (id, number, task)
    let result = await task.value
    if people.personRequest?.task == task { people.personRequest = nil }
    if case .failure(let error) = result, error.code == .notServiceAnswer {
      reportOnce("not_service_answer", error.message, ["status": JSON(error.status)])
    }
    try result.get()
    // The key may have been found to be good again, by this very question.
    wakeOutbox()
  }

  /// Whether a grant that has not ended is missing, and not even listed as ended.
  private func isDowngrade(_ person: Person?, of id: DistinctID) -> Bool {
    guard let known = state.knowledge.person, known.id == id else { return false }
    let now = state.now
    let listed = Set((person?.grants ?? []).map(\.perk))
    return known.person.grants.contains { $0.isActive && ($0.expiresAt ?? .max) > now && !listed.contains($0.perk) }
  }

  /// What the service says of whoever asked for it. If somebody else asks now, it is kept for them and shown to nobody.
  func learn(_ person: Person?, as id: DistinctID, cause: Change.Cause, configuration number: Int) {
    guard let active, number == active.number else { return }
    let now = state.now
    let isOurs = id == distinctID
    let user = state.identity.appUserID
    if isOurs {
      let known = person.map { KnownPerson($0, as: id, fetchedAt: now, isFromNetwork: true) }
      state.change(cause) { knowledge in
        knowledge.person = known
        knowledge.listedAt[user] = now
      }
      if let person { askWhatBrings(person.grants) }
    }
    let stored = person.map { ClientStorage.StoredPerson(person: $0, fetchedAt: now) }
    let answers = answersToKeep
    write { storage throws(DatabaseError) in
      try storage.save(
        person: stored, of: id, listing: isOurs ? (user, now) : nil, answers: answers, scope: active.setup.scope)
    }
  }

  /// Somebody reads what is stale: news is asked for, but not for every reader.
  func freshenPerson() {
    guard let active, case .people = active.setup.backend, state.knowledge.person?.isStale(at: state.now) ?? true,
      people.personRequest == nil
    else { return }
    let gap = Constants.scanMilliseconds * 1_000_000
    if let last = people.personAskedAt, time.bootNanoseconds &- last < gap { return }
    Task(executorPreference: loop) { try? await self.refreshPerson(.refresh) }
  }

  /// After receipts were accepted: the service works on them for some seconds after it has taken them.
  func chasePerson() {
    people.isChaseDue = true
    guard people.chase == nil else { return }
    people.chase = Task(executorPreference: loop) { await self.runChase() }
  }

  private func runChase() async {
    defer { people.chase = nil }
    while people.isChaseDue {
      people.isChaseDue = false
      for pause in Constants.refreshesAfterAcceptance {
        if pause > 0 {
          do throws(CancellationError) { try await time.sleep(milliseconds: pause) } catch { return }
        }
        try? await refreshPerson(.purchase)
        if people.isChaseDue { break }
      }
    }
  }

  // MARK: The catalogue

  private func isCatalogueStale(_ active: Active) -> Bool {
    guard let fetchedAt = people.catalogueFetchedAt else { return true }
    return people.catalogueAppVersion != active.setup.appVersion
      || state.now.subtracting(fetchedAt) > Constants.catalogueStaleMilliseconds
  }

  /// What is out of date is asked for again, in the background and at most once a minute.
  private func freshenCatalogue(_ active: Active) {
    guard state.knowledge.catalogue != nil, isCatalogueStale(active) else { return }
    let boot = time.bootNanoseconds
    if let last = people.catalogueAskedAt, boot &- last < Constants.scanMilliseconds * 1_000_000 { return }
    people.catalogueAskedAt = boot
    Task(executorPreference: loop) { await self.refreshCatalogueInBackground() }
  }

  /// A perk that no product is known to bring may be of one that has been changed since, so it is asked about, once.
  private func askWhatBrings(_ grants: [Person.Grant]) {
    guard let catalogue = state.knowledge.catalogue else { return }
    let unsold = Set(grants.filter(\.isActive).map(\.perk)).subtracting(catalogue.products.flatMap(\.perks))
    guard !unsold.isSubset(of: people.unsoldPerks) else { return }
    people.unsoldPerks.formUnion(unsold)
    Task(executorPreference: loop) { await self.refreshCatalogueInBackground() }
  }

  func refreshCatalogue(_ cause: Change.Cause) async throws(KassaError) {
    let active = try configured()
    people.catalogueAskedAt = time.bootNanoseconds
    let known = state.knowledge.catalogue
    let news = try await active.people().catalogue(known: known?.version)
    guard isCurrent(active), let catalogue = news ?? known else { return }
    let now = state.now
    (people.catalogueFetchedAt, people.catalogueAppVersion) = (now, active.setup.appVersion)
    state.change(cause) { $0.catalogue = catalogue }
    let stored = ClientStorage.StoredCatalogue(
      catalogue: catalogue, appVersion: active.setup.appVersion, fetchedAt: now)
    let answers = answersToKeep
    write { storage throws(DatabaseError) in
      try storage.save(catalogue: stored, answers: answers, scope: active.setup.scope)
    }
  }

  private func refreshCatalogueInBackground() async {
    do throws(KassaError) { try await refreshCatalogue(.refresh) } catch { reportCatalogue(error) }
  }

  private func reportCatalogue(_ error: KassaError) {
    reportOnce(
      "schema_refresh_failed", "what is sold cannot be asked for; what is known of it stands: \(error.message)",
      ["code": JSON(error.code.rawValue), "status": JSON(error.status)])
  }

  /// The catalogue; where none is known, it is asked for once.
  func catalogue() async throws(KassaError) -> Catalogue {
    if let active { freshenCatalogue(active) }
    if let known = state.knowledge.catalogue, !known.products.isEmpty { return known }
    try await refreshCatalogue(.refresh)
    return state.knowledge.catalogue ?? Catalogue()
  }
}

/// The result of a task, for whoever does not wait for it any longer.
private final class Race: @unchecked Sendable {
  var result: Result<Void, KassaError>?
}
