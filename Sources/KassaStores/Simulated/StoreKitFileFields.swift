import KassaCore
import KassaJSON

extension Fields {
  /// Reads text into a value, and shows the text where it is none.
  func parsed<Value>(
    _ key: String, _ expected: @autoclosure () -> String, _ read: (String) -> Value?
  ) throws(JSONShapeError) -> Value? {
    guard let text = try optionalString(key) else { return nil }
    guard let value = read(text) else {
      throw JSONShapeError(path: place(of: key), problem: "must be \(expected()) (got \(quoted(text)))")
    }
    return value
  }

  /// A word, whatever its case and punctuation: `NonConsumable`, `non_consumable`.
  func word<Value>(_ key: String, _ words: [(String, Value)]) throws(JSONShapeError) -> Value? {
    try parsed(key, "one of \(words.map { quoted($0.0) }.joined(separator: ", "))") { text in
      if let exact = words.first(where: { $0.0 == text }) { return exact.1 }
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
