/// The countries of ISO 3166-1, as storefronts name them.
public enum Territory {
  /// The two letters of a country that is given by two or three, in any case; nil for what is no country.
  public static func alpha2(_ code: String) -> String? { (byCode[code] ?? byCode[code.uppercased()])?.alpha2 }
  /// The three letters.
  public static func alpha3(_ code: String) -> String? { byCode[code.uppercased()]?.alpha3 }
  /// The currency that is used there; nil where there is none.
  public static func currency(_ code: String) -> String? { byCode[code.uppercased()]?.currency }

  private struct Row {
    var alpha2: String
    var alpha3: String
    var currency: String?
  }

  private static let byCode: [String: Row] = {
    var rows: [String: Row] = [:]
    for text in TerritoryTable.rows.split(separator: ";") {
      let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let alpha2 = words.first, let alpha3 = words.dropFirst().first else { continue }
      let row = Row(alpha2: alpha2, alpha3: alpha3, currency: words.last.flatMap { $0 == "-" ? nil : $0 })
      (rows[alpha2], rows[alpha3]) = (row, row)
    }
    return rows
  }()
}
