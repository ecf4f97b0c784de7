import KassaCore
import KassaJSON

/// What an account, its family or the store does to what was bought.
extension StoreLedger {
  /// - Parameter percentage: in thousandths of a percent; nil for all of the price.
  mutating func refund(
    _ id: String, isAppIssue: Bool, percentage: Int64?
  ) throws(StoreRefusal) -> [LedgerEvent] {
    let transaction = try known(id)
    guard transaction.revocation == nil else {
      throw StoreRefusal(.nothingThere, "transaction \(id.quoted) was refunded or revoked before")
    }
    guard transaction.ownership == .purchased else {
      throw StoreRefusal(.nothingThere, "transaction \(id.quoted) is shared: the family member who paid has the refund")
    }
    return revoke(
      transaction,
      LedgerRevocation(
        at: now, kind: percentage == nil ? .refund : .prorated, isAppIssue: isAppIssue,
        percentage: percentage ?? 100_000),
      .refunded)
  }

  /// The family stops sharing one product, or everything.
  mutating func leaveFamily(productID: String?) throws(StoreRefusal) -> [LedgerEvent] {
    let shared = transactions.all.filter { transaction in
      transaction.ownership == .familyShared && transaction.revocation == nil
        && (productID.map { $0 == transaction.productID } ?? true) && isCurrent(transaction)
    }
    guard !shared.isEmpty else {
      let what = productID.map { "\"\($0.quoted)\" is" } ?? "nothing is"
      throw StoreRefusal(.nothingThere, "\(what) \(productID == nil ? "" : "not ")shared with this account")
    }
    return shared.flatMap { transaction in
      revoke(
        transaction, LedgerRevocation(at: now, kind: .family, isAppIssue: false, percentage: 100_000), .familyRevoked)
    }
  }

  /// Of a subscription only its last transaction counts.
  private func isCurrent(_ transaction: LedgerTransaction) -> Bool {
    guard let groupID = transaction.groupID else { return true }
    return subscription(groupID, transaction.ownership)?.latestID == transaction.id
  }

  private mutating func revoke(
    _ transaction: LedgerTransaction, _ revocation: LedgerRevocation, _ kind: LedgerEvent.Kind
  ) -> [LedgerEvent] {
    var transaction = transaction
    transaction.revocation = revocation
    transaction.isFinished = false
    put(transaction)
    // A refund of an earlier period does not end the one that runs.
    if let groupID = transaction.groupID, var subscription = subscription(groupID, transaction.ownership),
      subscription.latestID == transaction.id
    {
      subscription.expire(.cancelled)
      subscription.state = .revoked
      put(subscription)
    }
    return [
      LedgerEvent(
        at: now, kind: kind, transactionID: transaction.id, productID: transaction.productID,
        details: [
          .init("type", JSON(revocation.kind.rawValue)), .init("reason", JSON(revocation.isAppIssue ? 1 : 0)),
          .init("percentage", JSON(revocation.percentage)),
        ])
    ]
  }

  private func known(_ id: String) throws(StoreRefusal) -> LedgerTransaction {
    guard let transaction = transactions[id] else {
      throw StoreRefusal(.unknownTransaction, "the store has no transaction \"\(id.quoted)\"")
    }
    return transaction
  }

  mutating func finish(_ id: String) throws(StoreRefusal) -> [LedgerEvent] {
    var transaction = try known(id)
    guard !transaction.isFinished else { return [] }
    transaction.isFinished = true
    put(transaction)
    return [LedgerEvent(at: now, kind: .finished, transactionID: id, productID: transaction.productID)]
  }

  // MARK: Subscriptions

  /// The user turns renewal off or on, without the app.
  mutating func setRenewal(
    _ willRenew: Bool, productID: String?, in shop: StoreShop
  ) throws(StoreRefusal) -> [LedgerEvent] {
    var subscription = try one(productID) { $0.isActive || $0.isRetrying }
    guard subscription.willRenew != willRenew else { return [] }
    subscription.willRenew = willRenew
    let kind: LedgerEvent.Kind = willRenew ? .renewalTurnedOn : .renewalTurnedOff
    var events = [LedgerEvent(at: now, kind: kind, productID: subscription.productID)]
    // Nobody tries to charge a user who cancelled: what is in retry ends.
    if !willRenew, subscription.isRetrying {
      subscription.expire(.cancelled)
      events.append(
        LedgerEvent(
          at: now, kind: .expired, productID: subscription.productID,
          details: [.init("reason", JSON(LedgerSubscription.ExpirationReason.cancelled.word))]))
    }
    if !willRenew {
      subscription.nextProductID = nil
      subscription.nextOffer = nil
    }
    put(subscription)
    return events
  }

