import KassaCore
import KassaJSON
import KassaPlatform

/// Looking at the store and listening to it.
extension Engine {
  // MARK: Listening

  /// Listens to the store of the configuration that was just adopted, and passes on what the host said before.
  func openStore() {
    guard let active, let store = active.setup.store else { return }
    let number = active.number
    store.listen { [weak self] event in
      guard let self else { return }
      Task(executorPreference: self.loop) { await self.heard(event, of: number) }
    }
    let early = earlyNotifications
    earlyNotifications = []
    for event in early { _ = notify(event) }
  }

  private func heard(_ event: StoreEvent, of number: Int) async {
    // What the store of an earlier configuration says, it says again when it is back.
    guard let active, active.number == number else { return }
    switch event {
    case .updated(let delivery): deliver(delivery, from: .store, active)
    case .storefrontChanged(let storefront): await follow(storefront)
    case .message(let message): await show(message, store: active.setup.store, by: active.configuration)
    case .intent(let order): await follow(order)
    }
  }

  /// A message that the store cannot be asked to show is the host's, like all of them if it wants them.
  private func show(_ message: JSON, store: (any Store)?, by configuration: Configuration) async {
    if !configuration.storeMessagesAreManual, let store, let id = message["id"] {
      do throws(KassaError) {
        _ = try await store.call(.displayMessage, ["id": id])
        return
      } catch {
        if error.code == .cancelled { return }
      }
    }
    queue.put(.other(["type": "store_message", "message": message]))
  }

  /// What the host says of its store, or of itself. False for what is not understood.
  func notify(_ event: JSON) -> Bool {
    guard let active else {
      // Stores tell of some things only once, at the start.
      return keepForLater(event)
    }
    if let word = event["type"]?.string, let trigger = ScanTrigger(rawValue: word) {
      conditionsImproved(trigger)
      return true
    }
    guard let store = active.setup.store else {
      report("notification_refused", "kassa_notify needs a store: configure \"store\"", [:])
      return false
    }
    do throws(KassaError) { try store.notify(event) } catch {
      report("notification_refused", error.message, [:])
      return false
    }
    return true
  }

  /// Until the client is configured, up to a number; the first event beyond it is told of.
  private func keepForLater(_ event: JSON) -> Bool {
    let limit = Constants.earlyNotifications
    guard earlyNotifications.count < limit else {
      if !lostNotifications {
        report(
          "notification_refused",
          "kassa_notify keeps \(limit) events until kassa_configure, and there are as many: this one and those that "
            + "follow are lost", [:])
      }
      lostNotifications = true
      return false
    }
    earlyNotifications.append(event)
    return true
  }

  /// What may have changed while nobody looked.
  enum ScanTrigger: String {
    case foreground
    /// The network is back: the host says so, or the service answers after nobody did.
    case online
  }

  func serverAnswered() {
    keepTime()
    if surroundings.connection.answered() { conditionsImproved(.online) }
  }

  /// At most once a minute for each reason: what was paused is tried again, and the store is looked at.
  private func conditionsImproved(_ trigger: ScanTrigger) {
    let boot = time.bootNanoseconds
    if let last = triggeredAt[trigger], boot &- last < Constants.scanMilliseconds * 1_000_000 { return }
    triggeredAt[trigger] = boot
    Task(executorPreference: loop) { await self.followUp() }
  }

  private func followUp() async {
    guard let active else { return }
    if case .people(let backend) = active.setup.backend {
      // While the key is refused, one look at the person tells whether it still is.
      let mayProbe = backend.conditionsImproved()
      if mayProbe || backend.pause == nil { try? await refreshPerson(.refresh) }
    }
    wakeOutbox()
    await scanStore(always: true)
  }

  // MARK: Looking

