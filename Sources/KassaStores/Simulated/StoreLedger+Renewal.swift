import KassaCore
import KassaJSON

/// What a ledger is held against: the catalogue with its switches, and how time passes.
struct StoreShop: Sendable, Equatable {
  var catalogue: StoreCatalogue
  private let products: [String: StoreProduct]

  init(_ catalogue: StoreCatalogue) {
    self.catalogue = catalogue
    products = Dictionary(catalogue.products.map { ($0.id, $0) }) { first, _ in first }
  }

  var calendar: RenewalCalendar { RenewalCalendar(rate: catalogue.settings.timeRate) }
  var settings: StoreSettings { catalogue.settings }

  subscript(id: String) -> StoreProduct? { products[id] }
}

extension StoreLedger {
  /// How many renewals of one subscription are made at once. Whoever was away for longer finds the last ones only.
  static let mostRenewals = 1_000

  /// The earliest moment at which something happens by itself.
  var dueAt: Int64? { subscriptions.compactMap(\.dueAt).min() }

  /// Lets happen what has become due, each at its own moment, however late it is noticed.
  mutating func catchUp(to moment: Int64, in shop: StoreShop) -> [LedgerEvent] {
    var events: [LedgerEvent] = []
    var renewals: [String: Int] = [:]
    while let place = placeDue(by: moment) {
      let key = subscriptions[place].key
      if renewals[key, default: 0] >= Self.mostRenewals { skipRenewals(at: place, before: moment, in: shop) }
      renewals[key, default: 0] += 1
      guard let due = subscriptions[place].dueAt else { continue }
      now = max(now, due)
      events += step(subscriptions[place], at: due, in: shop)
    }
    now = max(now, moment)
    return events
  }

  private func placeDue(by moment: Int64) -> Int? {
    subscriptions.indices.filter { subscriptions[$0].dueAt.map { $0 <= moment } ?? false }
      .min { (subscriptions[$0].dueAt ?? 0, $0) < (subscriptions[$1].dueAt ?? 0, $1) }
  }

  /// Moves a subscription on to the period before the one that holds the moment, without a transaction for each.
  private mutating func skipRenewals(at place: Int, before moment: Int64, in shop: StoreShop) {
    var subscription = subscriptions[place]
    guard case .subscribed = subscription.state, subscription.willRenew, subscription.nextProductID == nil,
      subscription.offer == nil, let period = shop[subscription.productID]?.subscription?.period
    else { return }
    // Where time is accelerated, no day of the month is kept, and there may be millions of periods.
    if let length = shop.settings.timeRate.milliseconds(of: period), length > 0 {
      subscription.periodEnd += max(0, moment.subtracting(subscription.periodEnd)) / length * length
    }
    while let next = shop.calendar.end(of: period, from: subscription.periodEnd, anchor: subscription.anchor),
      next > subscription.periodEnd, next <= moment
    {
      subscription.periodEnd = next
    }
    subscriptions[place] = subscription
  }

  private mutating func step(
    _ subscription: LedgerSubscription, at moment: Int64, in shop: StoreShop
  ) -> [LedgerEvent] {
    var subscription = subscription
    switch subscription.state {
    case .subscribed: return endPeriod(of: subscription, at: moment, in: shop)
    case .grace(let graceEnd, let retryEnd):
      if retryEnd <= graceEnd { return expire(subscription, .billingError, at: moment) }
      subscription.state = .retry(until: retryEnd)
      put(subscription)
      return [LedgerEvent(at: moment, kind: .graceEnded, productID: subscription.productID)]
    case .retry: return expire(subscription, .billingError, at: moment)
    case .expired, .revoked: return []
    }
  }

  private mutating func endPeriod(
    of subscription: LedgerSubscription, at moment: Int64, in shop: StoreShop
  ) -> [LedgerEvent] {
    guard subscription.willRenew else { return expire(subscription, .cancelled, at: moment) }
    if subscription.priceIncrease?.consent == .awaited { return expire(subscription, .priceIncrease, at: moment) }
    guard let product = shop[subscription.renewalProductID], let terms = product.subscription,
      let end = nextEnd(of: subscription, product, from: moment, in: shop)
    else { return expire(subscription, .productUnavailable, at: moment) }
    if billingFails ?? shop.settings.hasBillingIssues {
      return failBilling(of: subscription, terms.period, at: moment, in: shop)
    }
    return renew(subscription, product, from: moment, to: end, kind: .renewed, in: shop)
  }

  private mutating func expire(
    _ subscription: LedgerSubscription, _ reason: LedgerSubscription.ExpirationReason, at moment: Int64
  ) -> [LedgerEvent] {
    var subscription = subscription
    subscription.expire(reason)
    put(subscription)
    return [
      LedgerEvent(
        at: moment, kind: .expired, productID: subscription.productID, details: [.init("reason", JSON(reason.word))])
    ]
  }

  private mutating func failBilling(
    of subscription: LedgerSubscription, _ period: Period, at moment: Int64, in shop: StoreShop
  ) -> [LedgerEvent] {
    var subscription = subscription
    let rate = shop.settings.timeRate
    let retryEnd = moment.adding(rate.retryMilliseconds)
    var event = LedgerEvent(at: moment, kind: .billingFailed, productID: subscription.productID)
    if hasGrace ?? shop.settings.hasBillingGracePeriod {
      let graceEnd = min(moment.adding(rate.graceMilliseconds(for: period)), retryEnd)
      subscription.state = .grace(until: graceEnd, retryUntil: retryEnd)
      event.details = [.init("grace_ends_at", JSON(Timestamp.iso8601(graceEnd)))]
    } else {
      subscription.state = .retry(until: retryEnd)
    }
    put(subscription)
    return [event]
  }

