import KassaCore
import KassaJSON
import KassaPlatform

// What products of all kinds have in common, and those that do not renew.
extension StoreKitFileReader {
  private static let kinds: [(String, StoreProduct.Kind)] = [
    ("Consumable", .consumable), ("NonConsumable", .nonConsumable),
    ("NonRenewingSubscription", .nonRenewingSubscription), ("RecurringSubscription", .subscription),
    ("NonRenewing", .nonRenewingSubscription), ("AutoRenewableSubscription", .subscription),
    ("AutoRenewable", .subscription), ("Subscription", .subscription),
  ]

  /// The lists in which a product may stand, apart from the groups: each with the kind of those that do not say theirs.
  mutating func readProducts() throws(JSONShapeError) {
    let lists: [(String, StoreProduct.Kind?)] = [
      ("products", nil), ("nonConsumableIAP", .nonConsumable), ("nonConsumableProducts", .nonConsumable),
      ("nonRenewingSubscriptions", .nonRenewingSubscription),
    ]
    for (key, implied) in lists {
      for fields in try file.objects(key) {
        let kind = try fields.required(self.kind(fields) ?? implied, "type")
        if kind == .subscription {
          try readSubscription(fields, group: nil)
        } else {
          note(fields, StoreKitFileKeys.product)
          try add(product(fields, kind), at: fields)
        }
      }
    }
  }

  func kind(_ fields: Fields) throws(JSONShapeError) -> StoreProduct.Kind? { try fields.word("type", Self.kinds) }

  mutating func product(_ fields: Fields, _ kind: StoreProduct.Kind) throws(JSONShapeError) -> StoreProduct {
    let idKey = fields.spelling("productID", "id")
    let id = try fields.string(idKey)
    guard !id.isEmpty else { throw JSONShapeError(path: fields.place(of: idKey), problem: "must not be empty") }
    let priceKey = fields.spelling("displayPrice", "price")
    let amount = try fields.required(fields.amount(priceKey), priceKey)
    let names = try localization(fields)
    let ownName = try fields.optionalString("displayName")
    let ownDescription = try fields.optionalString("description")
    return StoreProduct(
      id: id, kind: kind,
      displayName: try names?.optionalString("displayName") ?? ownName ?? "",
      description: try names?.optionalString("description") ?? ownDescription ?? "",
      price: price(amount),
      isFamilyShareable: try fields.optionalBool(fields.spelling("familyShareable", "familySharable")) ?? false)
  }

  func price(_ amount: Decimal) -> StorePrice {
    let price = Money(amount, currency).payable
    return StorePrice(price, formatted: PriceText.format(price.amount, currency: currency, locale: locale.name))
  }

  /// The names and descriptions in the language of this reading.
  mutating func localization(_ fields: Fields) throws(JSONShapeError) -> Fields? {
    let all = try fields.objects("localizations")
    for one in all {
      note(one, StoreKitFileKeys.localization)
      _ = try (one.optionalString("displayName"), one.optionalString("description"))
    }
    return try locale.choose(from: all)
  }
}

extension Money {
  /// Rounded to what can be paid in its currency: 0.99 of a file for the USA is 1 in Japan.
  var payable: Money {
    Currency.minorUnits(currency).map { Money(amount.rounded(toPlaces: $0), currency) } ?? self
  }
}
