import KassaCore
import KassaJSON

/// What the documents of a host are made of. Every limit is far above what any store gives; it is there so that a
/// mistake of the host ends in an error with its place, not in memory.
enum HostLimits {
  static let identifierBytes = 256
  static let textBytes = 16_384
  static let signedBytes = 65_536
  static let elements = 10_000
  static let quantity: ClosedRange<Int64> = 1...1_000_000
  static let count: ClosedRange<Int64> = 1...10_000
  /// From 1970 to the end of the year 9999.
  static let times: ClosedRange<Int64> = 0...253_402_300_799_999
}

extension Fields {
  /// Refuses members that nobody reads. A null reads as absent, of those too: a host may write every key of a record.
  func refuseUnknown(but known: [String]) throws(JSONShapeError) {
    do throws(JSONShapeError) { try allowOnly(known) } catch {
      try Fields(.object(json.members.filter { !$0.1.isNull }), path: path).allowOnly(known)
    }
  }

  /// Text of a length that is possible.
  func optionalText(_ key: String, atMost limit: Int = HostLimits.textBytes) throws(JSONShapeError) -> String? {
    guard let text = try optionalString(key) else { return nil }
    guard text.utf8.count <= limit else {
      throw JSONShapeError(
        path: place(of: key), problem: "must have at most \(limit) bytes (got \(text.utf8.count))")
    }
    return text
  }

  func text(_ key: String, atMost limit: Int = HostLimits.textBytes) throws(JSONShapeError) -> String {
    try required(optionalText(key, atMost: limit), key)
  }

  /// Text that names something: not empty, without control characters.
  /// What proves a purchase is secret: it stands in no message.
  func optionalName(
    _ key: String, atMost limit: Int = HostLimits.identifierBytes, isSecret: Bool = false
  ) throws(JSONShapeError) -> String? {
    guard let name = try optionalText(key, atMost: limit) else { return nil }
    guard !name.isEmpty, name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
      throw JSONShapeError(
        path: place(of: key),
        problem: "must be text without control characters" + (isSecret ? "" : " (got \"\(name.quoted)\")"))
    }
    return name
  }

  func name(
    _ key: String, atMost limit: Int = HostLimits.identifierBytes, isSecret: Bool = false
  ) throws(JSONShapeError) -> String {
    try required(optionalName(key, atMost: limit, isSecret: isSecret), key)
  }

  func optionalNumber(_ key: String, in range: ClosedRange<Int64>) throws(JSONShapeError) -> Int64? {
    guard let number = try optionalInteger(key) else { return nil }
    guard range.contains(number) else {
      throw JSONShapeError(
        path: place(of: key), problem: "must be \(range.lowerBound) to \(range.upperBound) (got \(number))")
    }
    return number
  }

  /// Milliseconds since 1970.
  func optionalTime(_ key: String) throws(JSONShapeError) -> Int64? { try optionalNumber(key, in: HostLimits.times) }

  /// One of the words of a closed list.
  func optionalWord<Word: RawRepresentable & CaseIterable>(
    _ key: String, _ type: Word.Type = Word.self
  ) throws(JSONShapeError) -> Word? where Word.RawValue == String {
    guard let text = try optionalString(key) else { return nil }
    guard let word = Word(rawValue: text) else {
      let list = Word.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
      throw JSONShapeError(path: place(of: key), problem: "must be one of \(list) (got \"\(text.quoted)\")")
    }
    return word
  }

  func word<Word: RawRepresentable & CaseIterable>(
    _ key: String, _ type: Word.Type = Word.self
  ) throws(JSONShapeError) -> Word where Word.RawValue == String {
    try required(optionalWord(key), key)
  }

  /// The objects of an array that must be there.
  func list(_ key: String) throws(JSONShapeError) -> [Fields] {
    let count = try array(key).count
    guard count <= HostLimits.elements else {
      throw JSONShapeError(
        path: place(of: key), problem: "must have at most \(HostLimits.elements) elements (got \(count))")
    }
    return try objects(key)
  }

  /// `{"country_code":"US","currency":"USD"}`; nil where the store does not know.
  func storefront(_ key: String) throws(JSONShapeError) -> Storefront? {
    guard json[key] != nil else { throw JSONShapeError(path: place(of: key), problem: "is missing") }
    guard let fields = try optionalObject(key) else { return nil }
    try fields.refuseUnknown(but: ["country_code", "currency"])
    let code = try fields.name("country_code"), currency = try fields.optionalCurrency("currency")
    guard let storefront = Storefront(country: code, currency: currency) else {
      throw JSONShapeError(
        path: fields.place(of: "country_code"),
        problem: "must be a country of ISO 3166-1 such as \"US\" or \"USA\" (got \"\(code.quoted)\")")
    }
    return storefront
  }

  func optionalCurrency(_ key: String) throws(JSONShapeError) -> String? {
    guard let code = try optionalString(key) else { return nil }
    guard code.utf8.count == 3, code.utf8.allSatisfy(\.isASCIILetter) else {
      throw JSONShapeError(
        path: place(of: key), problem: "must be three letters such as \"USD\" (got \"\(code.quoted)\")")
    }
    return code.uppercased()
  }
}