  // MARK: Renewing

  /// The offer with which the next period begins.
  func nextOffer(of subscription: LedgerSubscription) -> RunningOffer? {
    if let offer = subscription.nextOffer { return offer }
    return subscription.nextProductID == nil ? subscription.offer?.next : nil
  }

  private func nextEnd(
    of subscription: LedgerSubscription, _ product: StoreProduct, from start: Int64, in shop: StoreShop
  ) -> Int64? {
    guard let terms = product.subscription else { return nil }
    let anchor = self.anchor(of: subscription, terms.period, from: start)
    let end = shop.end(of: terms, with: nextOffer(of: subscription), from: start, anchor: anchor)
    return end.flatMap { $0 > start ? $0 : nil }
  }

  /// Months keep the day of the month on which they began; after weeks or days, and after a gap, they begin anew.
  private func anchor(of subscription: LedgerSubscription, _ period: Period, from start: Int64) -> Int64 {
    let last = subscription.offer?.offer.period ?? period
    let isByMonths = last.unit == .month || last.unit == .year
    return start == subscription.periodEnd && isByMonths ? subscription.anchor : start
  }

  private mutating func renew(
    _ old: LedgerSubscription, _ product: StoreProduct, from start: Int64, to end: Int64, kind: LedgerEvent.Kind,
    in shop: StoreShop
  ) -> [LedgerEvent] {
    var subscription = old
    let offer = nextOffer(of: old)
    subscription.anchor = product.subscription.map { anchor(of: old, $0.period, from: start) } ?? start
    subscription.offer = offer
    subscription.nextOffer = nil
    subscription.productID = product.id
    subscription.nextProductID = nil
    subscription.priceIncrease = nil
    subscription.state = .subscribed
    subscription.willRenew = true
    if start != old.periodEnd { subscription.startedAt = start }
    (subscription.periodStart, subscription.periodEnd) = (start, end)
    let id = takeNumber()
    subscription.latestID = id
    put(
      LedgerTransaction(
        id: id, originalID: old.originalID, webOrderLineItemID: takeNumber(), productID: product.id,
        kind: .subscription, groupID: old.groupID, purchasedAt: start,
        originallyPurchasedAt: old.originallyPurchasedAt, expiresAt: end, quantity: 1, ownership: old.ownership,
        isRenewal: true, price: offer?.offer.price.money ?? price(of: product), storefront: storefront,
        offer: offer?.offer.applied, appAccountToken: old.appAccountToken))
    if offer?.offer.kind == .introductory { introducedGroups.insert(old.groupID) }
    put(subscription)
    return [event(kind, id, at: max(start, now))]
  }

  /// The charge that failed succeeds now. Within the grace period nothing was interrupted, so the billing day stays;
  /// later a new period begins with the payment (App Store Connect help, *Enable billing grace period*).
  mutating func recover(_ subscription: LedgerSubscription, in shop: StoreShop) -> [LedgerEvent] {
    guard subscription.isRetrying, let product = shop[subscription.renewalProductID] else { return [] }
    let start = subscription.isActive ? subscription.periodEnd : now
    guard let end = nextEnd(of: subscription, product, from: start, in: shop) else { return [] }
    return renew(subscription, product, from: start, to: end, kind: .recovered, in: shop)
      + catchUp(to: now, in: shop)
  }

  // MARK: What others use too

  /// The price that the store asks now: the file's, or what an action made of it.
  func price(of product: StoreProduct) -> Money {
    let price = product.price.money
    guard let changed = prices[product.id], changed.currency == price.currency else { return price }
    return changed
  }

  /// The event of a transaction that was made.
  func event(_ kind: LedgerEvent.Kind, _ id: String, at moment: Int64) -> LedgerEvent {
    guard let transaction = transactions[id] else { return LedgerEvent(at: moment, kind: kind, transactionID: id) }
    var details: [LedgerEvent.Detail] = [
      .init("price", JSON("\(transaction.price.amountText) \(transaction.price.currency)")),
      .init("purchased_at", JSON(Timestamp.iso8601(transaction.purchasedAt))),
    ]
    if let end = transaction.expiresAt { details.append(.init("expires_at", JSON(Timestamp.iso8601(end)))) }
    if let offer = transaction.offer { details.append(.init("offer", JSON(offer.id ?? offer.kind.rawValue))) }
    return LedgerEvent(
      at: moment, kind: kind, transactionID: id, productID: transaction.productID, details: details)
  }
}

extension StoreShop {
  /// When a period ends that begins with an offer or without.
  func end(
    of terms: StoreSubscription, with offer: RunningOffer?, from start: Int64, anchor: Int64
  ) -> Int64? {
    guard let offer = offer?.offer else { return calendar.end(of: terms.period, from: start, anchor: anchor) }
    return calendar.end(of: offer.period, times: offer.periodsPerCharge, from: start, anchor: anchor)
  }
}

extension LedgerSubscription {
  /// The same for the whole life of a subscription.
  fileprivate var key: String { "\(groupID) \(ownership.rawValue)" }
}

extension LedgerSubscription.ExpirationReason {
  var word: String {
    switch self {
    case .cancelled: "cancelled"
    case .billingError: "billing_error"
    case .priceIncrease: "price_increase"
    case .productUnavailable: "product_unavailable"
    }
  }
}
