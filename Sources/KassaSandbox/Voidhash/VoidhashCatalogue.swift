import KassaCore
import KassaJSON

/// The Voidhash project of a sandbox's catalogue: its key `voidhash`. `docs/sandbox.md` describes the document.
struct VoidhashCatalogue {
  /// Somebody whom the project knows from the start.
  struct KnownPerson {
    var distinctIDs: [VoidhashDistinctID]
    var email: String?
    var name: String?
    var traits: JSON
    /// Perks that were given by hand.
    var perks: [String]
  }

  struct NamedThing {
    var slug: String
    var name: String
    var description: String?
  }

  var publishableKeys: [String]
  /// The stores that are connected for each bundle id.
  var stores: [String: Set<StoreTransaction.Platform>]
  var perks: [NamedThing]
  var locations: [NamedThing]
  var products: [VoidhashProduct]
  /// As `evaluate-flags` gives them.
  var flags: [JSON]
  var persons: [KnownPerson]
  var switches: VoidhashSwitches

  init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly([
      "publishable_keys", "bundle_ids", "perks", "locations", "products", "flags", "persons", "switches",
    ])
    publishableKeys = try fields.required(fields.strings("publishable_keys"), "publishable_keys")
    stores = try Self.stores(fields)
    perks = try Self.things(fields, "perks", keys: ["name"])
    locations = try Self.things(fields, "locations", keys: ["name", "description"])
    products = []
    for (slug, product) in try fields.bySlug("products") {
      products.append(try VoidhashProduct(slug: slug, product, perks: perks.map(\.slug)))
    }
    try Self.refuseRepeated(products, in: fields)
    flags = []
    for flag in try fields.objects("flags") { flags.append(try Self.flag(flag)) }
    persons = []
    var known: Set<VoidhashDistinctID> = []
    for person in try fields.objects("persons") {
      let somebody = try Self.person(person, perks: perks.map(\.slug))
      for id in somebody.distinctIDs where !known.insert(id).inserted {
        throw person.problem("distinct_ids", "has \"\(id.text)\", which was named before")
      }
      persons.append(somebody)
    }
    switches = try VoidhashSwitches(fields.optionalObject("switches"))
  }

  func product(_ slug: String) -> VoidhashProduct? { products.first { $0.slug == slug } }

  /// What a store product gives, if it is mapped.
  func product(_ store: StoreTransaction.Platform, _ storeProductID: String) -> VoidhashProduct? {
    products.first { $0.storeProductID(store) == storeProductID }
  }

  // MARK: Reading

  private static func stores(_ fields: Fields) throws(JSONShapeError) -> [String: Set<StoreTransaction.Platform>] {
    let words: [String: StoreTransaction.Platform] = ["app_store": .apple, "google_play": .google]
    guard let bundles = try fields.optionalObject("bundle_ids") else { return [:] }
    var stores: [String: Set<StoreTransaction.Platform>] = [:]
    for (bundle, _) in bundles.json.members {
      var connected: Set<StoreTransaction.Platform> = []
      for word in try bundles.strings(bundle) ?? [] {
        guard let store = words[word] else {
          throw bundles.problem(
            bundle, "must list \(words.keys.sorted().joined(separator: ", ")) only (got \"\(word)\")")
        }
        connected.insert(store)
      }
      stores[bundle] = connected
    }
    return stores
  }

  private static func things(
    _ fields: Fields, _ key: String, keys: [String]
  ) throws(JSONShapeError) -> [NamedThing] {
    var things: [NamedThing] = []
    for (slug, thing) in try fields.bySlug(key) {
      try thing.allowOnly(keys)
      things.append(
        NamedThing(
          slug: slug, name: try thing.string("name"),
          description: keys.contains("description") ? try thing.optionalString("description") : nil))
    }
    return things
  }

  private static func refuseRepeated(_ products: [VoidhashProduct], in fields: Fields) throws(JSONShapeError) {
    var ids: Set<String> = []
    for product in products {
      let names = [("id", product.id), ("providers.appleAppStore.productId", product.storeProductID(.apple))]
      for (place, name) in names {
        guard let name, !ids.insert("\(place) \(name)").inserted else { continue }
        throw JSONShapeError(
          path: "\(fields.place(of: "products")).\(product.slug).\(place)", problem: "is that of an earlier product")
      }
    }
  }

  private static func flag(_ fields: Fields) throws(JSONShapeError) -> JSON {
    try fields.allowOnly(["key", "enabled", "variantKey", "payload"])
    return [
      "key": JSON(try fields.string("key")), "enabled": JSON(try fields.bool("enabled")),
      "variantKey": JSON(try fields.optionalString("variantKey")), "payload": fields.json["payload"] ?? .null,
    ]
  }

  private static func person(_ fields: Fields, perks: [String]) throws(JSONShapeError) -> KnownPerson {
    try fields.allowOnly(["distinct_ids", "email", "name", "traits", "perks"])
    let ids = try fields.required(fields.strings("distinct_ids"), "distinct_ids")
    guard !ids.isEmpty else { throw fields.problem("distinct_ids", "must name at least one") }
    return KnownPerson(
      distinctIDs: ids.map { VoidhashDistinctID($0) }, email: try fields.optionalString("email"),
      name: try fields.optionalString("name"), traits: try fields.traits("traits") ?? [:],
      perks: try fields.perks("perks", among: perks))
  }
}

extension Fields {
  /// The members of an object whose names are slugs: lowercase letters, digits, `_` and `-`.
  func bySlug(_ key: String) throws(JSONShapeError) -> [(String, Fields)] {
    guard let object = try optionalObject(key) else { return [] }
    var things: [(String, Fields)] = []
    for (slug, thing) in object.json.members {
      let isSlug = !slug.isEmpty && slug.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789_-".utf8.contains($0) }
      guard isSlug else {
        throw object.problem(slug, "is no slug: lowercase letters, digits, _ and - only")
      }
      things.append((slug, try Fields(thing, path: object.place(of: slug))))
    }
    return things
  }

  /// Perks that the catalogue has.
  func perks(_ key: String, among known: [String]) throws(JSONShapeError) -> [String] {
    let perks = try strings(key) ?? []
    for perk in perks where !known.contains(perk) {
      throw problem(key, "has \"\(perk)\", which is no perk of this catalogue")
    }
    return perks
  }

  /// A map of the values that a person's traits may have: text, numbers, booleans and null.
  func traits(_ key: String) throws(JSONShapeError) -> JSON? {
    guard let object = try optionalObject(key) else { return nil }
    for (name, value) in object.json.members where value.isObject || value.isArray {
      throw object.problem(name, "must be a string, a number, a boolean or null (got \(value.kind))")
    }
    return object.json
  }
}
