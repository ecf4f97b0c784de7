import KassaCore
import KassaJSON

/// What came of a purchase that was paid for.
struct PurchaseResult: Sendable, Equatable {
  enum Outcome: Sendable, Equatable {
    /// This transaction is the answer: a new one, or the one that the account has already.
    case transaction(id: String)
    /// Nothing was charged yet: the change comes with the next renewal.
    case atNextRenewal
  }
  var outcome: Outcome
  var events: [LedgerEvent]
}

extension StoreLedger {
  /// Buys, the sheet having been approved.
  mutating func buy(_ request: PurchaseRequest, in shop: StoreShop) throws(StoreRefusal) -> PurchaseResult {
    let product = try check(request, in: shop)
    let offer = try offer(for: request, of: product, in: shop)
    switch product.kind {
    case .consumable, .nonRenewingSubscription: return buyOnce(product, request)
    case .nonConsumable:
      if let owned = owned(product.id, request.ownership) {
        return PurchaseResult(outcome: .transaction(id: owned.id), events: [])
      }
      return buyOnce(product, request)
    case .subscription:
      guard let terms = product.subscription else {
        throw StoreRefusal(.unknownProduct, "\"\(product.id.quoted)\" is a subscription without a period")
      }
      return try subscribe(product, terms, offer, request, in: shop)
    }
  }

  /// Finds what is wrong with a request before a sheet is shown.
  func check(_ request: PurchaseRequest, in shop: StoreShop) throws(StoreRefusal) -> StoreProduct {
    guard let product = shop[request.productID] else {
      let hint = nearest(to: request.productID, in: shop.catalogue.products.map(\.id)).map {
        "; did you mean \"\($0)\"?"
      }
      throw StoreRefusal(
        .unknownProduct, "the store does not sell \"\(request.productID.quoted)\"\(hint ?? "")")
    }
    // 10 is the most of one consumable that StoreKit sells at a time (Product.PurchaseOption.quantity).
    guard request.quantity == 1 || (product.kind == .consumable && 1...10 ~= request.quantity) else {
      let rule = product.kind == .consumable ? "1 to 10" : "1, since \"\(product.id.quoted)\" is no consumable"
      throw StoreRefusal(.invalidQuantity, "quantity must be \(rule) (got \(request.quantity))")
    }
    _ = try offer(for: request, of: product, in: shop)
    return product
  }

  private func owned(_ productID: String, _ ownership: StoreTransaction.Ownership) -> LedgerTransaction? {
    transactions.all.last { $0.productID == productID && $0.ownership == ownership && $0.revocation == nil }
  }

  private mutating func buyOnce(_ product: StoreProduct, _ request: PurchaseRequest) -> PurchaseResult {
    let id = takeNumber()
    let unit = price(of: product)
    let total = unit.amount.multiplied(by: Int64(request.quantity)).map { Money($0, unit.currency) } ?? unit
    put(
      LedgerTransaction(
        id: id, originalID: id, webOrderLineItemID: nil, productID: product.id, kind: product.kind, groupID: nil,
        purchasedAt: now, originallyPurchasedAt: now, expiresAt: nil, quantity: request.quantity,
        ownership: request.ownership, isRenewal: false, price: total, storefront: storefront, offer: nil,
        appAccountToken: request.appAccountToken))
    return PurchaseResult(outcome: .transaction(id: id), events: [event(request.eventKind, id, at: now)])
  }

  // MARK: Subscriptions

