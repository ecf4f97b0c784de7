import Foundation
import KassaCore
import KassaJSON
import Testing

private typealias Decimal = KassaCore.Decimal

@Suite struct PeriodTests {
  @Test(
    "S049 compound periods sum",
    arguments: [
      ("P12W6D", 90, Period.Unit.day), ("P52W1D", 365, .day), ("P1Y6M", 18, .month), ("P1W", 1, .week),
      ("P7D", 1, .week), ("P14D", 2, .week), ("P1W7D", 2, .week), ("P30D", 30, .day), ("P3D", 3, .day),
      ("P1M", 1, .month), ("P12M", 12, .month), ("P1Y", 1, .year), ("P2Y0M", 2, .year), ("P0Y1M0D", 1, .month),
      ("P03M", 3, .month),
    ])
  func compound(_ text: String, _ count: Int, _ unit: Period.Unit) throws {
    let period = try #require(Period(iso8601: text))
    #expect(period.count == count)
    #expect(period.unit == unit)
  }

  @Test(
    "S050 S051 malformed periods are refused",
    arguments: [
      "P", "PT1H", "P1X", "P-1D", "P1.5M", "", "365", "P0D", "P1", "p1m", "-P1M", "P1M1M", "P1D1W", "P1MT1H", " P1M",
      "P1M ", "P1M15D", "P1Y1W", "P٣M", "P1D\u{0}", "P99999999999999999999D", "P9223372036854775807W",
      "P9223372036854775807Y1M", "P9223372036854775807W9223372036854775807D",
    ])
  func malformed(_ text: String) {
    #expect(Period(iso8601: text) == nil)
  }

  @Test("Days that make whole weeks are weeks, and a period lasts at least one unit") func weeks() {
    #expect(Period(7, .day) == Period(1, .week))
    #expect(Period(14, .day) == Period(2, .week))
    #expect(Period(8, .day)?.unit == .day)
    #expect(Period(7, .month)?.unit == .month)
    #expect(Period(0, .day) == nil)
    #expect(Period(-7, .day) == nil)
    #expect(Period(.min, .year) == nil)
    #expect(Period(1, .month)?.document == ["unit": "month", "count": 1])
  }

  @Test("S042 prices per unit of 1,000 prices and periods") func unitPrices() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/unit_prices.tsv").path
    let rows = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(rows.count == 1000)
    for row in rows {
      let fields = row.split(separator: "\t").map(String.init)
      let price = Money(try #require(Decimal(fields[0])), fields[1])
      let count = try #require(Int(fields[2]))
      let unit = try #require(Period.Unit(rawValue: fields[3]))
      let period = try #require(Period(count, unit))
      for (wanted, expected) in zip([Period.Unit.day, .week, .month, .year], fields[4...]) {
        #expect(period.price(per: wanted, of: price)?.amountText == expected, "\(row)")
      }
    }
  }

  @Test("S042 83.99 a year is 7.00 a month") func yearly() throws {
    let price = try Money(#require(Decimal("83.99")), "USD")
    #expect(Period(1, .year)?.price(per: .month, of: price)?.amountText == "7.00")
  }

  @Test("A price per unit that does not fit is nil; without a minor unit it has eight decimals") func limits() throws {
    let huge = Money(Decimal(.max), "USD")
    #expect(Period(1, .day)?.price(per: .year, of: huge) == nil)
    #expect(Period(.max, .week)?.price(per: .day, of: huge) == nil)
    #expect(Period(.max, .year)?.price(per: .year, of: huge)?.amountText == "1.00")
    let coins = try Money(#require(Decimal("0.05")), "ETH")
    #expect(Period(1, .year)?.price(per: .month, of: coins)?.amountText == "0.00416667")
  }
}
