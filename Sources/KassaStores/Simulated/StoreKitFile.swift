import KassaCore
import KassaJSON
import KassaPlatform

/// Reads Xcode's `.storekit` files: what a simulated store sells, and how it behaves. `docs/storekit.md` is its manual.
///
/// Apple does not document the format. What is read here was learnt from published files of the versions 1.0 to 6.3, and
/// from the documentation of StoreKit Test, whose `SKTestSession` has the same switches.
package enum StoreKitFile {
  /// The largest file that is read; the largest known ones have some ten thousand bytes.
  static let maximumBytes = 4 << 20
  static let maximumProducts = 10_000

  /// - Parameters:
  ///   - storefront: Two or three letters; takes the place of the file's own. Prices are in its currency.
  ///   - locale: Takes the place of the file's own: in which language names are, and how prices are written.
  ///
  /// A file that is not understood is refused whole, with the place in it.
  package static func read(
    _ bytes: [UInt8], storefront: String? = nil, locale: String? = nil
  ) throws(JSONShapeError) -> StoreCatalogue {
    let document = try parse(bytes)
    var reader = try StoreKitFileReader(document, storefront: storefront, locale: locale)
    return try reader.catalogue()
  }

  private static func parse(_ bytes: [UInt8]) throws(JSONShapeError) -> JSON {
    guard bytes.count <= maximumBytes else {
      throw JSONShapeError(
        path: "", problem: "has \(bytes.count) bytes; a .storekit file has at most \(maximumBytes)")
    }
    do throws(JSONSyntaxError) {
      return try JSON.parse(bytes)
    } catch {
      // Xcode knows other files of this ending, and some people's are empty.
      let start = String(decoding: bytes.prefix(256), as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
      guard !start.isEmpty else {
        throw JSONShapeError(path: "", problem: "is empty: a .storekit file is a JSON object")
      }
      let problem =
        if start.hasPrefix("<") || start.hasPrefix("bplist") {
          "is a property list, not JSON: save the StoreKit configuration with Xcode 12 or newer"
        } else {
          "is not valid JSON: \(error.message)"
        }
      throw JSONShapeError(
        path: error.line > 0 ? "line \(error.line), column \(error.column)" : "", problem: problem)
    }
  }
}

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

/// Whether a text in it is not empty; the locales of empty texts do not count.
private func hasText(_ json: JSON) -> Bool {
  if let text = json.string { return !text.isEmpty }
  return json.elements.contains(where: hasText) || json.members.contains { $0.0 != "locale" && hasText($0.1) }
}

// MARK: - Reading values

extension Fields {
  /// Reads text into a value, and shows the text where it is none.
  func parsed<Value>(
    _ key: String, _ expected: String, _ read: (String) -> Value?
  ) throws(JSONShapeError) -> Value? {
    guard let text = try optionalString(key) else { return nil }
    guard let value = read(text) else {
      throw JSONShapeError(path: place(of: key), problem: "must be \(expected) (got \(quoted(text)))")
    }
    return value
  }

  /// A word, whatever its case and punctuation: `NonConsumable`, `non_consumable`.
  func word<Value>(_ key: String, _ words: [(String, Value)]) throws(JSONShapeError) -> Value? {
    let names = words.map { quoted($0.0) }.joined(separator: ", ")
    return try parsed(key, "one of \(names)") { text in
      let word = letters(text)
      return words.first { letters($0.0) == word }?.1
    }
  }

  /// The name of the key of several spellings that is there; the first one if none is.
  func spelling(_ keys: String...) -> String { keys.first(where: has) ?? keys.first ?? "" }

  /// A whole number of a range.
  func count(_ key: String, _ range: ClosedRange<Int64>) throws(JSONShapeError) -> Int? {
    guard let number = try optionalInteger(key) else { return nil }
    guard range.contains(number) else {
      throw JSONShapeError(
        path: place(of: key),
        problem: "must be a whole number from \(range.lowerBound) to \(range.upperBound) (got \(number))")
    }
    return Int(number)
  }

  func period(_ key: String) throws(JSONShapeError) -> Period? {
    guard let period = try parsed(key, "a period such as \"P1M\"", { Period(iso8601: $0) }) else { return nil }
    let most =
      switch period.unit {
      case .day: 36_500
      case .week: 5_200
      case .month: 1_200
      case .year: 100
      }
    guard period.count <= most else {
      throw JSONShapeError(
        path: place(of: key), problem: "must be at most 100 years (got \(period.count) \(period.unit)s)")
    }
    return period
  }

  /// An amount without a currency: text as Xcode writes it, or a number. An empty text is nothing.
  func amount(_ key: String) throws(JSONShapeError) -> Decimal? {
    guard let json = json[key], !json.isNull else { return nil }
    let expected = "must be a price such as \"4.99\""
    guard let text = json.string ?? json.decimalText else {
      throw JSONShapeError(path: place(of: key), problem: "\(expected) (got \(json.kind))")
    }
    guard let amount = text.isEmpty ? .zero : Decimal(text), !amount.isNegative, amount < Decimal(1_000_000_000_000),
      amount.fractionDigits <= 6
    else { throw JSONShapeError(path: place(of: key), problem: "\(expected) (got \(quoted(text)))") }
    return amount
  }
}

/// Text of a file in an error message, which must not become as long as the file.
func quoted(_ text: String) -> String {
  let start = text.unicodeScalars.prefix(60).map { $0.properties.generalCategory == .control ? "?" : String($0) }
  return "\"\(start.joined())\(text.unicodeScalars.count > 60 ? "…" : "")\""
}

/// The letters and digits of a word, in lower case.
private func letters(_ text: String) -> String { text.lowercased().filter { $0.isLetter || $0.isNumber } }
