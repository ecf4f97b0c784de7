import KassaJSON

/// What a client's answers depend on besides the memberships themselves.
public struct EntitlementPolicy: Sendable, Equatable {
  /// Only these products count; nil for all.
  public var productIDs: Set<String>?
  /// What a store sold elsewhere grants nothing: purchases of tests cost nothing.
  public var environments: Set<StoreTransaction.Environment>
  /// What another app sold grants nothing here; nil: the store does not say whose its transactions are.
  public var bundleID: String?
  /// How long a grant without an end is trusted without the service confirming it.
  public var offlineMilliseconds: Int64
  /// Whether such a grant ends then, or only becomes stale.
  public var isStrict: Bool

  public init(
    productIDs: Set<String>? = nil, environments: Set<StoreTransaction.Environment> = [.production],
    bundleID: String? = nil, offlineDays: Int64 = Constants.offlineDays, isStrict: Bool = false
  ) {
    self.productIDs = productIDs
    self.environments = environments
    self.bundleID = bundleID
    self.offlineMilliseconds = offlineDays * Constants.millisecondsPerDay
    self.isStrict = isStrict
  }
}

/// What one membership, one store transaction, or one grant of a person, gives to whoever asks now: the one rule behind every answer of the
/// library.
///
/// An object, since lists of them are sorted and compared often.
public final class Entitlement: Sendable {
  public enum Source: Sendable {
    case membership(Membership)
    case receipt(Receipt)
    /// What a service with people says that the person may use.
    case grant(Person.Grant, KnownPerson)
  }

  /// What it is a right to.
  public enum Subject: Sendable, Equatable {
    case product(String)
    case perk(String)
  }

  /// What decided.
  public enum Rule: String, Sendable {
    case status
    case fixedEnd = "fixed_end"
    case periodEnd = "period_end"
    case renewalGrace = "renewal_grace"
    /// Past its end, but the service called it active not long ago.
    case serviceGrace = "service_grace"
    case lifetime
    case offlineLimit = "offline_limit"
    case notVisible = "not_visible"
    case productNotConfigured = "product_not_configured"
    case wrongEnvironment = "wrong_environment"
    case wrongBundleID = "wrong_bundle_id"
    case consumable
    case revoked
    case upgraded
  }

  public let source: Source
  public let rule: Rule
  /// When it stops granting if nothing else is learnt; nil for never.
  public let endsAt: Int64?
  /// It can grant at all: visible, of a configured product, with a status that grants.
  public let counts: Bool
  /// When it becomes stale; nil if it has an end of its own.
  public let staleAt: Int64?
  public let isClaimed: Bool
  public var isVisible: Bool { rule != .notVisible }

  public init(_ membership: Membership, ownership: Ownership, policy: EntitlementPolicy) {
    source = .membership(membership)
    isClaimed = ownership.owner(of: membership) != nil
    let end = Self.end(of: membership)
    let obstacle = Self.obstacle(to: membership, ownership, policy)
    counts = obstacle == nil
    let limit = counts && end.at == nil ? membership.confirmedAt.adding(policy.offlineMilliseconds) : nil
    staleAt = limit
    let endsAtLimit = limit != nil && policy.isStrict
    endsAt = endsAtLimit ? limit : end.at
    rule = obstacle ?? (endsAtLimit ? .offlineLimit : end.rule)
  }

  /// Store entitlements are this device's, whoever is logged in. The store signed them, so they need nobody to confirm
  /// them, and they end when they say so. Only a subscription that names no end has to be listed again and again.
  public init(_ receipt: Receipt, policy: EntitlementPolicy) {
    source = .receipt(receipt)
    isClaimed = receipt.appUserID != nil
    let transaction = receipt.transaction
    let obstacle = Self.obstacle(to: receipt, policy)
    counts = obstacle == nil
    staleAt = nil
    let limit =
      transaction.isOpenEnded
      ? (transaction.signedAt ?? receipt.capturedAt).adding(policy.offlineMilliseconds) : nil
    let period = transaction.endWithGrace
    endsAt = [period, transaction.revocation?.at, limit].compactMap(\.self).min()
    let end: Rule = period == nil ? .lifetime : period == transaction.expiresAt ? .fixedEnd : .renewalGrace
    rule = obstacle ?? (limit != nil ? .offlineLimit : end)
  }

