/// Whom a call of a service with people is made as: an app user's id, or a made-up one of somebody who has not logged in
/// (Voidhash: the distinct id).
public struct DistinctID: ByteExactText {
  public let text: String
  public init(_ text: String) { self.text = text }
}

/// What a service with people knows of one person (Voidhash, `GET /api/v1/sdk/person`).
public struct Person: Sendable, Equatable {
  public var distinctID: DistinctID
  public var personID: String?
  public var email: String?
  public var name: String?
  /// What the person may use, and what they might once.
  public var grants: [Grant]
  /// The subscription that says most about the person; nil for none.
  public var currentSubscription: CurrentSubscription?
  /// The newest first.
  public var subscriptions: [Subscription]
  /// The newest first.
  public var purchases: [Purchase]

  /// The right to use one perk.
  public struct Grant: Sendable, Equatable {
    /// The perk's slug.
    public var perk: String
    /// The service's word; only `active` grants.
    public var status: String
    public var source: String?
    public var sourceID: String?
    public var sourcePersonID: String?
    public var expiresAt: Int64?
    public var isActive: Bool { status == "active" }

    public init(
      perk: String, status: String, source: String? = nil, sourceID: String? = nil, sourcePersonID: String? = nil,
      expiresAt: Int64? = nil
    ) {
      self.perk = perk
      self.status = status
      self.source = source
      self.sourceID = sourceID
      self.sourcePersonID = sourcePersonID
      self.expiresAt = expiresAt
    }
  }

  public struct CurrentSubscription: Sendable, Equatable {
    public var status: String
    public var productID: String?
    public var subscriptionID: String?
    public var expiresAt: Int64?

    public init(status: String, productID: String? = nil, subscriptionID: String? = nil, expiresAt: Int64? = nil) {
      self.status = status
      self.productID = productID
      self.subscriptionID = subscriptionID
      self.expiresAt = expiresAt
    }
  }

  public struct Subscription: Sendable, Equatable {
    public var subscriptionID: String
    public var productID: String?
    public var status: String
    public var startsAt: Int64
    public var expiresAt: Int64?
    public var canceledAt: Int64?
    public var isTrial: Bool
    public var sourcePersonID: String?

    public init(
      subscriptionID: String, productID: String?, status: String, startsAt: Int64, expiresAt: Int64? = nil,
      canceledAt: Int64? = nil, isTrial: Bool = false, sourcePersonID: String? = nil
    ) {
      self.subscriptionID = subscriptionID
      self.productID = productID
      self.status = status
      self.startsAt = startsAt
      self.expiresAt = expiresAt
      self.canceledAt = canceledAt
      self.isTrial = isTrial
      self.sourcePersonID = sourcePersonID
    }
  }

  public struct Purchase: Sendable, Equatable {
    public var purchaseID: String
    public var productID: String?
    /// Who charged, such as `apple-app-store`.
    public var provider: String
    /// `one_time` or `subscription`.
    public var kind: String
    public var createdAt: Int64
    public var sourcePersonID: String?

    public init(
      purchaseID: String, productID: String?, provider: String, kind: String, createdAt: Int64,
      sourcePersonID: String? = nil
    ) {
      self.purchaseID = purchaseID
      self.productID = productID
      self.provider = provider
      self.kind = kind
      self.createdAt = createdAt
      self.sourcePersonID = sourcePersonID
    }
  }

  public init(
    distinctID: DistinctID, personID: String? = nil, email: String? = nil, name: String? = nil, grants: [Grant] = [],
    currentSubscription: CurrentSubscription? = nil, subscriptions: [Subscription] = [], purchases: [Purchase] = []
  ) {
    self.distinctID = distinctID
    self.personID = personID
    self.email = email
    self.name = name
    self.grants = grants
    self.currentSubscription = currentSubscription
    self.subscriptions = subscriptions
    self.purchases = purchases
  }
}

/// A person, and since when that is known.
public struct KnownPerson: Sendable, Equatable {
  public var person: Person
  /// Whom was asked for: the service may know them by another id, too.
  public var id: DistinctID
  /// By the trusted clock.
  public var fetchedAt: Int64
  /// It came in this run.
  public var isFromNetwork: Bool
  public init(_ person: Person, as id: DistinctID, fetchedAt: Int64, isFromNetwork: Bool) {
    self.person = person
    self.id = id
    self.fetchedAt = fetchedAt
    self.isFromNetwork = isFromNetwork
  }

  public func isStale(at now: Int64) -> Bool { now.subtracting(fetchedAt) > Constants.personStaleMilliseconds }
  public func isExpired(at now: Int64) -> Bool { now.subtracting(fetchedAt) > Constants.personExpiresMilliseconds }
}