  /// Everything that was charged and is not finished, and what the user's account owns. At most once a minute, unless it
  /// is due in any case.
  func scanStore(always: Bool = false) async {
    guard let active, let store = active.setup.store, !active.isInert else { return }
    if !always, let last = scannedAt, time.bootNanoseconds &- last < Constants.scanMilliseconds * 1_000_000 { return }
    try? await scan(store, active)
  }

  /// Tried again in a minute, unless the store cannot do it or nobody asks any more.
  private func scan(_ store: any Store, _ active: Active) async throws(KassaError) {
    scannedAt = time.bootNanoseconds
    do throws(KassaError) {
      await deliver(all: try await store.unfinished(), from: .unfinished, active)
      try await readStoreEntitlements(active)
      if isCurrent(active) { scanSucceeded() }
    } catch {
      scannedAt = nil
      if isCurrent(active) { reportUnreadableStore(error) }
      if ![.cancelled, .unsupported, .unsupportedStore].contains(error.code) { scheduleScan() }
      throw error
    }
  }

  private func scanSucceeded() {
    active?.hasReadStore = true
    for code in ["store_connection_failed", "store_reconciliation_failed"] { active?.reported.remove(code) }
  }

  /// Once, until the store can be read again.
  private func reportUnreadableStore(_ error: KassaError) {
    if error.code == .cancelled { return }
    reportOnce(
      active?.hasReadStore ?? false ? "store_reconciliation_failed" : "store_connection_failed",
      "the store cannot be read, so what it sold meanwhile is not known; it is looked at again: \(error.message)",
      ["code": JSON(error.code.rawValue), "reason": JSON(error.reason)])
  }

  /// Looks again in a minute, where something is still to be done.
  func scheduleScan() {
    guard laterScan == nil, active != nil else { return }
    laterScan = Task(executorPreference: loop) { await self.scanLater() }
  }

  private func scanLater() async {
    do throws(CancellationError) { try await time.sleep(milliseconds: Constants.scanMilliseconds) } catch { return }
    laterScan = nil
    await scanStore(always: true)
  }

  /// What the store says that the user's account owns. What it names although its period is over is in the grace that
  /// the store allows while it retries a payment.
  func readStoreEntitlements(_ active: Active) async throws(KassaError) {
    guard let store = active.setup.store else { return }
    let askedAt = state.now
    let deliveries = try await store.entitlements()
    guard isCurrent(active) else { return }
    await deliver(all: deliveries, from: .store, active)
    // Where people have perks, the service says until when.
    if active.hasPeople { return }
    let listed = deliveries.compactMap(\.verifiedTransaction)
    // A list with something unreadable in it leaves out more than is known.
    if listed.count == deliveries.count { endUnlisted(Set(listed.map(\.key)), askedAt: askedAt, active) }
    let now = state.now
    let lapsed = listed.filter { $0.kind == .subscription && ($0.expiresAt ?? .max) <= now }
    // A grace that the store granted once it may have taken back.
    let inGrace = state.knowledge.receipts.values.map(\.transaction).filter { ($0.graceEndsAt ?? .min) > now }
    for productID in Set((lapsed + inGrace).map(\.productID)).sorted() { await readGrace(productID, store, active) }
  }

  /// Subscriptions that name no end, and that the store lists no more. What came after the store was asked is not in
  /// its answer.
  private func endUnlisted(_ listed: Set<String>, askedAt: Int64, _ active: Active) {
    for receipt in state.knowledge.receipts.values
    where receipt.transaction.isOpenEnded && !listed.contains(receipt.transaction.key)
      && (receipt.transaction.signedAt ?? .min) < askedAt
    {
      var ended = receipt.transaction
      (ended.expiresAt, ended.signedAt) = (state.now, state.now)
      keep(receipt.updated(to: ended), cause: .store, active)
    }
  }

