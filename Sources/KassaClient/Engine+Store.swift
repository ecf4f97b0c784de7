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
  }

  /// Takes a transaction in. nil when it could not be verified.
  @discardableResult
  func deliver(_ delivery: StoreDelivery, from origin: Origin) async -> Receipt? {
    readRest()
    guard let active, active.setup.store != nil else { return nil }
    switch delivery {
    case .verified(let transaction): return await take(transaction, from: origin, active)
    case .unverified(let id, let productID, let reason, let message):
      // Neither kept nor finished: whoever made it up gets nothing, and a true one is delivered again.
      if reportedUnverified.insert(id ?? message).inserted {
        report(
          "storekit_transaction_unverified", "the store's transaction cannot be verified: \(message)",
          ["transaction_id": JSON(id), "store_product_id": JSON(productID), "reason": JSON(reason)])
      }
      return nil
    }
  }

  private func take(_ transaction: StoreTransaction, from origin: Origin, _ active: Active) async -> Receipt {
    var transaction = transaction
    if transaction.isOpenEnded || transaction.signedAt == nil { transaction.signedAt = state.now }
    let known = state.knowledge.receipts[transaction.key]
    let receipt = receipt(for: transaction, known, active)
    if receipt !== known || unsavedReceipts.contains(transaction.key) {
      keep(receipt, cause: origin == .purchase ? .purchase : .store, active)
    }
    if origin == .purchase {
      tellOnce(receipt)
    } else if known?.progress.isFinished != true, !receipt.isWithdrawn, tellOnce(receipt) {
      queue.put(
        .transaction([
          "type": "transaction_updated", "transaction": document(of: receipt),
          "synced": JSON(receipt.progress.isAccepted),
        ]))
    }
    await finish(receipt, active)
    scheduleSubmission()
    return receipt
  }

  /// Whether it is told of for the first time in this run.
  @discardableResult
  private func tellOnce(_ receipt: Receipt) -> Bool { toldTransactions.insert(receipt.transaction.key).inserted }

  private func receipt(for transaction: StoreTransaction, _ known: Receipt?, _ active: Active) -> Receipt {
    guard let known else {
      let planID = active.setup.planMappings.first { $0.storeProductID == transaction.productID }?.planID
      return Receipt(
        transaction, planID: planID, productID: planID.flatMap(state.productID(ofPlan:)),
        appUserID: (purchaser ?? state.identity).appUserID, capturedAt: state.now)
    }
    // A store may give an old signing of what was refunded since.
    guard transaction.differs(from: known.transaction), !known.isNewer(than: transaction) else { return known }
    return known.updated(to: transaction)
  }

  /// On disk before anything is finished; and granted at once.
  private func keep(_ receipt: Receipt, cause: Change.Cause, _ active: Active) {
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

  /// Only what is on disk is finished: until then the store delivers it again.
  private func finish(_ receipt: Receipt, _ active: Active) async {
    let key = receipt.transaction.key
    guard let store = active.setup.store, let current = state.knowledge.receipts[key], !current.progress.isFinished,
      !unsavedReceipts.contains(key), finishing.insert(key).inserted
    else { return }
    defer { finishing.remove(key) }
    do throws(KassaError) { try await store.finish(receipt.transaction) } catch {
      // The next scan finds it again.
      return
    }
    note(Receipt.Progress(isFinished: true), of: receipt.transaction, active)
  }

  /// Writes down what has been done with a receipt.
  private func note(_ done: Receipt.Progress, of transaction: StoreTransaction, _ active: Active) {
    guard self.active?.setup.scope == active.setup.scope else { return }
    state.edit { knowledge in
      guard let receipt = knowledge.receipts[transaction.key] else { return }
      var progress = receipt.progress
      progress.isFinished = progress.isFinished || done.isFinished
      progress.isAccepted = progress.isAccepted || done.isAccepted
      knowledge.receipts[transaction.key] = receipt.with(progress)
    }
    write { storage throws(DatabaseError) in
      try storage.save(progress: done, of: transaction, scope: active.setup.scope)
    }
  }

  // MARK: Giving receipts to the service

  func scheduleSubmission() {
    guard submission == nil else { return }
    submission = Task(executorPreference: loop) { await self.submitAll() }
  }

  /// One at a time, oldest first. What the service refuses holds up no other.
  private func submitAll() async {
    defer { submission = nil }
    guard let active else { return }
    var refused: Set<String> = []
    while isCurrent(active), let receipt = nextToSubmit(refused) {
      do throws(KassaError) {
        switch try await active.setup.backend.submit(receipt, of: state.identity.deviceID) {
        case .accepted(let membership):
          guard isCurrent(active) else { return }
          if let membership { learn([membership], listed: nil, cause: .store) }
        case .notTaken: break
        }
        note(Receipt.Progress(isAccepted: true), of: receipt.transaction, active)
      } catch {
        if error.isTransient || error.code == .cancelled { return scheduleRetry() }
        refused.insert(receipt.transaction.key)
        reportOnce(
          "transaction_rejected:\(receipt.transaction.key)",
          "the service does not take the transaction; it is offered again at the next start: \(error.message)",
          ["transaction_id": JSON(receipt.transaction.id), "code": JSON(error.code.rawValue)])
      }
    }
  }

  private func nextToSubmit(_ refused: Set<String>) -> Receipt? {
    state.knowledge.receipts.values
      .filter { !$0.progress.isAccepted && !refused.contains($0.transaction.key) }
      .min { ($0.capturedAt, $0.transaction.id) < ($1.capturedAt, $1.transaction.id) }
  }

  // MARK: Looking

  /// Listens to the store of a new configuration.
  func openStore(_ setup: Setup) {
    guard let store = setup.store else { return }
    store.listen { [weak self] event in
      guard let self else { return }
      Task(executorPreference: self.loop) { await self.heard(event) }
    }
  }

  private func heard(_ event: StoreEvent) async {
    switch event {
    case .updated(let delivery):
      // What the open purchase is about, it tells of itself.
      if isInStore { return waitingDeliveries.append(delivery) }
      await deliver(delivery, from: .store)
    case .storefrontChanged(let storefront): await follow(storefront)
    case .message(let message): queue.put(.other(["type": "store_message", "message": message]))
    case .intent(let order): await follow(order)
    }
  }

  /// After a purchase in the store ended: what came meanwhile.
  func deliverWaiting() async {
    while !waitingDeliveries.isEmpty { await deliver(waitingDeliveries.removeFirst(), from: .store) }
  }

  /// Everything that was charged and is not finished. At most once a minute, unless it is due in any case.
  func scanStore(always: Bool = false) async {
    guard let active, let store = active.setup.store else { return }
    let boot = time.bootNanoseconds
    if !always, let last = scannedAt, boot &- last < Constants.scanMilliseconds * 1_000_000 { return }
    scannedAt = boot
    guard let deliveries = try? await store.unfinished() else { return }
    for delivery in deliveries where isCurrent(active) { await deliver(delivery, from: .store) }
    try? await readStoreEntitlements(active)
  }

  /// What the store says that the user's account owns. What it names although its period is over is in the grace that
  /// the store allows while it retries a payment.
  func readStoreEntitlements(_ active: Active) async throws(KassaError) {
    guard let store = active.setup.store else { return }
    let deliveries = try await store.entitlements()
    for delivery in deliveries where isCurrent(active) { await deliver(delivery, from: .store) }
    guard isCurrent(active) else { return }
    let listed = Set(deliveries.compactMap(\.verifiedTransaction?.key))
    for receipt in state.knowledge.receipts.values
    where receipt.transaction.isOpenEnded && !listed.contains(receipt.transaction.key) {
      var ended = receipt.transaction
      (ended.expiresAt, ended.signedAt) = (state.now, state.now)
      keep(receipt.updated(to: ended), cause: .store, active)
    }
    if deliveries.contains(where: { ($0.verifiedTransaction?.expiresAt ?? .max) <= state.now }) {
      await readGrace(store, active)
    }
  }

  /// Asks the store until when it lets subscriptions stand whose period is over.
  private func readGrace(_ store: any Store, _ active: Active) async {
    guard let answer = try? await store.call(.subscriptionStatus, [:]), isCurrent(active) else { return }
    for status in answer["statuses"]?.elements ?? [] {
      guard let id = status["transaction"]?["id"]?.string, let platform = status["transaction"]?["store"]?.string,
        let receipt = state.knowledge.receipts["\(platform) \(id)"]
      else { continue }
      let end = status["grace_period_ends_at"]?.integer
      guard end != receipt.transaction.graceEndsAt else { continue }
      var transaction = receipt.transaction
      transaction.graceEndsAt = end
      keep(receipt.updated(to: transaction), cause: .store, active)
    }
  }

  /// Throws `cancelled` when the user dismissed the store's sign-in.
  func restoreFromStore() async throws(KassaError) {
    guard let active, let store = active.setup.store else { return }
    guard try await store.restore() else { throw KassaError(.cancelled, "the store's sign-in was dismissed") }
    try await readStoreEntitlements(active)
    await scanStore(always: true)
  }

  // MARK: Storefront and prices

  func lookUpStorefront() async {
    guard let active, let store = active.setup.store else { return }
    guard let storefront = try? await store.storefront(), isCurrent(active) else { return }
    note(storefront)
  }

  func note(_ storefront: Storefront) {
    state.change(.store) { $0.storefront = ClientState.KnownStorefront(storefront: storefront, source: .store) }
  }

  private func follow(_ storefront: Storefront?) async {
    if let storefront { note(storefront) } else { await lookUpStorefront() }
    await showStorePrices()
  }

  /// Puts the store's own prices beside the plans. Without an answer they stay as they are.
  func showStorePrices() async {
    guard let active, let store = active.setup.store, !active.setup.planMappings.isEmpty else { return }
    let ids = active.setup.planMappings.map(\.storeProductID)
    guard let products = try? await store.products(ids), isCurrent(active) else { return }
    let texts = Dictionary(products.map { ($0.id, $0.price.formatted) }) { $1 }
    let plans = state.loadedPlans.map { plan in
      var plan = plan
      let mapping = active.setup.planMappings.first { $0.planID == plan.id }
      plan.storeDisplayPrice = mapping.flatMap { texts[$0.storeProductID] }
      return plan
    }
    keep(plans, cause: .store, active)
  }

  // MARK: What the user started in the store

  /// `"automatic"`: the client buys it, when nothing else is being bought; else the host is told.
  private func follow(_ order: StoreOrder) async {
    guard let active, active.configuration.isEnabled else { return }
    guard let planID = active.setup.planMappings.first(where: { $0.storeProductID == order.productID })?.planID else {
      return report(
        "intent_not_mapped", "the user started to buy a product in the store that no plan is mapped to",
        ["store_product_id": JSON(order.productID)])
    }
    guard !active.configuration.purchaseIntentsAreManual else {
      return queue.put(
        .other(["type": "purchase_intent", "plan_id": JSON(planID), "options": order.optionsDocument]))
    }
    if isPurchasing { return waitingIntents.append(order) }
    isPurchasing = true
    defer { endPurchase() }
    _ = try? await buy(order, active) { delivery in await self.deliver(delivery, from: .store) }
  }

  /// Lets the next purchase begin; one that the user started in the store meanwhile comes first.
  func endPurchase() {
    isPurchasing = false
    guard !waitingIntents.isEmpty else { return }
    let order = waitingIntents.removeFirst()
    Task(executorPreference: loop) { await self.follow(order) }
  }

  /// How hosts see a receipt's transaction.
  func document(of receipt: Receipt) -> JSON {
    state.stamped(
      receipt.transaction.document.merging([
        ("plan_id", JSON(receipt.planID)), ("product_id", JSON(receipt.productID)),
      ]))
  }
}

extension Receipt {
  /// Refunds, revocations and what an upgrade replaced are no news of a purchase: the answers tell of them.
  fileprivate var isWithdrawn: Bool { transaction.revocation != nil || transaction.isUpgraded }
}

extension StoreOrder {
  /// What to give to `kassa_purchase` to buy just this.
  fileprivate var optionsDocument: JSON {
    let offer: JSON =
      switch self.offer {
      case .automatic: "automatic"
      case .none: "none"
      case .id(let id): ["id": JSON(id)]
      }
    return ["method": "store", "quantity": JSON(quantity), "offer": offer]
  }
}
