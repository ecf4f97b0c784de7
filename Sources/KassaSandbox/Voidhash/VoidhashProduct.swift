import KassaCore
import KassaJSON

/// A product of a Voidhash project, with what sells it in each store.
struct VoidhashProduct {
  enum Kind: String, CaseIterable {
    case subscription
    case oneTime = "one-time"
    case consumable = "one-time-consumable"
  }

  enum Duration: String, CaseIterable {
    case weekly, monthly, quarterly
    case semiAnnual = "semi-annual"
    case annual
  }

  /// An offer that was added to the product's App Store mapping: only these are signed.
  struct Offer {
    var id: String
    /// Its id in the App Store, where that is another one.
    var storeOfferID: String
  }

  var slug: String
  var id: String
  var kind: Kind
  var duration: Duration?
  var name: String
  var perks: [String]
  /// The mappings as the schema shows them.
  private var apple: JSON?
  private var google: JSON?
  var offers: [Offer]
  private var currency: String
  private var minorUnits: Int64

  init(slug: String, _ fields: Fields, perks known: [String]) throws(JSONShapeError) {
    try fields.allowOnly(["id", "type", "duration", "name", "perks", "providers"])
    self.slug = slug
    id = try fields.string("id")
    kind = try fields.required(fields.oneOf("type"), "type")
    duration = try fields.oneOf("duration")
    name = try fields.string("name")
    perks = try fields.perks("perks", among: known)
    if kind != .subscription, duration != nil { throw fields.problem("duration", "is for subscriptions only") }

    let providers = try fields.optionalObject("providers")
    try providers?.allowOnly(["appleAppStore", "googlePlay", "development"])
    offers = []
    if let mapping = try providers?.optionalObject("appleAppStore") {
      try mapping.allowOnly(["productId", "offers"])
      apple = mapping.json
      _ = try mapping.string("productId")
      for offer in try mapping.objects("offers") {
        try offer.allowOnly(["id", "storeOfferId"])
        let id = try offer.string("id")
        offers.append(Offer(id: id, storeOfferID: try offer.optionalString("storeOfferId") ?? id))
      }
    }
    if let mapping = try providers?.optionalObject("googlePlay") {
      try mapping.allowOnly(["productId", "basePlanId"])
      google = mapping.json
      _ = try mapping.string("productId")
      _ = try mapping.optionalString("basePlanId")
    }
    let development = try providers?.optionalObject("development")
    try development?.allowOnly(["currencyCode", "priceInMinorUnits"])
    currency = try development?.optionalString("currencyCode") ?? "USD"
    minorUnits =
      try development?.number("priceInMinorUnits", 0...1_000_000_000_000) ?? Self.developmentPrice(kind, duration)
  }

  func storeProductID(_ store: StoreTransaction.Platform) -> String? {
    let mapping: JSON? =
      switch store {
      case .apple: apple
      case .google: google
      }
    return mapping?["productId"]?.string
  }

  // MARK: Development

  /// How long a period of it lasts in development: subscriptions without a duration are monthly there.
  var period: Period? {
    guard kind == .subscription else { return nil }
    return switch duration {
    case .weekly: Period(1, .week)
    case .monthly, nil: Period(1, .month)
    case .quarterly: Period(3, .month)
    case .semiAnnual: Period(6, .month)
    case .annual: Period(1, .year)
    }
  }

  var developmentWarning: String? {
    kind == .subscription && duration == nil ? "The product has no duration; it is simulated as monthly." : nil
  }

  /// Voidhash's own prices (packages/core, paymentProviders/development/pricing.ts), in minor units.
  private static func developmentPrice(_ kind: Kind, _ duration: Duration?) -> Int64 {
    switch (kind, duration) {
    case (.subscription, .weekly): 499
    case (.subscription, .quarterly): 2499
    case (.subscription, .semiAnnual): 3999
    case (.subscription, .annual): 4999
    case (.subscription, _): 999
    case (.oneTime, _): 1999
    case (.consumable, _): 499
    }
  }

  // MARK: The schema

  var document: JSON {
    var providers: [(String, JSON)] = [("development", development)]
    if let apple { providers.append(("appleAppStore", apple)) }
    if let google { providers.append(("googlePlay", google)) }
    return [
      "id": JSON(id), "slug": JSON(slug), "type": JSON(kind.rawValue), "duration": JSON(duration?.rawValue),
      "properties": ["name": JSON(name)],
      "configuration": ["perks": .object(perks.map { ($0, true) }), "providers": .object(providers)],
    ]
  }

  private var development: JSON {
    let price = Decimal(minorUnits, fractionDigits: Currency.minorUnits(currency) ?? 2) ?? .zero
    return [
      "currencyCode": JSON(currency), "duration": JSON(duration?.rawValue),
      "period": JSON(period?.unit.rawValue ?? "lifetime"), "periodCount": JSON(period?.count ?? 1),
      "price": MoneyDocument.number(price), "priceInMinorUnits": JSON(minorUnits), "productId": JSON(slug),
      "warning": JSON(developmentWarning),
    ]
  }
}

extension VoidhashCatalogue {
  /// What `GET /schema` gives, but for its version.
  var schema: [(String, JSON)] {
    [
      ("perks", .object(perks.map { ($0.slug, ["slug": JSON($0.slug), "name": JSON($0.name)]) })),
      (
        "locations",
        .object(
          locations.map {
            ($0.slug, ["slug": JSON($0.slug), "name": JSON($0.name), "description": JSON($0.description)])
          })
      ),
      ("products", .object(products.map { ($0.slug, $0.document) })),
    ]
  }
}
