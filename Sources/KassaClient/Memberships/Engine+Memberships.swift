import KassaCore
import KassaJSON
import KassaPlatform

/// Plans and memberships: what the service lists, and what is believed of it.
extension Engine {
  /// Plans and memberships, side by side.
  func refreshMembershipsAndPlans(_ cause: Change.Cause) async throws(KassaError) {
    async let plans = outcome { engine throws(KassaError) in _ = try await engine.refreshPlans(cause) }
    let memberships = await outcome { engine throws(KassaError) in try await engine.refreshMemberships(cause) }
    let both = (memberships, await plans)
    try both.0.get()
    try both.1.get()
  }

  func refreshPlans(_ cause: Change.Cause) async throws(KassaError) -> JSON {
    let active = try configured()
    var plans = try await active.memberships().plans()
    guard isCurrent(active) else { throw replaced }
    plans += await unlistedPlans(besides: plans, active)
    guard isCurrent(active) else { throw replaced }
    // The store's prices stand until it has been asked again.
    let known = Dictionary(state.loadedPlans.map { ($0.id, $0.storeDisplayPrice) }) { $1 }
    for index in plans.indices { plans[index].storeDisplayPrice = known[plans[index].id] ?? nil }
    keep(plans, cause: cause, active)
    mapReceipts()
    // Of a configuration they come with the storefront.
    if cause != .configure { await showStorePrices() }
    return ["plans": state.plans]
  }

  func keep(_ plans: [Plan], cause: Change.Cause, _ active: Active) {
    state.change(cause) { $0.plans = .loaded(plans) }
    write { storage throws(DatabaseError) in
      try storage.save(plans: StoredPlans.encode(plans), scope: active.setup.scope)
    }
  }

  /// The plans that the store sells although the service does not list them: what they are of decides what was paid for.
  private func unlistedPlans(besides listed: [Plan], _ active: Active) async -> [Plan] {
    guard active.setup.store != nil else { return [] }
    let ids = Set(active.setup.planMappings.map(\.planID)).subtracting(listed.map(\.id))
    var plans: [Plan] = []
    for id in ids.sorted() {
      // One that was withdrawn since is still what its buyers have.
      let plan = (try? await active.memberships().plan(id)) ?? state.loadedPlans.first { $0.id == id }
      guard var plan else { continue }
      plan.isListed = false
      plans.append(plan)
    }
    return plans
  }

  /// A plan, listed or not.
  func plan(_ id: String, _ active: Active) async throws(KassaError) -> Plan {
    if let plan = state.loadedPlans.first(where: { $0.id == id }) { return plan }
    guard var plan = try await active.memberships().plan(id) else {
      throw KassaError(.planNotFound, "the service has no plan \"\(id.quoted)\"")
    }
    guard isCurrent(active) else { throw replaced }
    plan.isListed = false
    keep(state.loadedPlans + [plan], cause: .purchase, active)
    return plan
  }

  /// As far as it is known: by the plan, or by what was bought under it before.
  func productID(ofPlan id: String) -> String? {
    state.loadedPlans.first { $0.id == id }?.productID
      ?? state.knowledge.receipts.values.first { $0.planID == id && $0.productID != nil }?.productID
  }

  func refreshMemberships(_ cause: Change.Cause) async throws(KassaError) {
    let active = try configured()
    let identity = state.identity
    let askedAt = time.bootNanoseconds
    let listing: MembershipListing
    do throws(KassaError) {
      listing = try await active.memberships().memberships(of: identity)
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
      guard try await active.memberships().mayReadMemberships() else {
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
  func verifyOmissions(
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
      guard let word = try? await active.memberships().membership(id) else { continue }
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
  func claimLatecomers(_ settled: [Membership], _ active: Active) {
    let ownership = state.knowledge.ownership
    guard let user = ownership.identity.appUserID else { return }
    let late = settled.filter {
      $0.deviceID == ownership.identity.deviceID && ownership.owner(of: $0) == nil
    }
    guard let newest = late.map(\.createdAt).max() else { return }
    let at = max(state.now, newest)
    var claim = PendingClaim(id: 0, appUserID: user, loggedInAt: at)
    let ids = write { storage throws(DatabaseError) in
      try storage.save(appUserID: user, claims: [claim], scope: active.setup.scope)
    }
    guard let id = ids?.first else { return }
    claim.id = id
    state.change(.purchase) { [claim] in $0.ownership.pendingClaims.append(claim) }
    scheduleRetry()
  }

  func restoreMemberships(_ active: Active) async throws(KassaError) -> JSON {
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

  func settle() {
    settling?.cancel()
    settling = Task(executorPreference: loop) { await self.settleOpen() }
  }

  func settleOpen() async {
    guard let active else { return }
    do throws(KassaError) { try await claimPending() } catch { if error.isTransient { scheduleRetry() } }
    await checkAttempts(active)
  }

  /// Soon after a period ended, the service knows whether it was renewed.
  func checkRenewals() {
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

  func checkRenewal(after milliseconds: Int64) async {
    do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch { return }
    do throws(KassaError) { try await refreshMemberships(.refresh) } catch {
      if error.isTransient { scheduleRetry() }
    }
  }
}
