import KassaJSON

/// What a store says it sold, verified: for one charge, or for a free start.
public struct StoreTransaction: Sendable, Equatable {
  public enum Platform: String, Sendable, CaseIterable { case apple, google }
  public enum Ownership: String, Sendable {
    case purchased
    case familyShared = "family_shared"
  }
  public enum Environment: String, Sendable, CaseIterable {
    case production, sandbox
    /// Made on this machine, by Xcode or for a test.
    case xcode
    case localTesting = "local_testing"
  }

  /// Its text as the store gives it, every digit kept.
  public var id: String
  /// The first transaction of its series: the same for all renewals.
  public var originalID: String
  public var platform: Platform
  public var productID: String
  /// The app in which it was bought, where what is signed says it.
  public var bundleID: String?
  public var kind: StoreProduct.Kind
  public var groupID: String?
  public var purchasedAt: Int64
  public var originallyPurchasedAt: Int64
  public var expiresAt: Int64?
  /// Until when the store lets a subscription stand after that, while it retries the payment. Not part of what is
  /// signed: the store says it of the subscription.
  public var graceEndsAt: Int64?
  public var quantity: Int
  public var ownership: Ownership
  public var environment: Environment
  public var isRenewal: Bool?
  /// A higher level of the same group took its place.
  public var isUpgraded: Bool
  public var revocation: Revocation?
  public var offer: Offer?
  public var price: Money?
  /// Two letters.
  public var storefront: String?
  /// The token that the purchase was started with.
  public var appAccountToken: String?
  /// When the store signed this version of it, or was last seen to list it.
  public var signedAt: Int64?
  /// What proves it: Apple's signed text, or Google's purchase token.
  public var proof: String

  public struct Revocation: Sendable, Equatable {
    public var at: Int64
    /// The store's word or number for the reason.
    public var reason: String?
    /// Of the price, in thousandths of a percent; nil for all of it.
    public var percentage: Int64?
    public init(at: Int64, reason: String? = nil, percentage: Int64? = nil) {
      self.at = at
      self.reason = reason
      self.percentage = percentage
    }

    /// Concluded from the store's list, which names the purchase no more, and not said by anybody. The list may be of
    /// another account by now, so it is taken back when the purchase is listed again.
    public var isPresumed: Bool { reason == "not_listed" }
  }

  public struct Offer: Sendable, Equatable {
    public var id: String?
    public var kind: StoreOffer.Kind?
    public var paymentMode: StoreOffer.PaymentMode?
    public init(id: String?, kind: StoreOffer.Kind?, paymentMode: StoreOffer.PaymentMode?) {
      self.id = id
      self.kind = kind
      self.paymentMode = paymentMode
    }
  }

  public init(
    id: String, originalID: String, platform: Platform, productID: String, kind: StoreProduct.Kind,
    groupID: String? = nil, purchasedAt: Int64, originallyPurchasedAt: Int64, expiresAt: Int64? = nil,
    quantity: Int = 1, ownership: Ownership = .purchased, environment: Environment, isRenewal: Bool? = nil,
    isUpgraded: Bool = false, revocation: Revocation? = nil, offer: Offer? = nil, price: Money? = nil,
    storefront: String? = nil, appAccountToken: String? = nil, signedAt: Int64? = nil, bundleID: String? = nil,
    proof: String
  ) {
    self.id = id
    self.originalID = originalID
    self.platform = platform
    self.productID = productID
    self.bundleID = bundleID
    self.kind = kind
    self.groupID = groupID
    self.purchasedAt = purchasedAt
    self.originallyPurchasedAt = originallyPurchasedAt
    self.expiresAt = expiresAt
    self.quantity = quantity
    self.ownership = ownership
    self.environment = environment
    self.isRenewal = isRenewal
    self.isUpgraded = isUpgraded
    self.revocation = revocation
    self.offer = offer
    self.price = price
    self.storefront = storefront
    self.appAccountToken = appAccountToken
    self.signedAt = signedAt
    self.proof = proof
  }
}

extension StoreTransaction {
  /// For hosts. The proof is not in it: it is a receipt, and receipts reach no log and no event.
  public var document: JSON {
    let document = ObjectBuilder()
    document.add("id", id)
    document.add("original_id", originalID)
    document.add("store", platform.rawValue)
    document.add("store_product_id", productID)
    document.add("type", kind.rawValue)
    document.add("group_id", groupID)
    document.add("purchased_at", purchasedAt)
    document.add("originally_purchased_at", originallyPurchasedAt)
    document.add("expires_at", expiresAt)
    document.add("quantity", quantity)
    document.add("ownership", ownership.rawValue)
    document.add("environment", environment.rawValue)
    document.add("is_renewal", isRenewal)
    document.add("is_upgraded", isUpgraded)
    document.add("revoked_at", revocation?.at)
    document.add("revocation_reason", revocation?.reason)
    document.add("revocation_percentage", revocation?.percentage)
    document.add("offer", offer?.document ?? .null)
    document.add("storefront", storefront)
    return document.build()
  }
}

extension StoreTransaction.Offer {
  public var document: JSON {
    ["id": JSON(id), "kind": JSON(kind?.rawValue), "payment_mode": JSON(paymentMode?.rawValue)]
  }
}

extension Fields {
  /// The environments from which transactions count: at least one word, if the member is there.
  public func environments(_ key: String) throws(JSONShapeError) -> [StoreTransaction.Environment]? {
    guard let words = try strings(key) else { return nil }
    guard !words.isEmpty else { throw JSONShapeError(path: place(of: key), problem: "must name at least one") }
    var environments: [StoreTransaction.Environment] = []
    for (index, word) in words.enumerated() {
      guard let environment = StoreTransaction.Environment(rawValue: word) else {
        let known = StoreTransaction.Environment.allCases.map(\.rawValue).joined(separator: ", ")
        throw JSONShapeError(
          path: "\(place(of: key))[\(index)]", problem: "must be one of \(known) (got \"\(word.quoted)\")")
      }
      environments.append(environment)
    }
    return environments
  }
}
