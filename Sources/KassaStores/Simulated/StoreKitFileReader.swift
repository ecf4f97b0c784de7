import KassaCore
import KassaJSON

/// One reading of one file.
struct StoreKitFileReader {
  let file: Fields
  let storefront: Storefront
  let currency: String
  let locale: StoreKitFileLocale
  var products: [StoreProduct] = []
  var codeTerms: [String: [String: StoreCodeTerms]] = [:]
  /// Where each product id was found.
  private var places: [String: String] = [:]
  private var unsupported: [String] = []
  /// Whether more keys are unsupported than are named.
  private var hasMoreUnsupported = false

  init(_ document: JSON, storefront: String?, locale: String?) throws(JSONShapeError) {
    file = try Fields(document)
    let settings = try file.optionalObject("settings")
    // The defaults are those of SKTestSession: USA and en_US.
    let ownCountry = try settings?.optionalString("_storefront")
    let ownLocale = try settings?.optionalString("_locale")
    let country = storefront ?? ownCountry ?? "USA"
    guard let known = Storefront(country: country), let currency = Territory.currency(known.country) else {
      let place = storefront == nil ? "settings._storefront" : "the given storefront"
      throw JSONShapeError(path: place, problem: "must be a country such as \"USA\" (got \(quoted(country)))")
    }
    self.storefront = known
    self.currency = currency
    self.locale = StoreKitFileLocale(locale ?? ownLocale ?? "en_US")
  }

  mutating func catalogue() throws(JSONShapeError) -> StoreCatalogue {
    guard StoreKitFileKeys.lists.contains(where: { file.json[$0] != nil }) else {
      throw JSONShapeError(
        path: "", problem: "is no .storekit file: it has none of \(StoreKitFileKeys.lists.joined(separator: ", "))")
    }
    note(file, StoreKitFileKeys.file)
    try readVersion()
    let settings = try readSettings()
    try readProducts()
    try readSubscriptions()
    if let policies = file.json["appPolicies"], hasText(policies) { note("appPolicies") }
    var catalogue = StoreCatalogue(
      products: products, settings: settings, storefront: storefront, codeTerms: codeTerms, unsupported: unsupported)
    if hasMoreUnsupported { catalogue.unsupported.append("and more") }
    return catalogue
  }

  private mutating func readVersion() throws(JSONShapeError) {
    guard let version = try file.optionalObject("version") else { return }
    let major = try version.integer("major")
    _ = try version.optionalInteger("minor")
    // Later ones are read as far as they are the same.
    if major > 6 { note("version") }
  }

  /// Takes a product in, unless its id is taken.
  mutating func add(_ product: StoreProduct, at place: Fields) throws(JSONShapeError) {
    if let earlier = places.updateValue(place.path, forKey: product.id) {
      throw JSONShapeError(
        path: place.path, problem: "has the product id \(quoted(product.id)), which \(earlier) has already")
    }
    guard products.count < StoreKitFile.maximumProducts else {
      throw JSONShapeError(
        path: place.path, problem: "is one too many: at most \(StoreKitFile.maximumProducts) products")
    }
    products.append(product)
  }
}

// MARK: - What is not honoured

extension StoreKitFileReader {
  /// The most keys that are named.
  private static let mostNamed = 100

  /// Notes the members of an object that nobody reads. What is empty asks for nothing.
  mutating func note(_ fields: Fields, _ known: Set<String>) {
    for (key, value) in fields.json.members where !known.contains(key) {
      let isEmpty = value.isNull || (value.isArray || value.isObject) && value.elements.isEmpty && value.members.isEmpty
      if !isEmpty { note(fields.place(of: key)) }
    }
  }

  /// Notes a key, once for all elements of a list: `products[2].size` is `products[].size`.
  mutating func note(_ place: String) {
    guard !hasMoreUnsupported else { return }
    let path = withoutIndices(place)
    guard !unsupported.contains(path) else { return }
    guard unsupported.count < Self.mostNamed else {
      hasMoreUnsupported = true
      return
    }
    unsupported.append(path)
  }

  private func withoutIndices(_ place: String) -> String {
    var path = ""
    var isIndex = false
    for character in place.prefix(200) {
      if character == "]" { isIndex = false }
      if !isIndex { path.append(character) }
      if character == "[" { isIndex = true }
    }
    return path
  }
}

/// Whether a text in it is not empty, at the depth where policies are; the locales of empty texts do not count.
private func hasText(_ json: JSON, depth: Int = 4) -> Bool {
  guard depth > 0 else { return true }
  if let text = json.string { return !text.isEmpty }
  return json.elements.contains { hasText($0, depth: depth - 1) }
    || json.members.contains { $0.0 != "locale" && hasText($0.1, depth: depth - 1) }
}
