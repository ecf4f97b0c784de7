/// A store transaction that this client keeps until everybody has heard of it, and as long as it grants.
///
/// An object, since lists of them are derived from often; a change makes a new one.
public final class Receipt: Sendable, Equatable {
  public let transaction: StoreTransaction
  /// The plan that the configuration maps its store product to.
  public let planID: String?
  /// The product of that plan.
  public let productID: String?
  /// Who was asking when it was captured; whoever logs in later does not change that.
  public let appUserID: AppUserID?
  /// When it was captured, by the trusted clock.
  public let capturedAt: Int64
  public let progress: Progress
  /// It came since the client was opened.
  public let isFresh: Bool

  /// What has been done with it; nothing of it is done twice.
  public struct Progress: Sendable, Equatable {
    /// The store knows that it was delivered.
    public var isFinished = false
    /// The service has it, or takes none.
    public var isAccepted = false
    public init(isFinished: Bool = false, isAccepted: Bool = false) {
      self.isFinished = isFinished
      self.isAccepted = isAccepted
    }
  }

  public init(
    _ transaction: StoreTransaction, planID: String?, productID: String?, appUserID: AppUserID?, capturedAt: Int64,
    progress: Progress = Progress(), isFresh: Bool = true
  ) {
    self.transaction = transaction
    self.planID = planID
    self.productID = productID
    self.appUserID = appUserID
    self.capturedAt = capturedAt
    self.progress = progress
    self.isFresh = isFresh
  }

  public func with(_ progress: Progress) -> Receipt {
    Receipt(
      transaction, planID: planID, productID: productID, appUserID: appUserID, capturedAt: capturedAt,
      progress: progress, isFresh: isFresh)
  }

  /// The same for another plan, where a mapping changed or the plan was not known yet.
  public func mapped(to planID: String?, _ productID: String?) -> Receipt {
    var progress = progress
    // The service may take for this plan what it could not take before.
    if planID != self.planID { progress.isAccepted = false }
    return Receipt(
      transaction, planID: planID, productID: productID, appUserID: appUserID, capturedAt: capturedAt,
      progress: progress, isFresh: isFresh)
  }

  /// A newer version of the same transaction: refunded, revoked, replaced by an upgrade.
  public func updated(to transaction: StoreTransaction) -> Receipt {
    var progress = progress
    // Whoever heard of the old one has to hear of the new one.
    progress.isAccepted = false
    let isWithdrawn = transaction.revocation != self.transaction.revocation
    if isWithdrawn || transaction.isUpgraded != self.transaction.isUpgraded { progress.isFinished = false }
    return Receipt(
      transaction, planID: planID, productID: productID, appUserID: appUserID, capturedAt: capturedAt,
      progress: progress, isFresh: true)
  }

  /// Whether they say the same of what was bought.
  public func says(theSameAs other: Receipt) -> Bool {
    self === other
      || (transaction == other.transaction && planID == other.planID && productID == other.productID)
  }

  public static func == (left: Receipt, right: Receipt) -> Bool {
    left.says(theSameAs: right) && left.appUserID == right.appUserID && left.capturedAt == right.capturedAt
      && left.progress == right.progress && left.isFresh == right.isFresh
  }
}

extension StoreTransaction {
  /// Refunds, revocations and what an upgrade replaced are no news of a purchase: the answers tell of them.
  public var isNews: Bool { revocation == nil && !isUpgraded }

  /// Whether this is a later state than that one.
  public func isNewer(than other: StoreTransaction) -> Bool { (signedAt ?? .min) > (other.signedAt ?? .min) }

  /// Whether this does not say any more that it was revoked, although somebody told so. What was only concluded from a
  /// list may be taken back.
  public func takesBackRevocation(of other: StoreTransaction) -> Bool {
    guard let told = other.revocation, !told.isPresumed else { return false }
    return revocation?.isPresumed ?? true
  }

  /// Whether another signing of the same transaction changes anything for its owner.
  public func differs(from other: StoreTransaction) -> Bool {
    revocation != other.revocation || isUpgraded != other.isUpgraded || expiresAt != other.expiresAt
      || (isOpenEnded && (signedAt ?? 0).subtracting(other.signedAt ?? 0) > Constants.saveListingMilliseconds)
  }

  /// A subscription whose end the store does not tell (Google Play tells it to servers only): it stands as long as the
  /// store lists it.
  public var isOpenEnded: Bool { kind == .subscription && expiresAt == nil && revocation == nil }
}