  /// Asks the store until when it lets a subscription stand whose period is over.
  private func readGrace(_ productID: String, _ store: any Store, _ active: Active) async {
    guard let answer = try? await store.call(.subscriptionStatus, ["product_id": JSON(productID)]), isCurrent(active)
    else { return }
    var ends: [String: Int64] = [:]
    for status in answer["statuses"]?.elements ?? [] {
      if let id = status["transaction"]?["id"]?.string { ends[id] = status["grace_period_ends_at"]?.integer }
    }
    for receipt in state.knowledge.receipts.values where receipt.transaction.productID == productID {
      var transaction = receipt.transaction
      transaction.graceEndsAt = ends[transaction.id]
      if transaction != receipt.transaction { keep(receipt.updated(to: transaction), cause: .store, active) }
    }
  }

  /// Throws `cancelled` when the user dismissed the store's sign-in.
  func restoreFromStore() async throws(KassaError) {
    guard let active, let store = active.setup.store else { return }
    guard try await store.restore() else { throw KassaError(.cancelled, "the store's sign-in was dismissed") }
    try await scan(store, active)
  }

  // MARK: Storefront and prices

  /// Where the store says that the user buys.
  @discardableResult
  func readStorefront() async throws(KassaError) -> Storefront? {
    guard let active, let store = active.setup.store else { return nil }
    let storefront = try await store.storefront()
    if isCurrent(active) { note(storefront, active) }
    return storefront
  }

  /// Without an answer the last one stands.
  func lookUpStorefront() async { _ = try? await readStorefront() }

  /// Where the store does not know any more, what the configuration says counts again.
  private func note(_ storefront: Storefront?, _ active: Active) {
    let known = storefront.map { ClientState.KnownStorefront(storefront: $0, source: .store) }
    state.change(.store) { $0.storefront = known ?? Self.storefront(active.configuration) }
  }

  private func follow(_ storefront: Storefront?) async {
    if let storefront, let active { note(storefront, active) } else { await lookUpStorefront() }
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
    // An intent may be the first thing that is heard after a start.
    readRest()
    if active.hasPeople { _ = try? await catalogue() }
    guard isCurrent(active) else { return }
    guard let name = name(ofStoreProduct: order.productID, active) else {
      return report(
        "intent_not_mapped", "the user started to buy a product in the store that nothing here is mapped to",
        ["store_product_id": JSON(order.productID)])
    }
    guard !active.configuration.purchaseIntentsAreManual, !active.configuration.isObserver else {
      return queue.put(.other(["type": "purchase_intent", name.key: JSON(name.id), "options": order.optionsDocument]))
    }
    if isPurchasing { return waitingIntents.append(order) }
    isPurchasing = true
    defer { endPurchase() }
    do throws(KassaError) {
      let options = try PurchaseOptions(order.optionsDocument, webMethod: active.setup.webMethod)
      switch active.setup.backend {
      case .memberships: _ = try await purchaseInStore(name.id, options, active, tellingAs: .store)
      case .people: _ = try await purchaseProduct(name.id, options, active, tellingAs: .store)
      }
    } catch {
      report(
        "intent_failed", "what the user started to buy in the store failed: \(error.message)",
        ["store_product_id": JSON(order.productID), "code": JSON(error.code.rawValue)])
    }
  }

  /// What a purchase calls what the store calls so, and the word for that in documents.
  private func name(ofStoreProduct id: String, _ active: Active) -> (key: String, id: String)? {
    switch active.setup.backend {
    case .memberships:
      return active.setup.planMappings.first { $0.storeProductID == id }.map { ("plan_id", $0.planID) }
    case .people:
      let platform = active.setup.storePlatform
      return state.knowledge.catalogue?.products.first { $0.storeProductIDs[platform] == id }.map {
        ("product_slug", $0.slug)
      }
    }
  }

  /// Lets the next purchase begin; one that the user started in the store meanwhile comes first.
  func endPurchase() {
    isPurchasing = false
    guard !waitingIntents.isEmpty else { return }
    let order = waitingIntents.removeFirst()
    Task(executorPreference: loop) { await self.follow(order) }
  }
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
