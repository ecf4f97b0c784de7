/// A receipt on its way to the service: one row of the outbox.
///
/// It names its transaction; what proves the transaction is only kept where the service wants it. Nothing but the
/// service's acceptance takes it out of the outbox.
public struct OutgoingReceipt: Sendable, Equatable {
  /// Its place in the outbox: the order of capture.
  public var number: Int64
  public var platform: StoreTransaction.Platform
  public var transactionID: String
  public var originalID: String?
  /// What the store calls the product.
  public var storeProductID: String?
  /// The seller's name of it, where it is known.
  public var productSlug: String?
  /// Google's token of the purchase; nil where the id says everything.
  public var purchaseToken: String?
  public var environment: StoreTransaction.Environment?
  public var purchasedAt: Int64?
  public var quantity: Int
  /// Who was asking when it was captured: it is sent as theirs, whoever asks now.
  public var owner: DistinctID
  /// A restore for somebody else waits behind the capture.
  public var restoreOwner: DistinctID?
  /// It is sent because the user asked for it, so no wait of the service's holds it up.
  public var isRestore: Bool
  /// The host finishes the transaction in the store, never this library.
  public var isHostOwned: Bool
  /// How often it was sent without being accepted.
  public var attempts: Int
  /// Not sent before, by the trusted clock.
  public var availableAt: Int64
  /// When the service refused it for good; nil if it has not.
  public var refusedAt: Int64?

  public init(
    number: Int64 = 0, platform: StoreTransaction.Platform, transactionID: String, originalID: String? = nil,
    storeProductID: String? = nil, productSlug: String? = nil, purchaseToken: String? = nil,
    environment: StoreTransaction.Environment? = nil,
    purchasedAt: Int64? = nil, quantity: Int = 1, owner: DistinctID, restoreOwner: DistinctID? = nil,
    isRestore: Bool = false, isHostOwned: Bool = false, attempts: Int = 0, availableAt: Int64 = 0,
    refusedAt: Int64? = nil
  ) {
    self.number = number
    self.platform = platform
    self.transactionID = transactionID
    self.originalID = originalID
    self.storeProductID = storeProductID
    self.productSlug = productSlug
    self.purchaseToken = purchaseToken
    self.environment = environment
    self.purchasedAt = purchasedAt
    self.quantity = quantity
    self.owner = owner
    self.restoreOwner = restoreOwner
    self.isRestore = isRestore
    self.isHostOwned = isHostOwned
    self.attempts = attempts
    self.availableAt = availableAt
    self.refusedAt = refusedAt
  }
}
