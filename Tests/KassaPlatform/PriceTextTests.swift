import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

private typealias Decimal = KassaCore.Decimal

private func path(_ relative: String) -> String {
  URL(filePath: #filePath).deletingLastPathComponent().appending(path: relative).standardized.path
}

/// In `../shared`, beside the repository.
private let sharedPrices = path("../../../shared/data/currency/formatted-prices.json")

private func decimal(_ text: String) throws -> Decimal { try #require(Decimal(text)) }

private func price(_ amount: String, _ currency: String, _ locale: String, digits: Int? = nil) throws -> String {
  PriceText.format(try decimal(amount), currency: currency, locale: locale, fractionDigits: digits)
}

/// What Babel made of one amount in every currency and locale.
private struct Fixture {
  struct Locale: Sendable, CustomTestStringConvertible {
    let name: String
    let fingerprint: String
    let euros: String
    let negativeDollars: String
    var testDescription: String { name }
  }

  static let shared = try? Fixture()

  let amount: Decimal
  let negativeAmount: Decimal
  let currencies: [String]
  let locales: [Locale]

  private init() throws {
    let lines = try String(contentsOfFile: path("Fixtures/price_text.tsv"), encoding: .utf8)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: "\t").map(String.init) }
    func value(_ name: String) throws -> String { try #require(lines.first { $0[0] == name })[1] }
    amount = try decimal(value("amount"))
    negativeAmount = try decimal(value("negative amount"))
    currencies = try value("currencies").split(separator: " ").map(String.init)
    locales = lines.filter { $0.count == 4 }.map {
      Locale(name: $0[0], fingerprint: $0[1], euros: $0[2], negativeDollars: $0[3])
    }
  }
}

@Suite struct PriceTextTests {
  @Test("The fixture has every currency and locale") func fixtureIsWhole() throws {
    let fixture = try #require(Fixture.shared)
    #expect(fixture.currencies.count == 294)
    #expect(fixture.locales.count > 1100)
  }

  @Test("Every currency is written as Babel writes it", arguments: Fixture.shared?.locales ?? [])
  private func everyCurrency(in locale: Fixture.Locale) throws {
    let fixture = try #require(Fixture.shared)
    func text(_ amount: Decimal, _ currency: String) -> String {
      PriceText.format(amount, currency: currency, locale: locale.name)
    }
    #expect(text(fixture.amount, "EUR") == locale.euros)
    #expect(text(fixture.negativeAmount, "USD") == locale.negativeDollars)
    #expect(fingerprint(fixture.currencies.map { text(fixture.amount, $0) }) == locale.fingerprint)
  }

  /// The 64-bit FNV-1a hash of the texts, each followed by a line feed.
  private func fingerprint(_ texts: [String]) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for text in texts {
      for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      hash = (hash ^ 10) &* 0x100_0000_01B3
    }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  @Test(
    "The published prices have the published text, to the code point",
    .enabled(if: FileManager.default.fileExists(atPath: sharedPrices), "../shared/data is absent"))
  func publishedPrices() throws {
    let prices = try JSON.parse(String(contentsOfFile: sharedPrices, encoding: .utf8))["prices"]?.elements ?? []
    #expect(prices.count >= 60)
    for published in prices {
      let fields = try Fields(published)
      let locale = try fields.string("locale")
      let text = try price(fields.string("amount"), fields.string("currency"), locale)
      #expect(try Array(text.unicodeScalars) == Array(fields.string("formatted").unicodeScalars), "\(locale)")
    }
  }

  @Test("S045 symbols, signs and groups stand where the locale has them")
  func orderAndMarks() throws {
    #expect(try price("1234.5", "CZK", "cs-CZ") == "1\u{A0}234,50\u{A0}Kč")
    #expect(try price("9.99", "SAR", "ar-SA").unicodeScalars.first == "\u{200F}")
    #expect(try price("1234567.89", "INR", "en-IN") == "₹12,34,567.89")
    #expect(try price("1234567.89", "CHF", "de-CH") == "CHF\u{A0}1'234'567.89")
    #expect(try price("-9.99", "USD", "en-US") == "-$9.99")
  }

  @Test(
    "S046 a code that nobody defined follows the whole amount, without a dollar sign",
    arguments: ["eth", "btc", "usdt", "ape", "whop_usd", "xau", "XXX", "", "$"])
  func unknownCodes(_ code: String) throws {
    #expect(try price("12.5", code, "en-US") == "12.5 \(code.uppercased())")
    #expect(try price("1234.123456789", code, "de-DE") == "1.234,123456789 \(code.uppercased())")
    #expect(try price("-12.5", code, "en-US") == "-12.5 \(code.uppercased())")
    #expect(try price("12.5", code, "en-US", digits: 2) == "12.50 \(code.uppercased())")
  }

  @Test("S047 a storefront's prices have its own currency's symbol and digits")
  func storefronts() throws {
    #expect(try price("9.99", "GBP", "en-GB") == "£9.99")
    #expect(try price("1000", "JPY", "ja-JP") == "￥1,000")
    #expect(try price("1.5", "KWD", "ar-KW") == "\u{200F}1.500\u{A0}د.ك.\u{200F}")
    #expect(try price("9.99", "USD", "en-GB") == "US$9.99")
  }

  @Test("S041 every price from 0.00 to 999.99 keeps its last cent")
  func everyCent() {
    for cents in stride(from: 0, to: 100_000, by: 7) {
      let text = PriceText.format(Decimal(micros: Int64(cents) * 10_000), currency: "USD", locale: "en-US")
      #expect(text == String(format: "$%d.%02d", cents / 100, cents % 100))
    }
  }

  @Test("Rounding goes to the nearest shown digit, a half away from zero, and never to minus zero")
  func rounding() throws {
    #expect(try price("0.055", "USD", "en-US") == "$0.06")
    #expect(try price("0.125", "USD", "en-US") == "$0.13")
    #expect(try price("-0.125", "USD", "en-US") == "-$0.13")
    #expect(try price("-0.001", "USD", "en-US") == "$0.00")
    #expect(try price("9.99", "JPY", "en-US") == "¥10")
    #expect(try price("999.995", "USD", "en-US") == "$1,000.00")
  }

  @Test("The caller's digits replace CLDR's, whatever they are")
  func givenDigits() throws {
    #expect(try price("12000.5", "COP", "es-CO") == "$12.001")
    #expect(try price("12000.5", "COP", "es-CO", digits: 2) == "$12.000,50")
    #expect(try price("9.99", "USD", "en-US", digits: 0) == "$10")
    #expect(try price("9.99", "USD", "en-US", digits: -3) == "$10")
    #expect(try price("9.99", "USD", "en-US", digits: .max) == "$9.990000000000000000")
  }

  @Test(
    "Names of locales in every spelling find their row",
    arguments: [
      ("de-DE", "9,99\u{A0}€"), ("de_DE", "9,99\u{A0}€"), ("de_DE.UTF-8", "9,99\u{A0}€"), ("de_DE@euro", "9,99\u{A0}€"),
      ("DE-de", "9,99\u{A0}€"), ("de-XX", "9,99\u{A0}€"), ("de-Latn-DE", "9,99\u{A0}€"), ("de-DE-1996", "9,99\u{A0}€"),
      ("de-u-nu-latn", "9,99\u{A0}€"), ("C", "€9.99"), ("POSIX", "€9.99"), ("", "€9.99"), ("tlh-QQ", "€9.99"),
      ("-", "€9.99"), ("🙂", "€9.99"), ("de-AT", "€\u{A0}9,99"), ("en-US-u-rg-dezzzz", "€9.99"),
    ])
  func localeNames(_ name: String, _ expected: String) throws {
    #expect(try price("9.99", "EUR", name) == expected)
  }

  @Test("A region tells the script, and a script outweighs the region")
  func scripts() throws {
    #expect(try price("9.99", "TWD", "zh-TW") == "$9.99")
    #expect(try price("9.99", "TWD", "zh-Hant-TW") == "$9.99")
    #expect(try price("9.99", "TWD", "zh-Hant-US") == "$9.99")
    #expect(try price("9.99", "TWD", "zh-Hans-TW") == "NT$9.99")
    #expect(try price("9.99", "ILS", "iw-IL") == price("9.99", "ILS", "he-IL"))
  }

  @Test("A code may come in lower case") func lowerCase() throws {
    #expect(try price("9.99", "usd", "en-US") == "$9.99")
  }
}
