import KassaCore
import KassaJSON
import KassaPlatform

/// Telling the service who asks, and what is to be known of them. Each such write is on disk before it is sent, they are
/// sent one after another in the order of the calls, and what the service could not be told waits.
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
    let number = save(identification, active)
    await takePersonTurn()
    defer { endPersonTurn() }
    var (identification, before) = (identification, before)
    inherit(&identification, &before, number, active)
    let known = storedPerson(active)
    if distinctID == identification.id, state.knowledge.person == nil { state.change(.login) { $0.person = known } }
    if before.appUserID?.text == identification.id.text, identification.attributes.isEmpty, let known,
      !isAnythingWaiting(of: identification.id, besides: number, active)
    {
      forget(number)
      return identified(identification, known, isDeferred: false)
    }
    switch await sendPersonWrites(active, own: number) {
    case .success(let person):
      write { storage throws(DatabaseError) in
        try storage.forgetPeople(but: identification.id, scope: active.setup.scope)
      }
      return identified(identification, news(person, identification.id), isDeferred: false)
    case .failure(let error):
      people.refusedLogIns[identification.id] = (identification.previous, before)
      takeBack(identification, before, active)
      throw error
    case nil:
      if Task.isCancelled { throw KassaError(.cancelled, "the operation was cancelled") }
      scheduleRetry()
      return identified(identification, known, isDeferred: true)
    }
  }

  /// The identity, and the write that it owes to the service, in one step.
  private func save(_ identification: Identification, _ active: Active) -> Int64? {
    let (now, user) = (state.now, state.identity.appUserID)
    defer { state.edit { $0.unsavedIdentities -= 1 } }
    guard let anonymous = state.knowledge.anonymousID else { return nil }
    return write { storage throws(DatabaseError) in
      try storage.save(
        appUserID: user, anonymousID: anonymous, write: .identify(identification), at: now, scope: active.setup.scope)
    } ?? nil
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

  /// Unless somebody has logged in or out since.
  private func takeBack(_ identification: Identification, _ before: ClientState.PeopleIdentity, _ active: Active) {
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
    switch await sendPersonWrites(active, own: number) {
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

  /// Oldest first, and what came of the caller's `own`; nil when it still waits. What the service refuses is forgotten:
  /// `own` with the error as result, anything else with a report. What it cannot be told now holds up what comes after,
  /// which may be of the same person.
  private func sendPersonWrites(_ active: Active, own: Int64?) async -> Result<Person, KassaError>? {
    guard case .people(let backend) = active.setup.backend, !active.isInert else { return nil }
    let writes: [(number: Int64, write: ClientStorage.PersonWrite)]
    do throws(DatabaseError) { writes = try storage.personWrites(scope: active.setup.scope) } catch {
      outbox.writeFailures += 1
      return nil
    }
    for (number, write) in writes {
      guard isCurrent(active), !Task.isCancelled else { return nil }
      do throws(KassaError) {
        let person: Person
        switch write {
        case .identify(let identification): person = try await backend.identify(identification)
        case .attributes(let attributes, let id): person = try await backend.setAttributes(attributes, of: id)
        }
        outbox.writeFailures = 0
        forget(number)
        learn(person, as: write.person, cause: .login, configuration: active.number)
        if number == own { return .success(person) }
      } catch {
        // A key that is refused says nothing of what was written; whoever logs in with it hears so at once, though.
        let isOwnRefusal = number == own && error.code == .unauthorized && error.status != nil
        guard isOwnRefusal || !(error.isTransient || [.cancelled, .unauthorized].contains(error.code)) else {
          outbox.writeFailures += 1
          return nil
        }
        forget(number)
        if number == own { return .failure(error) }
        report(
          "person_write_rejected", "the service refuses what was written of a person: \(error.message)",
          ["code": JSON(error.code.rawValue), "status": JSON(error.status)])
      }
    }
    outbox.writeFailures = 0
    return nil
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
