import KassaCore

/// Prices as text for people, as Unicode CLDR writes them: `$9.99`, `9,99 €`, `￥1,000`.
///
/// Digits are the Latin ones in every locale. The text has CLDR's invisible characters in it (no-break spaces, direction
/// marks) and changes with CLDR's releases: show it, never parse it.
public enum PriceText {
  /// The price in a locale's own form.
  ///
  /// - Parameters:
  ///   - currency: A code in either case. One that CLDR does not know (`WHOP_USD`), or that has no minor unit (`XAU`),
  ///     follows the number, which keeps all its digits: `12.5 WHOP_USD`.
  ///   - locale: A BCP 47 tag or the name of a POSIX locale: `en-US`, `de_CH.UTF-8`, `zh-Hant-HK`. Of a locale that CLDR
  ///     does not know the script, the region or both are dropped; without a known language it is English. Variants and
  ///     extensions are ignored.
  ///   - fractionDigits: How many digits follow the point. Without it as many as CLDR shows for the currency, which for
  ///     some are fewer than its minor unit has: none for COP.
  ///
  /// The amount is rounded to the digits that are shown, a half away from zero.
  public static func format(
    _ amount: Decimal, currency: String, locale: String, fractionDigits: Int? = nil
  ) -> String {
    let code = currency.uppercased()
    let format = PriceFormat(locale: locale)
    guard let currencyDigits = PriceTable.shared.fractionDigits[code] else {
      return "\(format.number(amount, fractionDigits: fractionDigits)) \(code)"
    }
    return format.price(amount, code, fractionDigits: fractionDigits ?? currencyDigits)
  }
}

/// How one locale writes prices: its row of the table, completed by the rows it inherits from.
private struct PriceFormat {
  private let rows: [PriceTable.Row]

  init(locale: String) { rows = PriceTable.shared.rows(locale: locale) }

  func price(_ amount: Decimal, _ code: String, fractionDigits: Int) -> String {
    let isNegative = amount.rounded(toPlaces: fractionDigits).isNegative
    let number = unsigned(amount, fractionDigits: fractionDigits)
    return value(isNegative ? \.negative : \.positive)
      .reduce(into: "") { text, character in
        switch character {
        case "#": text += number
        case "¤": text += symbol(code)
        default: text.append(character)
        }
      }
  }

  /// A number without a currency, by default with all its digits.
  func number(_ amount: Decimal, fractionDigits: Int?) -> String {
    let digits = fractionDigits ?? amount.fractionDigits
    let sign = amount.rounded(toPlaces: digits).isNegative ? "-" : ""
    return sign + unsigned(amount, fractionDigits: digits)
  }

  private func unsigned(_ amount: Decimal, fractionDigits: Int) -> String {
    let parts = amount.rounded(toPlaces: fractionDigits).text(minimumFractionDigits: fractionDigits)
      .drop { $0 == "-" }
      .split(separator: ".")
    return grouped(parts.first ?? "0") + parts.dropFirst().map { value(\.decimal) + $0 }.joined()
  }

  /// The digits of a whole number in the locale's groups: `1,234,567`, in India `12,34,567`.
  private func grouped(_ digits: Substring) -> String {
    let sizes = value(\.grouping).compactMap(\.wholeNumberValue)
    guard let last = sizes.first, let others = sizes.last, last > 0, others > 0 else { return String(digits) }
    var rest = digits.dropLast(last)
    var groups = [digits.suffix(last)]
    while !rest.isEmpty {
      groups.append(rest.suffix(others))
      rest = rest.dropLast(others)
    }
    return groups.reversed().joined(separator: value(\.group))
  }

  private func symbol(_ code: String) -> String {
    rows.lazy.compactMap { $0.symbols[code[...]] }.first.map(String.init) ?? code
  }

  /// A field of the nearest row that has it.
  private func value(_ field: KeyPath<PriceTable.Row, Substring>) -> String {
    String(rows.lazy.map { $0[keyPath: field] }.first { !$0.isEmpty } ?? "")
  }
}

/// The generated table, taken apart when the first price is written.
private struct PriceTable: Sendable {
  /// One locale. Empty fields are those of the parent.
  final class Row: Sendable {
    let name: Substring
    let parent: Substring
    let positive: Substring
    let negative: Substring
    let decimal: Substring
    let group: Substring
    let grouping: Substring
    /// By currency.
    let symbols: [Substring: Substring]

    init?(_ line: Substring) {
      var fields = line.split(separator: "|", omittingEmptySubsequences: false)[...]
      guard let name = fields.popFirst(), let parent = fields.popFirst(), let positive = fields.popFirst(),
        let negative = fields.popFirst(), let decimal = fields.popFirst(), let group = fields.popFirst(),
        let grouping = fields.popFirst(), let symbols = fields.popFirst()
      else { return nil }
      self.name = name
      self.parent = parent
      self.positive = positive
      self.negative = negative
      self.decimal = decimal
      self.group = group
      self.grouping = grouping
      self.symbols = Dictionary(
        symbols.split(separator: ";").map { ($0.prefix(3), $0.dropFirst(3)) }
      ) { first, _ in first }
    }
  }

  static let shared = PriceTable()

  /// The known currencies, each with the number of digits that it is shown with.
  let fractionDigits: [String: Int]
  private let rowsByName: [Substring: Row]

  private init() {
    let rows = PriceTextTable.locales.split(separator: "\n").compactMap(Row.init)
    rowsByName = Dictionary(rows.map { ($0.name, $0) }) { first, _ in first }
    let currencies = PriceTextTable.currencies.split(whereSeparator: \.isWhitespace)
    fractionDigits = Dictionary(
      currencies.compactMap { entry in entry.last?.wholeNumberValue.map { (String(entry.dropLast()), $0) } }
    ) { first, _ in first }
  }

  /// The row of the nearest known locale, and all that it inherits from.
  func rows(locale: String) -> [Row] {
    guard let nearest = Self.names(locale: locale).lazy.compactMap({ rowsByName[$0[...]] }).first else { return [] }
    return Array(sequence(first: nearest) { rowsByName[$0.parent] })
  }

  /// The names to look for, from the most to the least specific.
  private static func names(locale: String) -> [String] {
    let name = locale.prefix { $0 != "." && $0 != "@" }
    // One letter starts the extensions of a BCP 47 tag.
    let tags = name.split { $0 == "-" || $0 == "_" }.prefix { (tag: Substring) in tag.count > 1 }
    let language = tags.first?.lowercased() ?? ""
    let script = tags.dropFirst().prefix(1).first { $0.count == 4 }.map { "_" + capitalized($0) } ?? ""
    let region = tags.dropFirst(script.isEmpty ? 1 : 2).first { 2...3 ~= $0.count }.map { "_" + $0.uppercased() } ?? ""
    return [language + script + region, language + script, language + region, language, "en"]
  }

  /// The first letter in upper and the others in lower case, as scripts are written.
  private static func capitalized(_ tag: Substring) -> String {
    tag.prefix(1).uppercased() + tag.dropFirst().lowercased()
  }
}
