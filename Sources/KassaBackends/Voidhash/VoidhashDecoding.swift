import KassaCore
import KassaJSON

/// Reads the service's documents. What may be absent or null in one of its versions may be here; words that are not
/// known stay as they are and grant nothing; what access hangs on is required, and its absence is an error, so that the
/// last good answer stands.
enum VoidhashDecoding {
  // MARK: People

  static func person(_ row: Fields) throws(JSONShapeError) -> Person {
    let subscriptions = try row.optionalObject("subscriptions")
    return Person(
      distinctID: DistinctID(try row.string("distinctId")),
      personID: try row.string("personId"),
      email: try row.optionalString("email"),
      name: try row.optionalString("name"),
      grants: try row.optionalObject("entitlements")?.objects("grants").read(grant) ?? [],
      currentSubscription: try subscriptions?.optionalObject("current").flatMap(current),
      subscriptions: try subscriptions?.objects("history").read(subscription) ?? [],
      purchases: try row.optionalObject("purchases")?.objects("history").read(purchase) ?? [])
  }

  private static func grant(_ row: Fields) throws(JSONShapeError) -> Person.Grant {
    Person.Grant(
      perk: try row.string("perkId"), status: try row.word("status"), source: try row.optionalString("source"),
      sourceID: try row.optionalString("sourceId"), sourcePersonID: try row.optionalString("sourcePersonId"),
      expiresAt: try row.time("expiresAt"))
  }

  /// The word `none` is the same as null.
  private static func current(_ row: Fields) throws(JSONShapeError) -> Person.CurrentSubscription? {
    let status = try row.word("status")
    guard status != "none" else { return nil }
    return Person.CurrentSubscription(
      status: status, productID: try row.optionalString("productId"),
      subscriptionID: try row.optionalString("subscriptionId"), expiresAt: try row.time("expiresAt"))
  }

  private static func subscription(_ row: Fields) throws(JSONShapeError) -> Person.Subscription {
    Person.Subscription(
      subscriptionID: try row.string("subscriptionId"), productID: try row.optionalString("productId"),
      status: try row.word("status"), startsAt: try row.required(row.time("startsAt"), "startsAt"),
      expiresAt: try row.time("expiresAt"), canceledAt: try row.time("canceledAt"),
      isTrial: try row.optionalBool("isTrial") ?? false, sourcePersonID: try row.optionalString("sourcePersonId"))
  }

  private static func purchase(_ row: Fields) throws(JSONShapeError) -> Person.Purchase {
    Person.Purchase(
      purchaseID: try row.string("purchaseId"), productID: try row.optionalString("productId"),
      provider: try row.string("providerKey"), kind: try row.word("type"),
      createdAt: try row.required(row.time("createdAt"), "createdAt"),
      sourcePersonID: try row.optionalString("sourcePersonId"))
  }

  // MARK: The catalogue

  static func catalogue(_ row: Fields) throws(JSONShapeError) -> Catalogue {
    let products = try row.object("products")
    var perks: [String: String] = [:]
    if let listed = try row.optionalObject("perks") {
      for (key, _) in listed.json.members {
        guard let perk = try listed.optionalObject(key) else { continue }
        let slug = try perk.optionalString("slug") ?? key
        perks[slug] = try perk.optionalString("name") ?? slug
      }
    }
    var read: [Catalogue.Product] = []
    for (key, _) in products.json.members {
      guard let fields = try products.optionalObject(key), let product = try product(fields, key) else { continue }
      read.append(product)
    }
    return Catalogue(version: try row.string("version"), products: read, perks: perks)
  }

  /// Nil for a type that is not known: nobody could tell as what a store should sell it.
  private static func product(_ row: Fields, _ key: String) throws(JSONShapeError) -> Catalogue.Product? {
    let kind: Catalogue.Product.Kind
    switch try row.string("type") {
    case "subscription": kind = .subscription
    case "one-time": kind = .oneTime
    case "one-time-consumable": kind = .consumable
    default: return nil
    }
    let slug = try row.optionalString("slug") ?? key
    let configuration = try row.optionalObject("configuration")
    let providers = try configuration?.optionalObject("providers")
    let apple = try providers?.optionalObject("appleAppStore")
    let google = try providers?.optionalObject("googlePlay")
    var ids: [StoreTransaction.Platform: String] = [:]
    ids[.apple] = try apple?.optionalString("productId")
    ids[.google] = try google?.optionalString("productId")
    let perks = try configuration?.optionalObject("perks")?.json.members ?? []
    return Catalogue.Product(
      // Older versions have no id, and name products by their slugs.
      id: try row.optionalString("id") ?? slug, slug: slug,
      name: try row.optionalObject("properties")?.optionalString("name") ?? slug, kind: kind,
      perks: perks.filter { $0.1 == true }.map(\.0), storeProductIDs: ids,
      offers: try apple.map(offers) ?? [],
      development: try providers?.optionalObject("development").flatMap(developmentPrice))
  }

  /// Where offers stand is not public (reference, open question 1): a list beside the store's product id, of objects
  /// with the seller's `id` and the store's `storeOfferId` (or `offerId`), or of ids that are both.
  private static func offers(_ mapping: Fields) throws(JSONShapeError) -> [Catalogue.ListedOffer] {
    (try mapping.optionalArray("offers") ?? []).compactMap { entry in
      let storeID = entry["storeOfferId"]?.string ?? entry["offerId"]?.string
      guard let id = entry.string ?? entry["id"]?.string ?? storeID else { return nil }
      return Catalogue.ListedOffer(id: id, storeOfferID: storeID ?? id)
    }
  }

  private static func developmentPrice(_ row: Fields) throws(JSONShapeError) -> Catalogue.DevelopmentPrice? {
    let currency = try row.optionalString("currencyCode") ?? "USD"
    let minor = try row.optionalInteger("priceInMinorUnits").flatMap { Money(minorUnits: $0, currency) }
    let major = try row.value("price", "a decimal number") { Decimal(json: $0) }.map { Money($0, currency) }
    guard let price = minor ?? major else { return nil }
    // `lifetime` is no period.
    let unit = try row.optionalString("period").flatMap { Period.Unit(rawValue: $0) }
    let count = try row.optionalInteger("periodCount") ?? 1
    return Catalogue.DevelopmentPrice(price: price, period: unit.flatMap { Period(Int(clamping: count), $0) })
  }
}

extension Fields {
  /// A word of a list that may grow; some versions write numbers.
  fileprivate func word(_ key: String) throws(JSONShapeError) -> String {
    try required(value(key, "a word") { $0.string ?? $0.decimalText }, key)
  }

  fileprivate func time(_ key: String) throws(JSONShapeError) -> Int64? {
    try value(key, "a time") { Timestamp.milliseconds($0) }
  }
}
