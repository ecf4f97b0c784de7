import KassaJSON

/// The form in which the storage keeps a catalogue.
extension Catalogue {
  public var document: JSON {
    [
      "version": JSON(version), "perks": .object(perks.sorted { $0.key < $1.key }.map { ($0.key, JSON($0.value)) }),
      "products": .array(products.map(\.document)),
    ]
  }

  public init(document: JSON) throws(JSONShapeError) {
    let fields = try Fields(document)
    self.init(
      version: try fields.optionalString("version"),
      products: try fields.objects("products").read(Product.init),
      perks: try fields.object("perks").texts())
  }
}

extension Catalogue.Product {
  fileprivate var document: JSON {
    let ids = storeProductIDs.map { ($0.key.rawValue, JSON($0.value)) }.sorted { $0.0 < $1.0 }
    return [
      "id": JSON(id), "slug": JSON(slug), "name": JSON(name), "kind": JSON(kind.rawValue),
      "perks": .array(perks.map { JSON($0) }), "store_product_ids": .object(ids),
      "offers": .array(offers.map { ["id": JSON($0.id), "store_offer_id": JSON($0.storeOfferID)] }),
      "development": development?.document ?? .null,
    ]
  }

  fileprivate init(_ row: Fields) throws(JSONShapeError) {
    var storeProductIDs: [StoreTransaction.Platform: String] = [:]
    for (name, id) in try row.object("store_product_ids").texts() {
      if let platform = StoreTransaction.Platform(rawValue: name) { storeProductIDs[platform] = id }
    }
    self.init(
      id: try row.string("id"), slug: try row.string("slug"), name: try row.string("name"),
      kind: try row.word("kind"),
      perks: try row.required(row.strings("perks"), "perks"),
      storeProductIDs: storeProductIDs,
      offers: try row.objects("offers").read { (offer) throws(JSONShapeError) in
        Catalogue.ListedOffer(id: try offer.string("id"), storeOfferID: try offer.string("store_offer_id"))
      },
      development: try row.optionalObject("development").map(Catalogue.DevelopmentPrice.init))
  }
}

extension Catalogue.DevelopmentPrice {
  fileprivate var document: JSON {
    [
      "amount": JSON(price.amount.text), "currency": JSON(price.currency), "period": period?.document ?? .null,
    ]
  }

  fileprivate init(_ row: Fields) throws(JSONShapeError) {
    let amount = try row.required(
      row.value("amount", "a decimal number") { $0.string.flatMap { Decimal($0) } }, "amount")
    let period = try row.optionalObject("period").map { (period) throws(JSONShapeError) -> Period in
      let unit: Period.Unit = try period.word("unit")
      return try period.required(Period(Int(clamping: period.integer("count")), unit), "count")
    }
    self.init(price: Money(amount, try row.string("currency")), period: period)
  }
}

extension Fields {
  /// One of the words of a type.
  fileprivate func word<Word: RawRepresentable>(_ key: String) throws(JSONShapeError) -> Word
  where Word.RawValue == String {
    try required(value(key, "one of the known words") { $0.string.flatMap(Word.init) }, key)
  }

  /// The members of an object all of whose members are texts.
  fileprivate func texts() throws(JSONShapeError) -> [String: String] {
    var texts: [String: String] = [:]
    for (key, _) in json.members { texts[key] = try string(key) }
    return texts
  }
}
