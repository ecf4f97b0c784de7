import KassaCore
import KassaJSON
import KassaPlatform

/// What the engine keeps on disk, and what other processes wrote there.
extension Engine {
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

  /// Not before the first answers: the kernel takes its time to end a watch, and a program that only asks and leaves
  /// would wait for it.
  func startWatching() {
    guard watch == nil, surroundings.storage != ClientOptions.inMemory else { return }
    watch = StorageWatch(directory: surroundings.storage, loop: loop) { [weak self] in
      self?.assumeIsolated { $0.reloadIfChanged() }
    }
  }

  /// What only this process knows is not for the next one.
  var answersToKeep: ClientStorage.KeptAnswers? { storageFailed ? nil : state.answersToKeep }

  /// Another process may have written.
  func reloadIfChanged() {
    guard storage.hasForeignChanges(), let active else { return }
    let user = read { storage throws(DatabaseError) in try storage.appUserID() }
    let asking = state.knowledge.unsavedIdentities == 0 ? user ?? state.identity.appUserID : state.identity.appUserID
    guard let cache = readCache(active.setup.scope, as: asking) else { return }
    for attempt in cache.attempts { attempts[attempt.nonce] = attempt }
    state.change(.anotherProcess) { knowledge in
      knowledge.fill(from: cache, unsaved: unsavedReceipts, keepingNewer: storageFailed)
      // What this process's host has just said counts, even before it is on disk.
      if let user, knowledge.unsavedIdentities == 0 { knowledge.ownership.identity.appUserID = user }
    }
    checkRenewals()
    checkNews()
    outbox.progress.fire()
    wakeOutbox()
  }

  /// Writes, and says once when the disk refuses; the client goes on from memory.
  @discardableResult
  func write<Value>(_ body: (ClientStorage) throws(DatabaseError) -> Value) -> Value? {
    do throws(DatabaseError) {
      let value = try body(storage)
      if storageFailed {
        storageFailed = false
        // It takes things again.
        if !refused.isEmpty { Task(executorPreference: loop) { await self.writeRefused() } }
      }
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

  func read<Value>(_ body: (ClientStorage) throws(DatabaseError) -> Value) -> Value? {
    do throws(DatabaseError) { return try body(storage) } catch {
      report("storage_failed", "the storage cannot be read: \(error.message)", ["sqlite_code": JSON(Int(error.code))])
      return nil
    }
  }
}

extension ClientState.Knowledge {
  /// Another service or account: nothing that was known is about it.
  mutating func forget() {
    (memberships, receipts, plans, listedAt, person, catalogue) = ([:], [:], nil, [:], nil, nil)
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
    // Whose id has been made and is not on disk yet keeps it.
    anonymousID = unsavedIdentities == 0 ? cache.anonymousID ?? anonymousID : anonymousID
    if let stored = cache.catalogue?.catalogue { catalogue = stored }
    let isSame = cache.person?.id == person?.id
    if !isSame || (cache.person?.fetchedAt ?? .min) > (person?.fetchedAt ?? .min) { person = cache.person }
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
