import KassaCore
import KassaPlatform

/// What the disk refused and is given again: with the next occasion that it takes something, after a wait that grows, and
/// at the end.
struct RefusedWrites {
  /// Switches of who asks; they count among the unsaved identities until they are on disk.
  var identities = 0
  /// Log-ins that are on their way to the service without being on disk, by number.
  var logIns: [Int: Identification] = [:]
  var lastLogIn = 0
  /// What the store of people sold and only this process knows of, by `StoreTransaction.key`.
  var captures: [String: (transaction: StoreTransaction, scope: String)] = [:]
  var retry: Task<Void, Never>?

  var isEmpty: Bool { identities == 0 && captures.isEmpty }
}

extension Engine {
  /// The switch that was made last is written down, and with it those that the disk refused before.
  func saveIdentity() {
    saveIdentity(switches: 1)
    if active?.hasPeople ?? false { Task(executorPreference: loop) { try? await self.refreshPerson(.logout) } }
  }

  /// Before anything is captured for who asks: the next start has to know them.
  func saveRefusedIdentity() {
    if refused.identities > 0 { saveIdentity(switches: 0) }
  }

  /// The last occasion.
  func saveIdentityAtTheEnd() {
    guard state.knowledge.unsavedIdentities > 0 else { return }
    saveIdentity(switches: 0, logIns: refused.logIns.sorted { $0.key < $1.key }.map(\.value))
  }

  private func saveIdentity(switches: Int, logIns: [Identification] = []) {
    let (user, now) = (state.identity.appUserID, state.now)
    let scope = active?.setup.scope
    if let anonymousID = state.knowledge.anonymousID {
      writeIdentity(switches: switches) { storage throws(DatabaseError) in
        try storage.save(
          appUserID: user, anonymousID: anonymousID, writes: logIns.map { .identify($0) }, at: now, scope: scope)
      }
    } else {
      let claims = state.knowledge.ownership.pendingClaims.filter { $0.id < 0 }
      let ids = writeIdentity(switches: switches) { storage throws(DatabaseError) in
        try storage.save(appUserID: user, claims: claims, scope: scope)
      }
      number(claims, ids ?? [])
    }
  }

  /// Claims that were only in memory are known by their numbers on disk from now on.
  func number(_ claims: [PendingClaim], _ ids: [Int64]) {
    state.edit { knowledge in
      for (claim, id) in zip(claims, ids) {
        for index in knowledge.ownership.pendingClaims.indices
        where knowledge.ownership.pendingClaims[index].id == claim.id {
          knowledge.ownership.pendingClaims[index].id = id
        }
      }
    }
  }

  /// Writes who asks now.
  ///
  /// - Parameter switches: how many switches the caller answers for.
  @discardableResult
  func writeIdentity<Value>(
    switches: Int, _ body: (ClientStorage) throws(DatabaseError) -> Value
  ) -> Value? {
    let value = write(body)
    refused.identities += switches
    if value == nil {
      retryRefusedWrites()
    } else {
      let settled = refused.identities
      refused.identities = 0
      state.edit { $0.unsavedIdentities -= settled }
    }
    return value
  }

  /// Gives the disk everything again that it refused.
  func writeRefused() {
    saveRefusedIdentity()
    guard let active else { return }
    for (key, capture) in refused.captures.sorted(by: { $0.key < $1.key }) {
      if capture.scope == active.setup.scope {
        self.capture(capture.transaction, from: .store, active)
      } else {
        // Its store delivers it again when its configuration is back.
        refused.captures[key] = nil
      }
      // Each refusal takes its time; the loop has other things to do.
      if storageFailed { return }
    }
  }

  func retryRefusedWrites() {
    guard refused.retry == nil else { return }
    refused.retry = Task(executorPreference: loop) { await self.keepWriting() }
  }

  private func keepWriting() async {
    defer { refused.retry = nil }
    var tries = 0
    while !refused.isEmpty {
      tries += 1
      let delay = RetryPolicy.interactive.delay(retry: tries, jitter: random.fraction())
      do throws(CancellationError) { try await time.sleep(milliseconds: delay) } catch { return }
      writeRefused()
    }
  }
}
