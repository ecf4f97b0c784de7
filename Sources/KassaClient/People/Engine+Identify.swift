import KassaCore
import KassaJSON
import KassaPlatform

/// Telling the service who asks, and what is to be known of them. Each such write is on disk before it is sent, or, if
/// the disk refuses a log-in, at the latest when it has to wait. They are sent one after another in the order of the
/// calls, and what the service could not be told waits.
extension Engine {
  /// Whether somebody may log in under this id, before anything is switched.
  func refusal(of id: DistinctID) -> Result<Void, KassaError> {
    do throws(KassaError) { return .success(try configured().people().check(id)) } catch { return .failure(error) }
  }

  // MARK: Logging in

  /// The local switch has been made; this tells the service of it, or takes it back when the service refuses.
  ///
  /// - Parameter before: who asked until then.
  func identify(
    _ identification: Identification, before: ClientState.PeopleIdentity
  ) async throws(KassaError) -> JSON {
    let active = try configured()
    // Before anything is waited for: the next start has to know who asks.
    let number = save(identification, switches: 1, active)
    let unsaved = number == nil ? noteUnsaved(identification) : nil
    defer { if let unsaved { refused.logIns[unsaved] = nil } }
    await takePersonTurn()
    defer { endPersonTurn() }
    var (identification, before) = (identification, before)
    inherit(&identification, &before, number, active)
    if let unsaved { refused.logIns[unsaved] = identification }
    let known = storedPerson(active)
    if distinctID == identification.id, state.knowledge.person == nil { state.change(.login) { $0.person = known } }
    if before.appUserID?.text == identification.id.text, identification.attributes.isEmpty, let known,
      !isAnythingWaiting(of: identification.id, besides: number, active)
    {
      forget(number)
      return identified(identification, known, isDeferred: false)
    }
    switch await sendPersonWrites(active, own: (number, .identify(identification))) {
    case .success(let person):
      people.refusedLogIns[identification.id] = nil
      write { storage throws(DatabaseError) in
        try storage.forgetPeople(but: identification.id, scope: active.setup.scope)
      }
      return identified(identification, news(person, identification.id), isDeferred: false)
    case .failure(let error):
      takeBack(identification, before, active)
      throw error
    case nil:
      let isClosed = self.active == nil
      let isKept = number != nil || (!isClosed && save(identification, switches: 0, active) != nil)
      if !isKept, !isClosed { takeBack(identification, before, active) }
      if Task.isCancelled { throw KassaError(.cancelled, "the operation was cancelled") }
      guard isKept else { throw notTaken(identification) }
      people.refusedLogIns[identification.id] = nil
      scheduleRetry()
      return identified(identification, known, isDeferred: true)
    }
  }

  /// The identity, and the write that it owes to the service, in one step.
  private func save(_ identification: Identification, switches: Int, _ active: Active) -> Int64? {
    let (now, user) = (state.now, state.identity.appUserID)
    let known = state.knowledge.anonymousID
    return writeIdentity(switches: switches) { storage throws(DatabaseError) in
      let anonymous = if let known { known } else { try storage.anonymousID(orElse: identification.previous) }
      return try storage.save(
        appUserID: user, anonymousID: anonymous, writes: [.identify(identification)], at: now,
        scope: active.setup.scope)
    }?.first
  }

  /// So that it is written at the end, should the client be closed meanwhile.
  private func noteUnsaved(_ identification: Identification) -> Int {
    refused.lastLogIn += 1
    refused.logIns[refused.lastLogIn] = identification
    return refused.lastLogIn
  }

  private func notTaken(_ identification: Identification) -> KassaError {
    KassaError(
      .storage,
      "the log-in of \"\(identification.id.text.quoted)\" was taken back: the disk refuses it, and the service cannot be "
        + "told now; make room on the disk, or try again later", retryable: true)
  }

  /// Whoever logged in after somebody whom the service then refused follows whoever asked before that.
  private func inherit(
    _ identification: inout Identification, _ before: inout ClientState.PeopleIdentity, _ number: Int64?,
    _ active: Active
  ) {
    var seen: Set<DistinctID> = []
    while let user = before.appUserID.map({ DistinctID($0.text) }), seen.insert(user).inserted,
      let refused = people.refusedLogIns[user]
    {
      identification.previous = refused.previous
      (before.appUserID, before.anonymousID) = (refused.before.appUserID, refused.before.anonymousID)
    }
    guard let number, !seen.isEmpty else { return }
    let changed = identification
    write { storage throws(DatabaseError) in try storage.replace(number, with: .identify(changed)) }
  }

  /// The switch, unless somebody has logged in or out since. Whoever did follows whoever asked before.
  private func takeBack(_ identification: Identification, _ before: ClientState.PeopleIdentity, _ active: Active) {
    people.refusedLogIns[identification.id] = (identification.previous, before)
    guard state.knowledge.identityRevision == before.revision else { return }
    state.change(.login) { knowledge in
      knowledge.ownership.identity.appUserID = before.appUserID
      knowledge.anonymousID = before.anonymousID ?? knowledge.anonymousID
      knowledge.person = nil
      knowledge.unsavedIdentities += 1
    }
    let known = storedPerson(active)
    state.change(.login) { $0.person = known }
    saveIdentity()
  }

  private func identified(_ identification: Identification, _ person: KnownPerson?, isDeferred: Bool) -> JSON {
    [
      "app_user_id": JSON(identification.id.text), "deferred": JSON(isDeferred),
      "person": person.map(state.document(of:)) ?? .null,
    ]
  }

