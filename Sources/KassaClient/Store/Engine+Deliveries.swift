import KassaCore
import KassaJSON
import KassaPlatform

/// What a store delivers, from wherever it comes: kept on disk first, then granted, told of, finished and given to the
/// service.
extension Engine {
  enum Origin {
    /// The purchase that waits for it; its completion tells of it.
    case purchase
    /// The store's own word: an update, or what a scan found.
    case store
    /// The store's list of what it has not been told to be delivered.
    case unfinished
  }

  /// Takes a transaction in, for the configuration whose store delivered it. nil when it could not be verified.
  @discardableResult
  func deliver(_ delivery: StoreDelivery, from origin: Origin, _ active: Active) -> Receipt? {
    readRest()
    switch delivery {
    case .verified(let transaction):
      switch active.setup.backend {
      case .memberships: return take(transaction, from: origin, active)
      case .people:
        // What comes from the store of another configuration comes again when that one is back.
        if isCurrent(active) { capture(transaction, from: origin, active) }
        return nil
      }
    case .unverified(let id, let productID, let reason, let message):
      reportUnverified(id, productID, reason, message)
      return nil
    }
  }

  /// How many are taken in at once: each is written down, and the loop has other things to do, such as to close.
  private static let mostTakenAtOnce = 32

  /// Takes in everything that a store lists.
  func deliver(all deliveries: [StoreDelivery], from origin: Origin, _ active: Active) async {
    readRest()
    guard isCurrent(active) else { return }
    switch active.setup.backend {
    case .memberships:
      for (index, delivery) in deliveries.enumerated() {
        if index > 0, index.isMultiple(of: Self.mostTakenAtOnce) {
          do throws(CancellationError) { try await time.sleep(milliseconds: 1) } catch { return }
          guard isCurrent(active) else { return }
        }
        deliver(delivery, from: origin, active)
      }
    case .people:
      for case .unverified(let id, let productID, let reason, let message) in deliveries {
        reportUnverified(id, productID, reason, message)
      }
      await capture(all: deliveries.compactMap(\.verifiedTransaction), from: origin, active)
    }
  }

  /// Neither kept nor finished: whoever made it up gets nothing, and a true one is delivered again.
  func reportUnverified(_ id: String?, _ productID: String?, _ reason: String, _ message: String) {
    // Whoever makes transactions up shall not fill the memory.
    guard reportedUnverified.count < Constants.reportsOfOneKind, reportedUnverified.insert(id ?? message).inserted
    else {
      return
    }
    report(
      "storekit_transaction_unverified", "the store's transaction cannot be verified: \(message)",
      ["transaction_id": JSON(id), "store_product_id": JSON(productID), "reason": JSON(reason)])
  }

  private func take(_ transaction: StoreTransaction, from origin: Origin, _ active: Active) -> Receipt {
    let isDated = transaction.signedAt != nil
    var transaction = transaction
    if transaction.isOpenEnded || !isDated { transaction.signedAt = state.now }
    guard self.active?.setup.scope == active.setup.scope else { return keepElsewhere(transaction, active) }
    let known = state.knowledge.receipts[transaction.key]
    var receipt = receipt(for: transaction, isDated: isDated, known, active)
    if receipt !== known || unsavedReceipts.contains(transaction.key) {
      keep(receipt, cause: origin == .purchase ? .purchase : .store, active)
    }
    if origin == .purchase {
      tellOnce(receipt)
    } else if isInStore {
      // It may be what the open purchase is about, which tells of it itself.
      waitingDeliveries.append(.verified(transaction))
      return receipt
    } else if known?.progress.isFinished != true, receipt.transaction.isNews, tellOnce(receipt) {
      queue.put(
        .transaction([
          "type": "transaction_updated", "transaction": document(of: receipt),
          "synced": JSON(receipt.progress.isAccepted),
        ]))
    }
    // The store forgot, or was never told although it was asked.
    if origin == .unfinished, receipt.progress.isFinished { receipt = reopened(receipt) }
    // Nobody waits for the store to hear of it.
    Task(executorPreference: loop) { await self.finish(receipt) }
    wakeOutbox()
    return receipt
  }

  /// Whether it is told of for the first time in this run.
  @discardableResult
  private func tellOnce(_ receipt: Receipt) -> Bool { toldTransactions.insert(receipt.transaction.key).inserted }

  /// After a purchase in the store ended: what came meanwhile.
  func deliverWaiting(_ active: Active) {
    let waiting = waitingDeliveries
    waitingDeliveries = []
    // Where another configuration is in force by now, it is that one's store that delivered them.
    let current = active.hasPeople ? self.active ?? active : active
    for delivery in waiting { deliver(delivery, from: .store, current) }
  }

