/// What a seller has set up in a service with products and perks (Voidhash, `GET /api/v1/sdk/schema`). What the products
/// cost, the store says.
public struct Catalogue: Sendable, Equatable {
  /// The service's own name of this state.
  public var version: String?
  /// Sorted by slug.
  public var products: [Product]
  /// Perks by slug, and what they are called.
  public var perks: [String: String]

  public init(version: String? = nil, products: [Product] = [], perks: [String: String] = [:]) {
    self.version = version
    self.products = products.sorted { $0.slug < $1.slug }
    self.perks = perks
  }

  /// By its slug, or else by the service's id.
  public func product(_ name: String) -> Product? {
    products.first { $0.slug == name } ?? products.first { $0.id == name }
  }

  public struct Product: Sendable, Equatable {
    public enum Kind: String, Sendable {
      case subscription
      case oneTime = "one_time"
      case consumable
    }

    /// The service's id, which the person's subscriptions and purchases name.
    public var id: String
    public var slug: String
    public var name: String
    public var kind: Kind
    /// Slugs of what it grants.
    public var perks: [String]
    /// What the stores call it.
    public var storeProductIDs: [StoreTransaction.Platform: String]
    /// The promotional offers that the seller lists, by what the store calls them.
    public var offers: [ListedOffer]
    /// What it costs in the service's development mode.
    public var development: DevelopmentPrice?

    public init(
      id: String, slug: String, name: String, kind: Kind, perks: [String] = [],
      storeProductIDs: [StoreTransaction.Platform: String] = [:], offers: [ListedOffer] = [],
      development: DevelopmentPrice? = nil
    ) {
      self.id = id
      self.slug = slug
      self.name = name
      self.kind = kind
      self.perks = perks
      self.storeProductIDs = storeProductIDs
      self.offers = offers
      self.development = development
    }
  }

  /// A promotional offer: the seller's own id for it, and the store's.
  public struct ListedOffer: Sendable, Equatable {
    public var id: String
    public var storeOfferID: String
    public init(id: String, storeOfferID: String) {
      self.id = id
      self.storeOfferID = storeOfferID
    }
  }

  public struct DevelopmentPrice: Sendable, Equatable {
    public var price: Money
    /// nil for what is bought once.
    public var period: Period?
    public init(price: Money, period: Period?) {
      self.price = price
      self.period = period
    }
  }
}