  private mutating func subscribe(
    _ product: StoreProduct, _ terms: StoreSubscription, _ offer: StoreOffer?, _ request: PurchaseRequest,
    in shop: StoreShop
  ) throws(StoreRefusal) -> PurchaseResult {
    guard var current = subscription(terms.groupID, request.ownership), current.isActive, !current.isRetrying else {
      return try start(product, terms, offer, request, in: shop)
    }
    if let token = request.appAccountToken { current.appAccountToken = token }
    if current.productID == product.id { return keep(current, product, offer) }
    if Self.changesAtOnce(from: shop[current.productID]?.subscription, to: terms) {
      return try change(from: current, to: product, terms, offer, request, in: shop)
    }
    current.nextProductID = product.id
    current.nextOffer = offer.map { RunningOffer($0) }
    current.willRenew = true
    put(current)
    let event = LedgerEvent(
      at: now, kind: .changeScheduled, productID: product.id,
      details: [.init("at_renewal", JSON(Timestamp.iso8601(current.periodEnd)))])
    return PurchaseResult(outcome: .atNextRenewal, events: [event])
  }

  /// An upgrade begins at once, and so does another subscription of the same level and duration; everything else waits
  /// for the renewal (Apple, *Auto-renewable subscriptions*, "Ranking subscriptions within the group").
  private static func changesAtOnce(from old: StoreSubscription?, to new: StoreSubscription) -> Bool {
    guard let old else { return true }
    return new.level < old.level || (new.level == old.level && new.period == old.period)
  }

  /// The account has this subscription: it goes on renewing as this one, from the next renewal on with the offer.
  private mutating func keep(
    _ subscription: LedgerSubscription, _ product: StoreProduct, _ offer: StoreOffer?
  ) -> PurchaseResult {
    var subscription = subscription
    var events: [LedgerEvent] = []
    if !subscription.willRenew || subscription.nextProductID != nil {
      events.append(LedgerEvent(at: now, kind: .renewalTurnedOn, productID: product.id))
    }
    subscription.willRenew = true
    subscription.nextProductID = nil
    if let offer {
      subscription.nextOffer = RunningOffer(offer)
      events.append(
        LedgerEvent(
          at: now, kind: .offerRedeemed, productID: product.id,
          details: [.init("offer", JSON(offer.id ?? offer.kind.rawValue))]))
    }
    put(subscription)
    return PurchaseResult(outcome: .transaction(id: subscription.latestID), events: events)
  }

  private mutating func change(
    from current: LedgerSubscription, to product: StoreProduct, _ terms: StoreSubscription, _ offer: StoreOffer?,
    _ request: PurchaseRequest, in shop: StoreShop
  ) throws(StoreRefusal) -> PurchaseResult {
    let refund = transactions[current.latestID].flatMap { unusedPart(of: $0) }
    var result = try start(product, terms, offer, request, in: shop)
    if var old = transactions[current.latestID] {
      old.isUpgraded = true
      old.isFinished = false
      put(old)
      var details: [LedgerEvent.Detail] = [.init("to", JSON(product.id))]
      if let refund { details.append(.init("refunded", JSON("\(refund.amountText) \(refund.currency)"))) }
      result.events.append(
        LedgerEvent(
          at: now, kind: .upgraded, transactionID: old.id, productID: old.productID, details: details))
    }
    return result
  }

  /// What an upgrade gives back of the old price: the part for the time that was not used.
  private func unusedPart(of transaction: LedgerTransaction) -> Money? {
    let percentage = remainingPercentage(of: transaction)
    let places = Currency.minorUnits(transaction.price.currency) ?? Decimal.maximumFractionDigits
    guard percentage > 0,
      let part = transaction.price.amount.multiplied(by: percentage)?.divided(by: 100_000, places: min(places, 8))
    else { return nil }
    return Money(part, transaction.price.currency)
  }

  /// How much of a subscription's period is left, in thousandths of a percent; all of it for what has no period.
  func remainingPercentage(of transaction: LedgerTransaction) -> Int64 {
    guard let end = transaction.expiresAt, end > transaction.purchasedAt else { return 100_000 }
    let left = Int128(max(0, end.subtracting(max(now, transaction.purchasedAt))))
    return Int64(clamping: left * 100_000 / Int128(end - transaction.purchasedAt))
  }

