import KassaCore
import KassaJSON
import KassaPlatform

/// Logging in: the guest purchases of this device, and of the same buyer elsewhere, become the user's.
extension Engine {
  /// The local switch has been made; this keeps it, and tells the service.
  func logIn(_ claim: PendingClaim) async throws(KassaError) -> JSON {
    let temporary = claim.id
    firstTries.insert(temporary)
    defer { firstTries.remove(temporary) }
    let active = try configured()
    let current = state.identity.appUserID
    let saved = writeIdentity(switches: 1) { storage throws(DatabaseError) in
      try storage.save(appUserID: current, claims: [claim], scope: active.setup.scope)
    }
    number([claim], saved ?? [])
    var claim = claim
    if let id = saved?.first { claim.id = id }
    firstTries.insert(claim.id)
    defer { firstTries.remove(claim.id) }
    var claimed: [String] = []
    var isDeferred = false
    do throws(KassaError) {
      try await perform(claim, isFirstTry: true) { claimed.append($0) }
    } catch {
      guard error.isTransient else { throw error }
      isDeferred = true
      scheduleRetry()
    }
    return [
      "app_user_id": JSON(claim.appUserID.text), "claimed": .array(claimed.map { JSON($0) }),
      "deferred": JSON(isDeferred),
    ]
  }

  /// Claims that earlier logins still owe to the service, oldest first. One that is refused holds up no other.
  func claimPending() async throws(KassaError) {
    var failure: KassaError?
    for claim in state.knowledge.ownership.pendingClaims where !firstTries.contains(claim.id) {
      do throws(KassaError) { try await perform(claim, isFirstTry: false) { _ in } } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  /// Idempotent: a claim that reached the service before the answer was lost finds nothing left to claim.
  private func perform(
    _ claim: PendingClaim, isFirstTry: Bool, _ claimed: (String) -> Void
  ) async throws(KassaError) {
    let active = try configured()
    let identity = Identity(deviceID: state.identity.deviceID, appUserID: claim.appUserID)
    let askedAt = time.bootNanoseconds
    let listing = try await active.memberships().memberships(of: identity)
    if listing.memberships.isEmpty { try await verifyEmptiness(active) }
    guard isCurrent(active) else { throw replaced }
    learn(
      listing.memberships, listed: state.identity == identity ? identity : nil, cause: .login, askedAt: askedAt)

    // What an earlier login owns, told to the service or not, stays that user's; and what was bought on this device
    // after a login that is told late belongs to whoever logs in next.
    let ownership = state.knowledge.ownership
    func isOurs(_ membership: Membership) -> Bool {
      guard membership.appUserID == nil else { return false }
      guard membership.deviceID == identity.deviceID else { return true }
      let owner = ownership.owner(of: membership)
      return owner == claim.appUserID || (isFirstTry && owner == nil)
    }
    var guests = listing.memberships.filter { $0.deviceID == identity.deviceID && isOurs($0) }
    var seen = Set(guests.map(\.id))
    for buyer in Set(guests.compactMap(\.buyerID)).sorted() {
      for other in try await active.memberships().unclaimedMemberships(ofBuyer: buyer)
      where isOurs(other) && seen.insert(other.id).inserted { guests.append(other) }
    }
    for guest in guests {
      let row = try await active.memberships().claim(guest, for: claim.appUserID)
      guard isCurrent(active) else { throw replaced }
      learn([row], listed: nil, cause: .login)
      claimed(row.id)
    }
    // The disk may have taken it meanwhile, and given it another number.
    func isDone(_ other: PendingClaim) -> Bool {
      other.appUserID == claim.appUserID && other.loggedInAt == claim.loggedInAt
    }
    let numbers = state.knowledge.ownership.pendingClaims.filter(isDone).map(\.id)
    write { storage throws(DatabaseError) in for number in numbers { try storage.removeClaim(number) } }
    state.change(.login) { $0.ownership.pendingClaims.removeAll(where: isDone) }
  }
}
