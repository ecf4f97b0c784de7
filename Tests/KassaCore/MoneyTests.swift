import KassaCore
import KassaJSON
import Testing

private func money(_ amount: String, _ currency: String) throws -> Money {
  Money(try #require(Decimal(amount)), currency)
}

@Suite struct MoneyTests {
  @Test("The document has the exact amount, as text and in micros") func document() throws {
    #expect(
      try money("9.99", "usd").document(formatted: "$9.99").text()
        == #"{"amount":"9.99","amount_micros":9990000,"currency":"USD","formatted":"$9.99"}"#)
    #expect(
      try money("0.0000001", "BTC").document(formatted: "0.0000001 BTC").text()
        == #"{"amount":"0.0000001","amount_micros":null,"currency":"BTC","formatted":"0.0000001 BTC"}"#)
  }

  @Test("S037 500 minor units of yen are 500 yen") func yen() throws {
    #expect(try Money(minorUnits: 500, "jpy") == money("500", "JPY"))
    #expect(Money(minorUnits: 500, "JPY")?.amountText == "500")
    #expect(Money(minorUnits: 999, "USD")?.amountText == "9.99")
    #expect(Money(minorUnits: 999, "WHOP_USD") == nil)
  }

  @Test("S038 dinars and rials have three decimals", arguments: ["KWD", "BHD", "JOD", "OMR", "TND"])
  func dinars(_ currency: String) throws {
    #expect(try money("1.234", currency).amountText == "1.234")
    #expect(try money("1.5", currency).amountText == "1.500")
    #expect(Money(minorUnits: 1234, currency)?.amountText == "1.234")
  }

  @Test("S041 every price from 0.00 to 999.99 keeps its last cent") func everyCent() {
    for cents in 0..<100_000 {
      let money = Money(Decimal(micros: Int64(cents) * 10_000), "USD")
      let (dollars, rest) = cents.quotientAndRemainder(dividingBy: 100)
      guard money.amountText == "\(dollars).\(rest < 10 ? "0" : "")\(rest)" else {
        Issue.record("\(cents) cents became \(money.amountText)")
        return
      }
    }
  }

  @Test("S043 parts of a cent are not rounded away") func partsOfACent() throws {
    #expect(try money("0.055", "USD").amountText == "0.055")
    #expect(try money("5", "USD").amountText == "5.00")
    #expect(try money("500.5", "JPY").amountText == "500.5")
  }

  @Test("S045 a store's own text passes through byte for byte") func storeText() throws {
    let text = "\u{200F}٩٫٩٩\u{A0}ر.س.\u{200F}"
    let formatted = try money("9.99", "SAR").document(formatted: text)["formatted"]?.string
    #expect(try Array(#require(formatted).utf8) == Array(text.utf8))
  }

  @Test("S046 an unknown currency keeps its amount", arguments: ["eth", "btc", "usdt", "ape", "whop_usd", "xau"])
  func unknownCurrency(_ currency: String) throws {
    let document = try money("12.5", currency).document(formatted: "")
    #expect(document["amount"]?.string == "12.5")
    #expect(document["currency"]?.string == currency.uppercased())
  }
}