  private func news(_ person: Person, _ id: DistinctID) -> KnownPerson {
    KnownPerson(person, as: id, fetchedAt: state.now, isFromNetwork: true)
  }

  // MARK: Attributes

  func setAttributes(_ attributes: Attributes) async throws(KassaError) -> JSON {
    let active = try configured()
    _ = try active.people()
    guard let id = distinctID else { throw .notConfigured }
    guard !attributes.isEmpty else { return ["deferred": false, "person": state.person] }
    var attributes = attributes
    attributes.writeID = random.uuid()
    let (entry, now) = (ClientStorage.PersonWrite.attributes(attributes, of: id), state.now)
    let number: Int64?
    do throws(DatabaseError) { number = try storage.add(entry, at: now, scope: active.setup.scope) } catch {
      throw KassaError(.storage, "the attributes cannot be saved: \(error.message)", retryable: true)
    }
    await takePersonTurn()
    defer { endPersonTurn() }
    switch await sendPersonWrites(active, own: (number, entry)) {
    case .success(let person): return ["deferred": false, "person": state.document(of: news(person, id))]
    case .failure(let error): throw error
    case nil:
      if Task.isCancelled { throw KassaError(.cancelled, "the operation was cancelled") }
      scheduleRetry()
      return ["deferred": true, "person": state.person]
    }
  }

  // MARK: Sending

  /// One at a time sends writes, in the order of asking. Ended by `endPersonTurn`.
  private func takePersonTurn() async {
    let ticket = people.nextTicket
    people.nextTicket += 1
    while people.servedTicket < ticket { await people.turn.wait(people.turn.reserve()) }
  }

  private func endPersonTurn() {
    people.servedTicket += 1
    people.turn.fire()
  }

  /// Sends what waits of people.
  func sendPersonWrites(_ active: Active) async {
    await takePersonTurn()
    defer { endPersonTurn() }
    _ = await sendPersonWrites(active, own: nil)
  }

  /// Oldest first, and what came of the caller's `own`, which comes last if it is not on disk; nil when it still waits.
  /// What the service refuses is forgotten: `own` with the error as result, anything else with a report. What it cannot be
  /// told now holds up what comes after, which may be of the same person.
  private func sendPersonWrites(
    _ active: Active, own: (number: Int64?, write: ClientStorage.PersonWrite)?
  ) async -> Result<Person, KassaError>? {
    guard case .people(let backend) = active.setup.backend, !active.isInert, personWritesHeldUntil(active) == nil else {
      return nil
    }
    var writes: [(number: Int64?, write: ClientStorage.PersonWrite)]
    do throws(DatabaseError) {
      writes = try storage.personWrites(scope: active.setup.scope).map { ($0.number, $0.write) }
    } catch {
      outbox.writeFailures += 1
      return nil
    }
    if let own, own.number == nil { writes.append(own) }
    for (number, write) in writes {
      let isOwn = own.map { $0.number == number } ?? false
      guard isCurrent(active), !Task.isCancelled else { return nil }
      do throws(KassaError) {
        let person: Person
        switch write {
        case .identify(let identification): person = try await backend.identify(identification)
        case .attributes(let attributes, let id): person = try await backend.setAttributes(attributes, of: id)
        case .unreadable(let kind, let id):
          drop(number, kind, id)
          continue
        }
        outbox.writeFailures = 0
        forget(number)
        learn(person, as: write.person, cause: .login, configuration: active.number)
        if isOwn { return .success(person) }
      } catch {
        // A key that is refused says nothing of what was written; whoever logs in with it hears so at once, though.
        let isOwnRefusal = isOwn && error.code == .unauthorized && error.status != nil
        guard isOwnRefusal || !(error.isTransient || [.cancelled, .unauthorized].contains(error.code)) else {
          outbox.writeFailures += 1
          // Of an open circuit breaker the wait is our own, and may end earlier.
          if error.status != nil, let wait = error.retryAfterMilliseconds { holdPersonWrites(wait, active) }
          return nil
        }
        forget(number)
        if isOwn { return .failure(error) }
        report(
          "person_write_rejected", "the service refuses what was written of a person: \(error.message)",
          ["code": JSON(error.code.rawValue), "status": JSON(error.status)])
      }
    }
    outbox.writeFailures = 0
    return nil
  }

  /// Until when the service wants to hear nothing of people; nil when it does.
  func personWritesHeldUntil(_ active: Active) -> Int64? {
    (try? storage.heldUntil(.people, scope: active.setup.scope, now: state.now)) ?? nil
  }

  /// What the service says of one write it says of all.
  private func holdPersonWrites(_ milliseconds: Int64, _ active: Active) {
    let now = state.now
    let until = now.adding(min(milliseconds, Constants.longestRetryAfterMilliseconds))
    write { storage throws(DatabaseError) in
      try storage.hold(.people, until: until, scope: active.setup.scope, now: now)
    }
  }

  private func drop(_ number: Int64?, _ kind: String, _ id: DistinctID) {
    reportOnce(
      "queue_record_dropped:\(number ?? 0)",
      "what the service had yet to hear of a person is damaged on disk, so it cannot be told and is forgotten",
      ["kind": JSON(kind), "distinct_id": JSON(id.text)])
    forget(number)
  }

  private func forget(_ number: Int64?) {
    guard let number else { return }
    write { storage throws(DatabaseError) in try storage.removePersonWrite(number) }
  }

  private func isAnythingWaiting(of id: DistinctID, besides number: Int64?, _ active: Active) -> Bool {
    let writes = (try? storage.personWrites(scope: active.setup.scope)) ?? []
    return writes.contains { $0.number != number && $0.write.person == id }
  }
}