  /// A grant that the service still calls active stands past its end while what is known of the person is not old
  /// (Voidhash judges grants by their status; a person is out of date after two days).
  public init(_ grant: Person.Grant, of person: KnownPerson, policy: EntitlementPolicy) {
    source = .grant(grant, person)
    isClaimed = true
    counts = grant.isActive
    let limit =
      grant.isActive && grant.expiresAt == nil ? person.fetchedAt.adding(policy.offlineMilliseconds) : nil
    staleAt = limit
    let endsAtLimit = limit != nil && policy.isStrict
    let isTrustedUntil = person.fetchedAt.adding(Constants.personExpiresMilliseconds)
    let end = grant.expiresAt.map { max($0, isTrustedUntil) }
    endsAt = endsAtLimit ? limit : end
    if !grant.isActive {
      rule = .status
    } else if endsAtLimit {
      rule = .offlineLimit
    } else if let expiresAt = grant.expiresAt {
      rule = expiresAt >= isTrustedUntil ? .fixedEnd : .serviceGrace
    } else {
      rule = .lifetime
    }
  }

  // MARK: The rule

  /// Why it grants nothing, whatever the time.
  private static func obstacle(
    to membership: Membership, _ ownership: Ownership, _ policy: EntitlementPolicy
  ) -> Rule? {
    if !ownership.isVisible(membership) { return .notVisible }
    if !policy.includes(membership.productID) { return .productNotConfigured }
    return membership.status.grants ? nil : .status
  }

  private static func obstacle(to receipt: Receipt, _ policy: EntitlementPolicy) -> Rule? {
    if !policy.environments.contains(receipt.transaction.environment) { return .wrongEnvironment }
    // A transaction that does not say which app it is for was checked when it came.
    if let own = policy.bundleID, let other = receipt.transaction.bundleID, own != other { return .wrongBundleID }
    if receipt.transaction.kind == .consumable { return .consumable }
    if receipt.transaction.revocation != nil { return .revoked }
    if receipt.transaction.isUpgraded { return .upgraded }
    return policy.includes(receipt.grantedProductID) ? nil : .productNotConfigured
  }

  /// When a membership with a granting status ends by itself.
  private static func end(of membership: Membership) -> (at: Int64?, rule: Rule) {
    if let end = membership.expiresAt { return (end, .fixedEnd) }
    guard let period = membership.renewalPeriodEnd else { return (nil, .lifetime) }
    if !membership.renews { return (period, .periodEnd) }
    // The service may still call it active after its period, while it retries a payment: its word restarts the grace.
    return (max(period, membership.confirmedAt).adding(Constants.renewalGraceMilliseconds), .renewalGrace)
  }

  /// A grant with the end T is active at T - 1 ms and not at T.
  public func isActive(at now: Int64) -> Bool { counts && (endsAt.map { now < $0 } ?? true) }
  public func isStale(at now: Int64) -> Bool { counts && (staleAt.map { now >= $0 } ?? false) }

  // MARK: The source

  public var id: String {
    switch source {
    case .membership(let membership): membership.id
    case .receipt(let receipt): receipt.transaction.id
    case .grant(let grant, _): grant.perk
    }
  }

  public var subject: Subject {
    switch source {
    case .membership(let membership): .product(membership.productID)
    case .receipt(let receipt): .product(receipt.grantedProductID)
    case .grant(let grant, _): .perk(grant.perk)
    }
  }

  public var membership: Membership? { if case .membership(let membership) = source { membership } else { nil } }

