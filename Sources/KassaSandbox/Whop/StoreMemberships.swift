import KassaCore
import KassaJSON

/// Memberships that were sold by a store: the store charges for them, so its transactions decide how long they last.
extension WhopService {
  /// Takes in what a store tells of a transaction: a sale, a renewal, a refund. The membership of its series, if a
  /// receipt has made one, follows.
  func register(_ version: StoreTransactionRecord) {
    let known = state.store.storeTransactions[version.id]
    let record = known?.updated(to: version) ?? version
    guard record != known else { return }
    state.store.storeTransactions.put(record)
    guard var membership = membership(ofSeries: record.series), let latest = latest(ofSeries: record.series) else {
      return
    }
    membership.follow(latest, at: now)
    state.store.memberships.put(membership)
  }

  /// The membership of a receipt's series. The first receipt makes it; later ones may bring another plan, and metadata
  /// that it has not got. Whose it is, none of them changes.
  func membership(of transaction: StoreTransactionRecord, _ plan: PlanRecord, metadata: JSON) -> MembershipRecord {
    let latest = latest(ofSeries: transaction.series) ?? transaction
    var membership = membership(ofSeries: transaction.series) ?? newMembership(of: transaction, plan)
    membership.metadata = metadata.merging(membership.metadata.members)
    // An old receipt that comes late does not bring the former plan back.
    if transaction.id == latest.id { membership.sells(plan) }
    membership.follow(latest, at: now)
    state.store.memberships.put(membership)
    return membership
  }

  private func membership(ofSeries series: String) -> MembershipRecord? {
    state.store.memberships.all.first { $0.storeSeries == series }
  }

  /// The transaction that decides. What an upgrade replaced may have been bought in the same millisecond.
  private func latest(ofSeries series: String) -> StoreTransactionRecord? {
    state.store.storeTransactions.all.filter { $0.series == series }.max { one, other in
      if one.purchasedAt != other.purchasedAt { return one.purchasedAt < other.purchasedAt }
      return one.isUpgraded && !other.isUpgraded
    }
  }

  private func newMembership(of transaction: StoreTransactionRecord, _ plan: PlanRecord) -> MembershipRecord {
    // A store does not tell who bought. Each series has a buyer of its own, with an address that nobody can have.
    let email = "\(transaction.store.rawValue)-\(transaction.originalID.lowercased())@store.invalid"
    return MembershipRecord(
      id: state.makeID("mem") { state.store.memberships[$0] != nil }, planID: plan.id, productID: plan.productID,
      buyerID: buyerRecord(email: email).id,
      licenseKey: product(plan.productID)?.hasLicenses == true ? makeLicenseKey() : nil, status: "active",
      metadata: [:], storeSeries: transaction.series, billingPeriod: plan.billingPeriod,
      periodStart: transaction.purchasedAt, createdAt: now, updatedAt: now)
  }
}

extension MembershipRecord {
  fileprivate mutating func sells(_ plan: PlanRecord) {
    (planID, productID, billingPeriod) = (plan.id, plan.productID, plan.billingPeriod)
  }

  /// Status and end by the store's latest transaction.
  fileprivate mutating func follow(_ transaction: StoreTransactionRecord, at now: Int64) {
    periodStart = transaction.purchasedAt
    (periodEnd, expiresAt) = renews ? (transaction.expiresAt, nil) : (nil, transaction.expiresAt)
    canceledAt = nil
    updatedAt = now
    if transaction.isUpgraded || transaction.revokedAt != nil {
      Billing.end(&self, at: transaction.revokedAt ?? now)
    } else if let end = transaction.expiresAt, end <= now {
      status = "expired"
    } else if renews {
      status = transaction.isFreeTrial ? "trialing" : "active"
    } else {
      status = "completed"
    }
  }
}
