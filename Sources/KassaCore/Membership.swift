import KassaJSON

/// A membership's state, as the service names it. The word is kept even where it is new to this version.
public struct MembershipStatus: Sendable, Equatable {
  public let raw: String
  public init(_ raw: String) { self.raw = raw }

  /// The statuses of WhopCheckout's `Status`, apart from `unknown`.
  private static let known: Set<String> = [
    "active", "trialing", "canceling", "past_due", "completed", "canceled", "expired", "drafted", "unresolved",
  ]
  /// WhopCheckout, `isActive`.
  private static let active: Set<String> = ["active", "trialing", "canceling", "past_due", "completed"]

  public var word: String { Self.known.contains(raw) ? raw : "unknown" }
  public var grants: Bool { Self.active.contains(raw) }
}

/// One buyer's link to one product (WhopCheckout, `CheckoutMembership`), with whom it belongs to.
///
/// An object, since lists of a thousand are loaded, sorted and compared before the first answer.
public final class Membership: Sendable, Equatable {
  public let id: String
  public let productID: String
  public let planID: String
  public let status: MembershipStatus
  public let createdAt: Int64
  /// A fixed end.
  public let expiresAt: Int64?
  /// The next renewal; nil for one that does not renew.
  public let renewalPeriodEnd: Int64?
  public let cancelAtPeriodEnd: Bool
  public let manageURL: String?
  public let receiptID: String?

  /// The installation that bought it.
  public let deviceID: String?
  /// The app user who claimed it, or bought it logged in.
  public let appUserID: AppUserID?
  /// The purchase attempt that made it.
  public let nonce: String?
  /// The buyer's account at the service.
  public let buyerID: String?

  /// When the service last said all this, by the trusted clock.
  public let confirmedAt: Int64
  /// It said so since the client was opened.
  public let isFromNetwork: Bool

  public init(
    id: String, productID: String, planID: String, status: MembershipStatus, createdAt: Int64, expiresAt: Int64?,
    renewalPeriodEnd: Int64?, cancelAtPeriodEnd: Bool, manageURL: String?, receiptID: String?, deviceID: String?,
    appUserID: AppUserID?, nonce: String?, buyerID: String?, confirmedAt: Int64, isFromNetwork: Bool
  ) {
    self.id = id
    self.productID = productID
    self.planID = planID
    self.status = status
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.renewalPeriodEnd = renewalPeriodEnd
    self.cancelAtPeriodEnd = cancelAtPeriodEnd
    self.manageURL = manageURL
    self.receiptID = receiptID
    self.deviceID = deviceID
    self.appUserID = appUserID
    self.nonce = nonce
    self.buyerID = buyerID
    self.confirmedAt = confirmedAt
    self.isFromNetwork = isFromNetwork
  }

  /// The same with a receipt, unless it has one.
  public func withReceipt(_ receiptID: String?) -> Membership {
    guard self.receiptID == nil, let receiptID else { return self }
    return Membership(
      id: id, productID: productID, planID: planID, status: status, createdAt: createdAt, expiresAt: expiresAt,
      renewalPeriodEnd: renewalPeriodEnd, cancelAtPeriodEnd: cancelAtPeriodEnd, manageURL: manageURL,
      receiptID: receiptID, deviceID: deviceID, appUserID: appUserID, nonce: nonce, buyerID: buyerID,
      confirmedAt: confirmedAt, isFromNetwork: isFromNetwork)
  }

  /// Whether they say the same, whenever and however that was learnt.
  public func says(theSameAs other: Membership) -> Bool {
    self === other
      || (id == other.id && productID == other.productID && planID == other.planID && status == other.status
        && createdAt == other.createdAt && expiresAt == other.expiresAt
        && renewalPeriodEnd == other.renewalPeriodEnd && cancelAtPeriodEnd == other.cancelAtPeriodEnd
        && manageURL == other.manageURL && receiptID == other.receiptID && deviceID == other.deviceID
        && appUserID == other.appUserID && nonce == other.nonce && buyerID == other.buyerID)
  }

  public static func == (left: Membership, right: Membership) -> Bool {
    left.says(theSameAs: right) && left.confirmedAt == right.confirmedAt && left.isFromNetwork == right.isFromNetwork
  }

  /// The service's word that another period follows this one.
  public var renews: Bool { !cancelAtPeriodEnd && status.raw != "canceling" }

  public func document(isActive: Bool, isClaimed: Bool) -> JSON {
    [
      "id": JSON(id),
      "product_id": JSON(productID),
      "plan_id": JSON(planID),
      "status": JSON(status.word),
      "raw_status": JSON(status.raw),
      "is_active": JSON(isActive),
      "is_claimed": JSON(isClaimed),
      "created_at": JSON(createdAt),
      "expires_at": JSON(expiresAt),
      "renewal_period_end": JSON(renewalPeriodEnd),
      "cancel_at_period_end": JSON(cancelAtPeriodEnd),
      "receipt_id": JSON(receiptID),
      "manage_url": JSON(manageURL),
    ]
  }
}