  /// A period that begins now, the first one or after a gap.
  private mutating func start(
    _ product: StoreProduct, _ terms: StoreSubscription, _ offer: StoreOffer?, _ request: PurchaseRequest,
    in shop: StoreShop
  ) throws(StoreRefusal) -> PurchaseResult {
    let introductory = stackedOffer(for: request, of: product, in: shop)
    let running = offer.map { RunningOffer($0, followedBy: introductory) }
    guard let end = shop.end(of: terms, with: running, from: now, anchor: now), end > now else {
      throw StoreRefusal(.unknownProduct, "the period of \"\(product.id.quoted)\" ends after the year 9999")
    }
    let former = subscription(terms.groupID, request.ownership)
    let id = takeNumber()
    let originalID = former?.originalID ?? id, originallyPurchasedAt = former?.originallyPurchasedAt ?? now
    let isContinued = former?.isActive == true
    let subscription = LedgerSubscription(
      groupID: terms.groupID, ownership: request.ownership, originalID: originalID,
      originallyPurchasedAt: originallyPurchasedAt, productID: product.id, latestID: id,
      startedAt: isContinued ? former?.startedAt ?? now : now, anchor: now, periodStart: now, periodEnd: end,
      offer: running, appAccountToken: request.appAccountToken ?? former?.appAccountToken)
    put(subscription)
    if offer?.kind == .introductory { introducedGroups.insert(terms.groupID) }
    put(
      LedgerTransaction(
        id: id, originalID: originalID, webOrderLineItemID: takeNumber(), productID: product.id, kind: .subscription,
        groupID: terms.groupID, purchasedAt: now, originallyPurchasedAt: originallyPurchasedAt, expiresAt: end,
        quantity: 1, ownership: request.ownership, isRenewal: false, price: offer?.price.money ?? price(of: product),
        storefront: storefront, offer: offer?.applied, appAccountToken: subscription.appAccountToken))
    return PurchaseResult(outcome: .transaction(id: id), events: [event(request.eventKind, id, at: now)])
  }

  // MARK: Purchases that somebody else decides

  /// Keeps a purchase until it is approved or declined. Asking again for the same only renews the question (Apple's
  /// answer in its developer forums, thread 706277).
  mutating func postpone(_ request: PurchaseRequest, _ kind: PendingPurchase.Kind) -> [LedgerEvent] {
    pending.removeAll { $0.kind == kind && $0.request.productID == request.productID }
    let waiting = PendingPurchase(id: takeNumber(), kind: kind, request: request, since: now)
    pending.append(waiting)
    return [pendingEvent(.pending, waiting)]
  }

  /// Approves or declines the purchase with that id, or else of that product, or else the oldest.
  mutating func decide(
    id: String?, productID: String?, approved: Bool, in shop: StoreShop
  ) throws(StoreRefusal) -> [LedgerEvent] {
    let place = pending.firstIndex { waiting in
      (id.map { $0 == waiting.id } ?? true) && (productID.map { $0 == waiting.request.productID } ?? true)
    }
    guard let place else {
      let waiting = pending.map { "\($0.id) (\($0.request.productID.quoted))" }.joined(separator: ", ")
      throw StoreRefusal(
        .nothingThere, "no such purchase waits for an approval\(waiting.isEmpty ? "" : "; waiting: \(waiting)")")
    }
    let decided = pending.remove(at: place)
    guard approved else { return [pendingEvent(.declined, decided)] }
    var request = decided.request
    // Meanwhile the account may have lost its right to the offer; the approval still counts.
    if let product = shop[request.productID], (try? offer(for: request, of: product, in: shop)) == nil {
      request.offer = .automatic
    }
    return try buy(request, in: shop).events
  }

  private func pendingEvent(_ kind: LedgerEvent.Kind, _ waiting: PendingPurchase) -> LedgerEvent {
    LedgerEvent(
      at: now, kind: kind, productID: waiting.request.productID,
      details: [.init("pending_id", JSON(waiting.id)), .init("kind", JSON(waiting.kind.rawValue))])
  }
}

extension PurchaseRequest {
  fileprivate var eventKind: LedgerEvent.Kind { ownership == .familyShared ? .shared : .purchased }
}