  /// - Parameter isDated: whether the store said when this became so.
  private func receipt(
    for transaction: StoreTransaction, isDated: Bool = true, _ known: Receipt?, _ active: Active
  ) -> Receipt {
    guard let known else {
      let planID = active.setup.planMappings.first { $0.storeProductID == transaction.productID }?.planID
      return Receipt(
        transaction, planID: planID, productID: planID.flatMap(productID(ofPlan:)),
        appUserID: (purchaser ?? state.identity).appUserID, capturedAt: state.now)
    }
    // A store may give an old signing of what was refunded since; and one whose word has no date may not know of the
    // refund (Google Play's own cache).
    let isOutdated =
      known.transaction.isNewer(than: transaction) || !isDated && transaction.takesBackRevocation(of: known.transaction)
    return isOutdated || !transaction.differs(from: known.transaction) ? known : known.updated(to: transaction)
  }

  /// Another account has been configured meanwhile: it is kept where it belongs, and the store, which is not told that
  /// it was delivered, gives it again when that account is back.
  private func keepElsewhere(_ transaction: StoreTransaction, _ active: Active) -> Receipt {
    let receipt = receipt(for: transaction, nil, active)
    write { storage throws(DatabaseError) in
      try storage.save(receipts: [receipt], answers: nil, scope: active.setup.scope)
    }
    return receipt
  }

  /// On disk before anything is finished; and granted at once.
  func keep(_ receipt: Receipt, cause: Change.Cause, _ active: Active) {
    state.change(cause) { $0.receipts[receipt.transaction.key] = receipt }
    let answers = answersToKeep
    let isDurable = write { storage throws(DatabaseError) -> Bool in
      try storage.save(receipts: [receipt], answers: answers, scope: active.setup.scope)
      return true
    }
    if isDurable == true {
      unsavedReceipts.remove(receipt.transaction.key)
    } else {
      unsavedReceipts.insert(receipt.transaction.key)
    }
  }

  /// To be finished once more.
  private func reopened(_ receipt: Receipt) -> Receipt {
    let open = receipt.with(Receipt.Progress(isAccepted: receipt.progress.isAccepted))
    state.edit { $0.receipts[receipt.transaction.key] = open }
    return open
  }

  /// Only what is on disk is finished: until then the store delivers it again.
  private func finish(_ receipt: Receipt) async {
    let key = receipt.transaction.key
    guard let active, let store = active.setup.store, let current = state.knowledge.receipts[key],
      !current.progress.isFinished, !unsavedReceipts.contains(key), finishing.insert(key).inserted
    else { return }
    defer { finishing.remove(key) }
    do throws(KassaError) { try await store.finish(current.transaction) } catch { return scheduleScan() }
    note(Receipt.Progress(isFinished: true), of: current, active)
    // A refund may have come while the store was still being told of the charge.
    guard let news = state.knowledge.receipts[key], news.transaction != current.transaction else { return }
    Task(executorPreference: loop) { await self.finish(news) }
  }

  /// Writes down what has been done with a receipt, unless it is another one by now: refunded, for example.
  private func note(_ done: Receipt.Progress, of receipt: Receipt, _ active: Active) {
    guard self.active?.setup.scope == active.setup.scope else { return }
    let transaction = receipt.transaction
    state.edit { knowledge in
      guard let current = knowledge.receipts[transaction.key], current.transaction == transaction else { return }
      var progress = current.progress
      progress.isFinished = progress.isFinished || done.isFinished
      progress.isAccepted = progress.isAccepted || done.isAccepted
      knowledge.receipts[transaction.key] = current.with(progress)
    }
    write { storage throws(DatabaseError) in
      try storage.save(progress: done, of: transaction, scope: active.setup.scope)
    }
  }

  // MARK: Giving receipts to the service

  /// Gives one to a service that lists memberships, if it takes receipts.
  func submit(
    _ row: ClientStorage.ReceiptRow, to backend: any MembershipBackend, _ active: Active
  ) async throws(KassaError) -> ReceiptVerdict {
    readRest()
    let key = "\(row.id.platform.rawValue) \(row.id.text)"
    guard let receipt = state.knowledge.receipts[key] else {
      return .refused(message: "what proves it is not kept any more", status: nil)
    }
    do throws(KassaError) {
      let word = try await backend.submit(receipt, of: state.identity.deviceID)
      guard isCurrent(active) else { throw replaced }
      if case .accepted(let membership?) = word { learn([membership], listed: nil, cause: .store) }
      note(Receipt.Progress(isAccepted: true), of: receipt, active)
      // It was refunded, or mapped to another plan, while it was on its way: the service has to hear of that, too.
      guard state.knowledge.receipts[key]?.progress.isAccepted == true else {
        throw KassaError(.cancelled, "the receipt has changed")
      }
      return .accepted
    } catch {
      if error.isTransient || error.code == .cancelled { throw error }
      return .refused(message: error.message, status: error.status)
    }
  }

  /// How hosts see a receipt's transaction.
  func document(of receipt: Receipt) -> JSON {
    state.stamped(
      receipt.transaction.document.merging([
        ("plan_id", JSON(receipt.planID)), ("product_id", JSON(receipt.productID)),
      ]))
  }
}
