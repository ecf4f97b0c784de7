import KassaCore
import KassaJSON
import KassaPlatform

/// What a store sells to people: captured on disk for whoever bought it, given to the service, and finished in the store
/// once the service has accepted it.
extension Engine {
  enum Capture {
    /// On disk, and still to be sent.
    case queued(ReceiptID)
    /// The service has it already; whether the store knows that it was delivered.
    case known(ReceiptID, isFinished: Bool)
    /// The disk refused it, and is given it again; the store keeps it, since it is not finished, and delivers it again.
    case notSaved
    /// Not for the service: it stays in the store.
    case skipped

    var id: ReceiptID? {
      switch self {
      case .queued(let id), .known(let id, _): id
      case .notSaved, .skipped: nil
      }
    }
  }

  // MARK: Capturing

  /// Takes a transaction of the store in, from a purchase or by itself.
  @discardableResult
  func capture(
    _ transaction: StoreTransaction, from origin: Origin, _ active: Active, offered: Catalogue.Product? = nil
  ) -> Capture {
    let capture = save([transaction], from: origin, active, offered).first ?? .notSaved
    follow(capture, of: transaction, from: origin, active)
    return capture
  }

  /// The same of everything that a store lists. Some at a time are written together, since a disk takes longer to confirm
  /// than to write; and others get their turn in between.
  @discardableResult
  func capture(
    all transactions: [StoreTransaction], from origin: Origin, _ active: Active
  ) async -> [Capture] {
    var captures: [Capture] = []
    for start in stride(from: 0, to: transactions.count, by: Constants.outboxBatch) where isCurrent(active) {
      if start > 0 { await Task.yield() }
      let some = transactions.dropFirst(start).prefix(Constants.outboxBatch)
      let saved = save(Array(some), from: origin, active, nil)
      for (capture, transaction) in zip(saved, some) { follow(capture, of: transaction, from: origin, active) }
      captures += saved
    }
    return captures
  }

  private func follow(_ capture: Capture, of transaction: StoreTransaction, from origin: Origin, _ active: Active) {
    if origin == .purchase {
      toldTransactions.insert(transaction.key)
    } else if isInStore {
      // It may be what the open purchase is about, which tells of it itself.
      waitingDeliveries.append(.verified(transaction))
    } else if transaction.isNews, !isOld(capture, active), toldTransactions.insert(transaction.key).inserted {
      announce(transaction, capture)
    }
    refused.captures[transaction.key] = nil
    switch capture {
    case .known(let id, _): finishAccepted(id, transaction, from: origin, active)
    case .queued: wakeOutbox()
    case .notSaved:
      refused.captures[transaction.key] = (transaction, active.setup.scope)
      retryRefusedWrites()
      scheduleScan()
    case .skipped: break
    }
    if Fault.finishFirst.isOn { Task(executorPreference: loop) { await self.finishTooEarly(transaction) } }
  }

  /// Whether there is nothing to tell of it: the store has been told that it was delivered, or it is nobody's business
  /// here. What was accepted in an earlier run and not finished may not have been told of.
  private func isOld(_ capture: Capture, _ active: Active) -> Bool {
    switch capture {
    case .known(_, let isFinished): isFinished || active.configuration.isObserver
    case .skipped: true
    case .queued, .notSaved: false
    }
  }

  /// All of them in one step; in their order.
  private func save(
    _ transactions: [StoreTransaction], from origin: Origin, _ active: Active, _ offered: Catalogue.Product?
  ) -> [Capture] {
    saveRefusedIdentity()
    let saved = write { storage throws(DatabaseError) in
      try storage.database.transaction { () throws(DatabaseError) in
        var captures: [Capture] = []
        for transaction in transactions { captures.append(try save(transaction, from: origin, active, offered)) }
        return captures
      }
    }
    return saved ?? transactions.map { _ in .notSaved }
  }

  private func save(
    _ transaction: StoreTransaction, from origin: Origin, _ active: Active, _ offered: Catalogue.Product?
  ) throws(DatabaseError) -> Capture {
    guard let owner = try owner(of: transaction, from: origin, active) else { return .notSaved }
    let receipt = receipt(of: transaction, for: owner, offered: offered)
    if isSkipped(receipt, active) { return .skipped }
    let scope = active.setup.scope
    guard let known = try storage.receiptRow(of: transaction, scope: scope) else {
      try storage.add(receipt, transaction, scope: scope)
      return .queued(transaction.receiptID)
    }
    // Refunded, revoked, replaced by an upgrade: the service hears of it under the same id. Of what was reported by its
    // id alone nothing else is known.
    let isChanged =
      known.transaction.map { transaction.differs(from: $0) && !$0.isNewer(than: transaction) } ?? !transaction.isNews
    if isChanged {
      var again = receipt
      (again.owner, again.isHostOwned) = (known.receipt.restoreOwner ?? known.receipt.owner, known.receipt.isHostOwned)
      try storage.requeue(again, transaction, scope: scope)
      return .queued(known.id)
    }
    if known.transaction == nil { _ = try storage.add(receipt, transaction, scope: scope) }
    return known.isAccepted
      ? .known(known.id, isFinished: known.isFinished || known.receipt.isHostOwned) : .queued(known.id)
  }

