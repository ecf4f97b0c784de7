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
public struct Membership: Sendable, Equatable {
  public var id: String
  public var productID: String
  public var planID: String
  public var status: MembershipStatus
  public var createdAt: Int64
  /// A fixed end.
  public var expiresAt: Int64?
  /// The next renewal; nil for one that does not renew.
  public var renewalPeriodEnd: Int64?
  public var cancelAtPeriodEnd: Bool
  public var manageURL: String?
  public var receiptID: String?

  /// The installation that bought it.
  public var deviceID: String?
  /// The app user who claimed it, or bought it logged in.
  public var appUserID: AppUserID?
  /// The purchase attempt that made it.
  public var nonce: String?
  /// The buyer's account at the service.
  public var buyerID: String?

  /// When the service last said all this, by the trusted clock.
  public var confirmedAt: Int64
  /// It said so since the client was opened.
  public var isFromNetwork: Bool

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
