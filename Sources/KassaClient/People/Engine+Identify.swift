import KassaCore
import KassaJSON
import KassaPlatform

/// Telling the service who asks, and what is to be known of them. What it could not be told waits on disk.
extension Engine {
  /// Whether somebody may log in under this id, before anything is switched.
  func refusal(of id: DistinctID) -> Result<Void, KassaError> {
    do throws(KassaError) { return .success(try configured().people().check(id)) } catch { return .failure(error) }
  }

  /// The local switch has been made; this tells the service of it, or takes it back when the service refuses.
  ///
  /// - Parameter revert: who asked before.
  func identify(
    _ identification: Identification, revert: ClientState.PeopleIdentity
  ) async throws(KassaError) -> JSON {
    let active = try configured()
    let backend = try active.people()
    let ticket = people.nextTicket
    people.nextTicket += 1
    while people.servedTicket < ticket { await people.turn.wait(people.turn.reserve()) }
    defer {
      people.servedTicket = ticket + 1
      people.turn.fire()
    }
    let number = saveIdentity(identification, active)
    let known = storedPerson(active)
    if distinctID == identification.id, state.knowledge.person == nil { state.change(.login) { $0.person = known } }
    if revert.appUserID?.text == identification.id.text, identification.attributes.isEmpty, let known {
      forget(number)
      return identified(identification, known, isDeferred: false)
    }
    defer { if let number { people.firstTries.remove(number) } }
    do throws(KassaError) {
      let person = try await backend.identify(identification)
      forget(number)
      learn(person, as: identification.id, cause: .login)
      write { storage throws(DatabaseError) in
        try storage.forgetPeople(but: identification.id, scope: active.setup.scope)
      }
      return identified(identification, news(person, identification.id), isDeferred: false)
    } catch {
      if error.code == .cancelled { throw error }
      guard error.isTransient || active.isPausedByKey(error) else {
        forget(number)
        takeBack(identification, revert, active)
        throw error
      }
      scheduleRetry()
      return identified(identification, known, isDeferred: true)
    }
  }

  /// The identity and the write that it owes to the service, in one step.
  private func saveIdentity(_ identification: Identification, _ active: Active) -> Int64? {
    let (now, user) = (state.now, state.identity.appUserID)
    guard let anonymous = state.knowledge.anonymousID else { return nil }
    let number = write { storage throws(DatabaseError) in
      try storage.save(
        appUserID: user, anonymousID: anonymous, write: .identify(identification), at: now, scope: active.setup.scope)
    }
    state.edit { $0.unsavedIdentities -= 1 }
    if let number = number ?? nil { people.firstTries.insert(number) }
    return number ?? nil
  }

  private func forget(_ number: Int64?) {
    guard let number else { return }
    write { storage throws(DatabaseError) in try storage.removePersonWrite(number) }
  }

  /// Unless somebody else has logged in or out meanwhile.
  private func takeBack(
    _ identification: Identification, _ revert: ClientState.PeopleIdentity, _ active: Active
  ) {
    guard distinctID == identification.id else { return }
    state.change(.login) { knowledge in
      knowledge.ownership.identity.appUserID = revert.appUserID
      knowledge.anonymousID = revert.anonymousID ?? knowledge.anonymousID
      knowledge.person = nil
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
    let backend = try active.people()
    guard let id = distinctID else { throw .notConfigured }
    var attributes = attributes
    attributes.writeID = random.uuid()
    let (entry, now) = (ClientStorage.PersonWrite.attributes(attributes, of: id), state.now)
    let number = try writeDurably("the attributes") { storage throws(DatabaseError) in
      try storage.add(entry, at: now, scope: active.setup.scope)
    }
    if let number { people.firstTries.insert(number) }
    defer { if let number { people.firstTries.remove(number) } }
    do throws(KassaError) {
      let person = try await backend.setAttributes(attributes, of: id)
      forget(number)
      learn(person, as: id, cause: .refresh)
      return ["deferred": false, "person": state.document(of: news(person, id))]
    } catch {
      if error.code == .cancelled { throw error }
      guard error.isTransient || active.isPausedByKey(error) else {
        forget(number)
        throw error
      }
      scheduleRetry()
      return ["deferred": true, "person": state.person]
    }
  }

  // MARK: What waits

  /// Oldest first. What is refused is reported and forgotten; what cannot be told now holds up what comes after it, for
  /// that may be of the same person.
  func sendPersonWrites(_ active: Active) async {
    guard case .people(let backend) = active.setup.backend, backend.pause == nil else { return }
    let writes = read { storage throws(DatabaseError) in try storage.personWrites(scope: active.setup.scope) } ?? []
    if writes.isEmpty { outbox.writeFailures = 0 }
    for (number, write) in writes where !people.firstTries.contains(number) {
      guard isCurrent(active), !Task.isCancelled else { return }
      do throws(KassaError) {
        let person: Person
        switch write {
        case .identify(let identification): person = try await backend.identify(identification)
        case .attributes(let attributes, let id): person = try await backend.setAttributes(attributes, of: id)
        }
        outbox.writeFailures = 0
        forget(number)
        learn(person, as: write.person, cause: .login)
      } catch {
        guard !error.isTransient, error.code != .cancelled, !active.isPausedByKey(error) else {
          outbox.writeFailures += 1
          return
        }
        forget(number)
        report(
          "person_write_rejected", "the service refuses what was written of a person: \(error.message)",
          ["code": JSON(error.code.rawValue), "status": JSON(error.status)])
      }
    }
  }
}

extension Engine.Active {
  /// The key is refused, for everything: nothing is wrong with this call.
  fileprivate func isPausedByKey(_ error: KassaError) -> Bool {
    guard case .people(let backend) = setup.backend else { return false }
    return backend.pause == .unauthorized && error.status == nil
  }
}