  func receipt(
    of transaction: StoreTransaction, for owner: DistinctID, offered: Catalogue.Product? = nil
  ) -> OutgoingReceipt {
    let product = offered ?? state.knowledge.catalogue?.product(selling: transaction)
    return OutgoingReceipt(
      platform: transaction.platform, transactionID: transaction.id, originalID: transaction.originalID,
      storeProductID: transaction.productID, productSlug: product?.slug, purchaseToken: transaction.purchaseToken,
      environment: transaction.environment, purchasedAt: transaction.purchasedAt, quantity: transaction.quantity,
      owner: owner)
  }

  /// Whether a receipt is not for the service, which is said once.
  func isSkipped(_ receipt: OutgoingReceipt, _ active: Active) -> Bool {
    guard case .people(let backend) = active.setup.backend, let obstacle = backend.obstacle(to: receipt) else {
      return false
    }
    let details: JSON = ["transaction_id": JSON(receipt.transactionID)]
    switch obstacle {
    case .testing:
      reportOnce(
        "storekit_testing_transaction_skipped",
        "transactions of an Xcode StoreKit configuration are not sent: nobody but this machine could check them",
        details)
    case .realCharge:
      reportOnce(
        "production_transaction_skipped:\(receipt.transactionID)",
        "a purchase that was really charged is not sent as a development one; the store keeps it, and it is sent once "
          + "the client is configured with the environment \"production\"", details)
    }
    return true
  }

  /// Whose purchase it is, the first that is known: who opened the sheet that sold it, who restored its series, whose
  /// token it carries, who asks now (Voidhash's SDK for iOS, `PurchaseOrchestrator`).
  private func owner(
    of transaction: StoreTransaction, from origin: Origin, _ active: Active
  ) throws(DatabaseError) -> DistinctID? {
    if origin == .purchase || outbox.ownPurchases.contains(transaction.key), let purchaserID { return purchaserID }
    for token in [transaction.restoreToken, transaction.appAccountToken].compactMap(\.self) {
      if let owner = try storage.owner(ofAccountToken: token, scope: active.setup.scope) { return owner }
    }
    return distinctID
  }

  // MARK: After acceptance

  /// The service has it: the store may forget it, and the person has something new.
  func accepted(_ row: ClientStorage.ReceiptRow, _ active: Active) {
    guard case .people = active.setup.backend else { return }
    // A restore for somebody else that waits behind it is still to be sent.
    guard row.receipt.restoreOwner == nil, let transaction = row.transaction else { return }
    finish(row, transaction, active)
  }

  private func finishAccepted(
    _ id: ReceiptID, _ transaction: StoreTransaction, from origin: Origin, _ active: Active
  ) {
    let row = read { storage throws(DatabaseError) in try storage.receiptRow(id, scope: active.setup.scope) } ?? nil
    // What the store still lists it forgot, or was never told although it was asked.
    if let row { finish(row, transaction, again: origin == .unfinished, active) }
  }

  /// Never what the host has reported, and in observer mode only what this client sold itself.
  private func finish(
    _ row: ClientStorage.ReceiptRow, _ transaction: StoreTransaction, again: Bool = false, _ active: Active
  ) {
    guard again || !row.isFinished, !row.receipt.isHostOwned, active.setup.store != nil,
      !active.configuration.isObserver || outbox.ownPurchases.contains(transaction.key)
    else { return }
    let (id, revision, number) = (row.id, row.revision, active.number)
    Task(executorPreference: loop) { await self.finishInStore(id, revision, transaction, again: again, number) }
  }

  private func finishInStore(
    _ id: ReceiptID, _ revision: Int64, _ transaction: StoreTransaction, again: Bool, _ number: Int
  ) async {
    // A refund may be accepted while the store is still being told of the charge.
    let key = "\(transaction.key) \(revision)"
    guard let active, active.number == number, let store = active.setup.store, finishing.insert(key).inserted else {
      return
    }
    defer { finishing.remove(key) }
    // The host may have reported it while it was on its way; and what the service has yet to hear is not finished.
    let row = read { storage throws(DatabaseError) in try storage.receiptRow(id, scope: active.setup.scope) } ?? nil
    guard let row, row.revision == revision, !row.receipt.isHostOwned, again || !row.isFinished else { return }
    do throws(KassaError) { try await store.finish(transaction) } catch { return scheduleScan() }
    write { storage throws(DatabaseError) in
      try storage.markFinished(id, revision: revision, scope: active.setup.scope)
    }
  }

  /// How hosts see a transaction of people.
  func document(of transaction: StoreTransaction) -> JSON {
    let product = state.knowledge.catalogue?.product(selling: transaction)
    return state.stamped(
      transaction.document.merging([
        ("product_slug", JSON(product?.slug)), ("product_id", JSON(product?.id)), ("plan_id", .null),
      ]))
  }
}

extension Catalogue {
  func product(selling transaction: StoreTransaction) -> Product? {
    products.first { $0.storeProductIDs[transaction.platform] == transaction.productID }
  }
}

extension StoreTransaction {
  /// Stands for its series where owners are remembered.
  var restoreToken: String { "restored \(platform.rawValue) \(originalID)" }

  var purchaseToken: String? { platform == .google ? proof : nil }
}
