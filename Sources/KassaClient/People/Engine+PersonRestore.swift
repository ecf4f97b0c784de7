import KassaCore
import KassaJSON
import KassaPlatform

/// Restoring, and looking for what the service has not been given yet.
extension Engine {
  /// Sends the latest transaction of each subscription and non-consumable again, also those that the service has: only a
  /// restore that the user asks for may give them what grants access to somebody else. A store lists what holds; what has
  /// ended is known from the receipts of whoever restores.
  func restorePeople(_ active: Active) async throws(KassaError) -> JSON {
    guard let owner = distinctID else { throw .notConfigured }
    if active.isInert { return ["outcome": "disabled", "restored": false, "person": .null] }
    guard !active.configuration.isObserver else { throw .readOnly("restore") }
    guard let store = active.setup.store else {
      throw KassaError(.unsupported, "there is nothing to restore without a store: configure \"store\"")
    }
    guard try await store.restore() else { return ["outcome": "cancelled", "restored": false, "person": .null] }
    let listed = verified(try await store.entitlements())
    let owned = (listed + (try remembered(of: owner, besides: listed, active))).filter {
      $0.kind != .consumable && $0.isNews && !isSkipped(receipt(of: $0, for: owner), active)
    }
    let ids = try await queueRestore(of: owned, for: owner, active)
    wakeOutbox()
    guard await isAccepted(ids, within: Constants.restoreWaitMilliseconds, active) else {
      guard !Task.isCancelled else { throw KassaError(.cancelled, "the operation was cancelled") }
      throw KassaError(
        .reconcileTransactionsFailed,
        "not every receipt reached the service; they stay and are sent again: "
          + owned.map(\.id).prefix(20).joined(separator: ", "),
        retryable: true)
    }
    let person = try await restoredPerson()
    return ["outcome": "completed", "restored": JSON(state.isAnythingActive), "person": person]
  }

  /// The receipts are the service's by now, so a person who cannot be asked for fails nothing: it is the one that is known,
  /// marked stale, as with every other read (Voidhash's SDK for iOS, `getCurrentPerson`).
  private func restoredPerson() async throws(KassaError) -> JSON {
    do throws(KassaError) { try await refreshPerson(.restore, isFresh: true) } catch {
      if error.code == .cancelled { throw error }
      let known = state.person
      return known.isNull ? known : known.merging([("stale", true)])
    }
    return state.person
  }

  /// What the store does not list. Only the owner's own: the account that the store has now may be another than the one
  /// that bought what somebody else's receipts tell of, and a restore would take it from them.
  private func remembered(
    of owner: DistinctID, besides listed: [StoreTransaction], _ active: Active
  ) throws(KassaError) -> [StoreTransaction] {
    let series = Set(listed.map(\.series))
    do throws(DatabaseError) {
      return try storage.latestTransactions(
        of: owner, in: active.setup.storePlatform, scope: active.setup.scope
      ).filter { !series.contains($0.series) }
    } catch {
      throw KassaError(.storage, "what may be restored cannot be read: \(error.message)", retryable: true)
    }
  }

  /// Some at a time in one step; others get their turn in between.
  private func queueRestore(
    of transactions: [StoreTransaction], for owner: DistinctID, _ active: Active
  ) async throws(KassaError) -> [ReceiptID] {
    let scope = active.setup.scope
    var ids: [ReceiptID] = []
    for start in stride(from: 0, to: transactions.count, by: Constants.outboxBatch) {
      if start > 0 { await Task.yield() }
      do throws(DatabaseError) {
        try storage.database.transaction { () throws(DatabaseError) in
          for transaction in transactions.dropFirst(start).prefix(Constants.outboxBatch) {
            var receipt = receipt(of: transaction, for: owner)
            receipt.isRestore = true
            if let id = try storage.requeue(receipt, transaction, scope: scope) { ids.append(id) }
            // Renewals of what was restored are theirs, too.
            try storage.save(accountToken: transaction.restoreToken, of: owner, scope: scope)
          }
        }
      } catch {
        throw KassaError(.storage, "the restore cannot be saved: \(error.message)", retryable: true)
      }
    }
    // The restore's own result tells of them.
    for transaction in transactions { toldTransactions.insert(transaction.key) }
    return ids
  }

  /// Reports everything that was charged and is not finished, and what the store's account owns, as far as the service
  /// does not have it.
  func syncPurchases() async throws(KassaError) -> JSON {
    let active = try configured()
    _ = try active.people()
    guard let store = active.setup.store else {
      throw KassaError(.unsupported, "kassa_sync_purchases needs a store: configure \"store\"")
    }
    if active.isInert {
      return ["synced": false, "person": .null, "pending_transaction_count": JSON(try pendingCount(active))]
    }
    let (unfinished, owned) = (verified(try await store.unfinished()), verified(try await store.entitlements()))
    var captures = await capture(all: unfinished, from: .unfinished, active)
    captures += await capture(all: owned, from: .store, active)
    let isSaved = captures.allSatisfy { if case .notSaved = $0 { false } else { true } }
    let isSynced =
      await isAccepted(captures.compactMap(\.id), within: Constants.syncPurchasesWaitMilliseconds, active) && isSaved
    if isSynced { try? await refreshPerson(.refresh, isFresh: true) }
    return [
      "synced": JSON(isSynced), "person": state.person, "pending_transaction_count": JSON(try pendingCount(active)),
    ]
  }

  /// Reports what cannot be verified, and gives the rest.
  private func verified(_ deliveries: [StoreDelivery]) -> [StoreTransaction] {
    deliveries.compactMap { delivery in
      if case .unverified(let id, let productID, let reason, let message) = delivery {
        reportUnverified(id, productID, reason, message)
      }
      return delivery.verifiedTransaction
    }
  }
}

extension StoreTransaction {
  /// What a transaction continues. One order of Google Play may be of several products.
  fileprivate var series: String { platform == .google ? "\(originalID) \(productID)" : originalID }
}

extension KassaError {
  static func readOnly(_ what: String) -> KassaError {
    KassaError(
      .readOnlyPurchaseNotAllowed, "with \"observer_mode\" the host buys and restores by itself, so no \(what) here")
  }
}
