import Foundation
import KassaCore
import KassaJSON
import Testing

/// In `../shared`, beside the repository.
private let sharedCurrencies = URL(filePath: #filePath).deletingLastPathComponent()
  .appending(path: "../../../shared/data/currency/iso4217.json").standardized.path

@Suite struct CurrencyTests {
  @Test(
    "The minor units are those of ISO 4217",
    .enabled(if: FileManager.default.fileExists(atPath: sharedCurrencies), "../shared/data is absent"))
  func published() throws {
    let currencies = try JSON.parse(String(contentsOfFile: sharedCurrencies, encoding: .utf8))["currencies"]?.elements
    let published = try #require(currencies)
    #expect(published.count == 178)
    for currency in published {
      let code = try #require(currency["code"]?.string)
      #expect(Currency.minorUnits(code).map(Int64.init) == currency["minor_units"]?.integer, "\(code)")
    }
  }

  @Test(
    "S046 codes that are not of ISO 4217 have no minor unit",
    arguments: ["ETH", "BTC", "USDT", "APE", "WHOP_USD", ""])
  func unknown(_ code: String) {
    #expect(Currency.minorUnits(code) == nil)
  }
}
