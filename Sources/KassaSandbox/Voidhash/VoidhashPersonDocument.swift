import KassaCore
import KassaJSON

/// The document of a person, in the order and with the choices of Voidhash's own
/// (packages/core, services/sdk/snapshot-builder.ts).
struct VoidhashPersonDocument {
  let person: VoidhashPersonRecord
  /// The id that asked.
  let distinctID: VoidhashDistinctID
  /// Of the environments that the caller asked for.
  let holdings: [VoidhashHolding]
  /// Whether perks that were given by hand count: they are real ones, not simulated.
  let showsPerks: Bool
  let now: Int64

  var json: JSON {
    [
      "distinctId": JSON(distinctID.text), "personId": JSON(person.id), "email": JSON(person.email),
      "name": JSON(person.name), "entitlements": ["grants": .array(grants.map(document))],
      "subscriptions": ["current": current ?? .null, "history": .array(history)],
      "purchases": ["history": .array(purchases)],
      "snapshotContext": [
        "mode": "persisted", "includedPersonIds": [JSON(person.id)], "migrationJobId": nil,
      ],
    ]
  }

  // MARK: Grants

  private struct Grant {
    var perk: String
    var isActive: Bool
    var source: String
    var sourceID: String?
    var environment: VoidhashEnvironment
    var expiresAt: Int64?
  }

  /// One for each perk. An active one counts more than one that ended, then a real one more than a sandbox one, then
  /// the one that lasts longer. Active ones come first, then what ends earlier.
  private var grants: [Grant] {
    var best: [String: Grant] = [:]
    for grant in allGrants {
      guard let other = best[grant.perk] else {
        best[grant.perk] = grant
        continue
      }
      if isBetter(grant, other) { best[grant.perk] = grant }
    }
    return best.values.sorted { one, other in
      if one.isActive != other.isActive { return one.isActive }
      let ends = (one.expiresAt ?? .max, other.expiresAt ?? .max)
      return ends.0 == ends.1 ? one.perk < other.perk : ends.0 < ends.1
    }
  }

  private var allGrants: [Grant] {
    let given = (showsPerks ? person.perks : []).map {
      Grant(perk: $0, isActive: true, source: "manual", sourceID: nil, environment: .production, expiresAt: nil)
    }
    return given
      + holdings.flatMap { holding in
        holding.product.perks.map { perk in
          Grant(
            perk: perk, isActive: holding.isActive(at: now),
            source: holding.isSubscription ? "subscription" : "purchase",
            sourceID: holding.id, environment: holding.environment, expiresAt: holding.expiresAt)
        }
      }
  }

  private func isBetter(_ one: Grant, _ other: Grant) -> Bool {
    if one.isActive != other.isActive { return one.isActive }
    if one.environment != other.environment { return one.environment < other.environment }
    return (one.expiresAt ?? .max) > (other.expiresAt ?? .max)
  }

  private func document(_ grant: Grant) -> JSON {
    [
      "perkId": JSON(grant.perk), "status": grant.isActive ? "active" : "expired", "source": JSON(grant.source),
      "sourceId": JSON(grant.sourceID), "sourcePersonId": JSON(person.id), "expiresAt": time(grant.expiresAt),
    ]
  }

  // MARK: Subscriptions

  private var subscriptions: [VoidhashHolding] {
    holdings.filter(\.isSubscription).sorted { ($1.startsAt, $1.id) < ($0.startsAt, $0.id) }
  }

  /// `past_due` is in the wire format, but Voidhash never says it: in grace a subscription is active.
  private func status(_ holding: VoidhashHolding) -> String {
    if holding.endedAt != nil { return "canceled" }
    guard holding.isActive(at: now) else { return "expired" }
    return holding.isTrial ? "trialing" : "active"
  }

  private var history: [JSON] {
    subscriptions.map { holding in
      [
        "subscriptionId": JSON(holding.id), "productId": JSON(holding.product.id), "status": JSON(status(holding)),
        "startsAt": time(holding.startsAt), "expiresAt": time(holding.expiresAt), "canceledAt": time(holding.endedAt),
        "isTrial": JSON(holding.isTrial), "sourcePersonId": JSON(person.id),
      ]
    }
  }

  /// The active one before one in its trial, then the one that lasts longer.
  private var current: JSON? {
    let standing = subscriptions.filter { $0.isActive(at: now) }
    let first = standing.max { one, other in
      if one.isTrial != other.isTrial { return one.isTrial }
      return (one.expiresAt ?? .max) < (other.expiresAt ?? .max)
    }
    return first.map { holding in
      [
        "status": JSON(status(holding)), "productId": JSON(holding.product.id), "subscriptionId": JSON(holding.id),
        "expiresAt": time(holding.expiresAt),
      ]
    }
  }

  // MARK: Purchases

  private var purchases: [JSON] {
    let all = holdings.flatMap { holding in holding.purchases.map { (holding, $0) } }
    return all.sorted { ($1.1.createdAt, $1.1.id) < ($0.1.createdAt, $0.1.id) }.map { holding, purchase in
      [
        "purchaseId": JSON(purchase.id), "productId": JSON(purchase.productID), "providerKey": JSON(holding.provider),
        "type": holding.isSubscription ? "subscription" : "one_time", "createdAt": time(purchase.createdAt),
        "sourcePersonId": JSON(person.id),
      ]
    }
  }

  private func time(_ moment: Int64?) -> JSON { JSON(moment.map(Timestamp.iso8601)) }
}
