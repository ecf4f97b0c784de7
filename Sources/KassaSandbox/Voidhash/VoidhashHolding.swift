import KassaCore

/// What somebody has of a store: a subscription with all its renewals, or something bought once.
struct VoidhashHolding {
  struct Purchase {
    var id: String
    var productID: String
    var createdAt: Int64
  }

  var id: String
  var product: VoidhashProduct
  var isSubscription: Bool
  var environment: VoidhashEnvironment
  /// Who sold it: `apple-app-store`, `google-play`, `development`.
  var provider: String
  var startsAt: Int64
  /// When the last period ends; only subscriptions have an end.
  var expiresAt: Int64?
  /// Until when it stands after that, while the payment is tried again.
  var graceEndsAt: Int64?
  /// Refunded or revoked.
  var endedAt: Int64?
  var isTrial = false
  var purchases: [Purchase]

  /// Access ends at a refund, and with the period or the grace after it. A purchase that is no subscription has no end.
  func isActive(at now: Int64) -> Bool {
    guard endedAt == nil else { return false }
    guard let expiresAt else { return true }
    return now < max(expiresAt, graceEndsAt ?? expiresAt)
  }
}

extension VoidhashHolding {
  /// What the transactions of a series amount to: what the store told of last. Nil if they are of no mapped product.
  ///
  /// - Parameter transactions: the series in any order.
  init?(_ transactions: [StoreTransactionRecord], in catalogue: VoidhashCatalogue, at now: Int64) {
    let known = transactions.compactMap { transaction -> (StoreTransactionRecord, VoidhashProduct)? in
      catalogue.product(transaction.store, transaction.productID).map { (transaction, $0) }
    }
    // An upgrade may have been bought in the same millisecond as what it replaced. A renewal that was refunded leaves
    // the period before it standing, if that has not ended.
    let latest = known.max { one, other in
      let standing = (one.0.stands(at: now), other.0.stands(at: now))
      if standing.0 != standing.1 { return standing.1 }
      if one.0.purchasedAt != other.0.purchasedAt { return one.0.purchasedAt < other.0.purchasedAt }
      return one.0.isUpgraded && !other.0.isUpgraded
    }
    guard let (deciding, product) = latest, let environment = VoidhashEnvironment(deciding.environment) else {
      return nil
    }
    let isSubscription = deciding.type == .subscription
    let name = "\(deciding.store.rawValue)_\(deciding.originalID)"
    id = (isSubscription ? "sub_" : "purchase_") + name
    self.product = product
    self.isSubscription = isSubscription
    self.environment = environment
    provider = deciding.store == .apple ? "apple-app-store" : "google-play"
    startsAt = known.map(\.0.purchasedAt).min() ?? deciding.purchasedAt
    expiresAt = isSubscription ? deciding.expiresAt : nil
    graceEndsAt = deciding.graceEndsAt
    endedAt = deciding.revokedAt ?? (deciding.isUpgraded ? deciding.purchasedAt : nil)
    isTrial = deciding.isFreeTrial
    purchases = known.map { transaction, product in
      Purchase(
        id: "purchase_\(transaction.store.rawValue)_\(transaction.transactionID)", productID: product.id,
        createdAt: transaction.purchasedAt)
    }
  }

  init(_ purchase: VoidhashDevelopmentRecord, _ product: VoidhashProduct) {
    isSubscription = product.kind == .subscription
    id = (isSubscription ? "sub_" : "purchase_") + purchase.id
    self.product = product
    environment = .development
    provider = "development"
    startsAt = purchase.purchasedAt
    expiresAt = purchase.expiresAt
    graceEndsAt = purchase.graceEndsAt
    endedAt = purchase.endedAt
    purchases = [
      Purchase(id: "purchase_\(purchase.id)", productID: product.id, createdAt: purchase.purchasedAt)
    ]
  }
}

extension StoreTransactionRecord {
  /// Whether it gives access by itself.
  fileprivate func stands(at now: Int64) -> Bool {
    guard revokedAt == nil, !isUpgraded else { return false }
    guard type == .subscription, let expiresAt else { return true }
    return now < max(expiresAt, graceEndsAt ?? expiresAt)
  }
}