  private var createdAt: Int64 {
    switch source {
    case .membership(let membership): membership.createdAt
    case .receipt(let receipt): receipt.transaction.purchasedAt
    case .grant: 0
    }
  }

  /// The order of lists: the newest first, of equal age the greater id.
  public func isNewer(than other: Entitlement) -> Bool {
    createdAt == other.createdAt ? id > other.id : createdAt > other.createdAt
  }

  /// Whether nobody could tell them apart at the same time, but by when they were last confirmed.
  public func says(theSameAs other: Entitlement) -> Bool {
    guard isClaimed == other.isClaimed, rule == other.rule else { return false }
    switch (source, other.source) {
    case (.membership(let one), .membership(let another)): return one.says(theSameAs: another)
    case (.receipt(let one), .receipt(let another)): return one.says(theSameAs: another)
    case (.grant(let one, _), .grant(let another, _)): return one == another
    default: return false
    }
  }

  public func document(at now: Int64) -> JSON {
    var own: [(String, JSON)]
    switch source {
    case .membership(let membership):
      own = [
        ("source", "membership"), ("id", JSON(membership.id)), ("product_id", JSON(membership.productID)),
        ("plan_id", JSON(membership.planID)), ("status", JSON(membership.status.word)),
        ("confirmed_at", JSON(membership.confirmedAt)), ("from", membership.isFromNetwork ? "network" : "cache"),
      ]
    case .receipt(let receipt):
      own = [
        ("source", "store"), ("id", JSON(receipt.transaction.id)), ("product_id", JSON(receipt.grantedProductID)),
        ("plan_id", JSON(receipt.planID)), ("status", JSON(receipt.status(at: now))),
        ("confirmed_at", JSON(receipt.transaction.signedAt ?? receipt.capturedAt)),
        ("from", receipt.isFresh ? "store" : "cache"), ("transaction", receipt.transaction.document),
      ]
    case .grant(let grant, let person):
      own = [
        ("source", "grant"), ("id", JSON(grant.perk)), ("perk", JSON(grant.perk)), ("status", JSON(grant.status)),
        ("granted_by", JSON(grant.source)), ("granted_by_id", JSON(grant.sourceID)),
        ("expires_at", JSON(grant.expiresAt)), ("confirmed_at", JSON(person.fetchedAt)),
        ("from", person.isFromNetwork ? "network" : "cache"),
      ]
    }
    own += [
      ("active", JSON(isActive(at: now))), ("ends_at", JSON(endsAt)), ("rule", JSON(rule.rawValue)),
      ("stale", JSON(isStale(at: now))),
    ]
    return .object(own)
  }
}

extension EntitlementPolicy {
  fileprivate func includes(_ productID: String) -> Bool { productIDs?.contains(productID) ?? true }
}

extension StoreTransaction {
  /// The end of the period, or of the grace after it.
  fileprivate var endWithGrace: Int64? {
    guard let expiresAt else { return nil }
    let longest = expiresAt.adding(Constants.longestStoreGraceMilliseconds)
    return max(expiresAt, min(graceEndsAt ?? expiresAt, longest))
  }
}

extension Receipt {
  /// What it grants: the product of its plan; where no plan is mapped to it, what the store calls it.
  public var grantedProductID: String { productID ?? transaction.productID }

  fileprivate func status(at now: Int64) -> String {
    if transaction.revocation != nil { return "revoked" }
    if transaction.isUpgraded { return "upgraded" }
    return transaction.endWithGrace.map { now >= $0 } ?? false ? "expired" : "active"
  }
}

/// Times come from services, hosts and files, so they may be any number; the far ends stand for never.
extension Int64 {
  public func adding(_ other: Int64) -> Int64 {
    let sum = addingReportingOverflow(other)
    return sum.overflow ? (other > 0 ? .max : .min) : sum.partialValue
  }

  public func subtracting(_ other: Int64) -> Int64 {
    let difference = subtractingReportingOverflow(other)
    return difference.overflow ? (other < 0 ? .max : .min) : difference.partialValue
  }
}