  /// Ends the current period now, as if its time were over.
  mutating func renewNow(productID: String?, in shop: StoreShop) throws(StoreRefusal) -> [LedgerEvent] {
    var subscription = try one(productID) { $0.state == .subscribed }
    subscription.periodEnd = now
    subscription.anchor = now
    put(subscription)
    return catchUp(to: now, in: shop)
  }

  /// From now on renewals cannot be charged, or can again; those that wait are charged at once.
  mutating func setBilling(fails: Bool, hasGrace grace: Bool? = nil, in shop: StoreShop) -> [LedgerEvent] {
    billingFails = fails
    hasGrace = grace
    let event = LedgerEvent(at: now, kind: .changed, details: [.init("billing_fails", JSON(fails))])
    guard !fails else { return [event] }
    return [event] + subscriptions.filter(\.isRetrying).flatMap { recover($0, in: shop) }
  }

  /// A new price, from the next renewal on. Without consent a renewal ends the subscription, where it is needed.
  mutating func increasePrice(
    of productID: String, to amount: Decimal, needsConsent: Bool, in shop: StoreShop
  ) throws(StoreRefusal) -> [LedgerEvent] {
    let product = try check(PurchaseRequest(productID: productID, offer: .none), in: shop)
    let price = Money(amount, product.price.money.currency).payable
    prices[productID] = price
    var events = [
      LedgerEvent(
        at: now, kind: .priceIncreased, productID: productID,
        details: [.init("price", JSON("\(price.amountText) \(price.currency)")), .init("consent", JSON(needsConsent))])
    ]
    for var subscription in subscriptions
    where subscription.renewalProductID == productID && (subscription.isActive || subscription.isRetrying) {
      subscription.priceIncrease = PriceIncrease(consent: needsConsent ? .awaited : .given)
      put(subscription)
      if needsConsent { events += show(.priceIncreaseConsent, productID: productID) }
    }
    return events
  }

  mutating func agreeToPrice(productID: String?) throws(StoreRefusal) -> [LedgerEvent] {
    var subscription = try one(productID) { $0.priceIncrease?.consent == .awaited }
    subscription.priceIncrease = PriceIncrease(consent: .given)
    put(subscription)
    return [LedgerEvent(at: now, kind: .priceIncreaseAgreed, productID: subscription.productID)]
  }

  private func one(
    _ productID: String?, _ isMeant: (LedgerSubscription) -> Bool
  ) throws(StoreRefusal) -> LedgerSubscription {
    let found = subscriptions.first { subscription in
      subscription.ownership == .purchased && isMeant(subscription)
        && (productID.map { $0 == subscription.productID } ?? true)
    }
    guard let found else {
      let what = productID.map { "subscription to \"\($0.quoted)\"" } ?? "subscription"
      throw StoreRefusal(.nothingThere, "the account has no \(what) in a state to which this can happen")
    }
    return found
  }

  // MARK: The account and its messages

  mutating func move(to storefront: Storefront?) -> [LedgerEvent] {
    self.storefront = storefront
    return [LedgerEvent(at: now, kind: .changed, details: [.init("storefront", storefront?.document ?? .null)])]
  }

  /// Takes over what the configuration says of the storefront. Whoever says nothing leaves it as it is.
  mutating func configure(country: String?, _ storefront: Storefront?) -> [LedgerEvent] {
    guard country != configuredCountry else { return [] }
    configuredCountry = country
    return country == nil || storefront == self.storefront ? [] : move(to: storefront)
  }

  mutating func show(_ reason: StoreMessage.Reason, productID: String?) -> [LedgerEvent] {
    let message = StoreMessage(id: takeNumber(), reason: reason, productID: productID)
    messages.append(message)
    return [
      LedgerEvent(
        at: now, kind: .message, productID: productID,
        details: [.init("message_id", JSON(message.id)), .init("reason", JSON(reason.rawValue))])
    ]
  }

  /// Forgets everything that was bought, as Xcode does with "Delete all transactions". Numbers are not used again.
  mutating func clear() -> [LedgerEvent] {
    subscriptions = []
    introducedGroups = []
    pending = []
    messages = []
    prices = [:]
    billingFails = nil
    hasGrace = nil
    policy = nil
    forgetTransactions()
    return [LedgerEvent(at: now, kind: .cleared)]
  }

  // MARK: What the account has

  /// The latest transaction of each subscription that may be used, and everything that was bought to keep: what
  /// StoreKit's `Transaction.currentEntitlements` lists. Of all ages; consumables never.
  var entitled: [LedgerTransaction] {
    transactions.all.filter { transaction in
      guard transaction.revocation == nil, !transaction.isUpgraded else { return false }
      switch transaction.kind {
      case .consumable: return false
      case .nonConsumable, .nonRenewingSubscription: return true
      case .subscription:
        guard let groupID = transaction.groupID,
          let subscription = subscription(groupID, transaction.ownership)
        else { return false }
        return subscription.isActive && subscription.latestID == transaction.id
      }
    }
  }
}
