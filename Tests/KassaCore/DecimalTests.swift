import KassaCore
import KassaJSON
import Testing

private func decimal(_ text: String) throws -> Decimal { try #require(Decimal(text), "\(text)") }

@Suite struct DecimalTests {
  @Test(
    "A number that was read is written without an exponent and without zeros at the end",
    arguments: [
      ("9.99", "9.99"), ("0", "0"), ("-0", "0"), ("-0.00", "0"), ("007.50", "7.5"), ("1000", "1000"), ("-5.1", "-5.1"),
      ("1e-05", "0.00001"), ("1e+16", "10000000000000000"), ("1.5E3", "1500"), ("12.5e-1", "1.25"), ("0e99", "0"),
      ("1.0000000000000000000000", "1"), ("0.000000000000000001", "0.000000000000000001"),
      ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
    ])
  func reading(_ text: String, _ expected: String) throws {
    #expect(try decimal(text).text == expected)
  }

  @Test(
    "What is no number, or none that fits, is refused",
    arguments: [
      "", " ", "-", "+5", ".5", "5.", "1,5", "1 000", " 1", "1 ", "--1", "1.2.3", "nan", "inf", "0x10", "1e", "1e+",
      "1e-+5", "e5", "٣", "$9.99", "9223372036854775808", "1e19", "1e-19", "5e-324", "1e99999999999999999999",
      "0.1234567890123456789", "1\u{0}",
    ])
  func refusing(_ text: String) {
    #expect(Decimal(text) == nil)
  }

  @Test("S039 what floating point cannot hold passes through exactly, as text and as micros")
  func roundTrips() throws {
    for text in ["39.99", "114.99", "9800", "0.3", "39.989999999999995"] {
      #expect(try decimal(text).text == text)
      #expect(try Decimal(json: JSON.parse(text)) == decimal(text))
      #expect(try Decimal(json: JSON(text)) == decimal(text))
    }
    for (text, micros) in [("39.99", 39_990_000), ("114.99", 114_990_000), ("9800", 9_800_000_000), ("-0.000001", -1)] {
      #expect(try decimal(text).micros == Int64(micros))
      #expect(try Decimal(micros: Int64(micros)) == decimal(text))
    }
    #expect(try decimal("0.1").adding(decimal("0.2")) == decimal("0.3"))
  }

  @Test("Only JSON numbers and strings are numbers") func jsonKinds() throws {
    #expect(Decimal(json: .null) == nil)
    #expect(Decimal(json: true) == nil)
    #expect(Decimal(json: []) == nil)
    #expect(Decimal(json: "9,99") == nil)
    #expect(try Decimal(json: JSON.parse("1e-5")) == decimal("0.00001"))
    #expect(try Decimal(json: JSON.parse("1e300")) == nil)
  }

  @Test("S043 micros are given only where they are exact") func micros() throws {
    #expect(try decimal("0.055").micros == 55_000)
    #expect(try decimal("0.0000001").micros == nil)
    #expect(try decimal("9223372036854.775807").micros == .max)
    #expect(try decimal("9223372036855").micros == nil)
    #expect(Decimal(Int64.max).micros == nil)
    for micros in [Int64.min, -1, 0, 1, 10, 19_990_000, .max] { #expect(Decimal(micros: micros).micros == micros) }
  }

  @Test("Zeros are added on request, digits are never taken away") func fractionDigits() throws {
    #expect(try decimal("5").text(minimumFractionDigits: 2) == "5.00")
    #expect(try decimal("-5.5").text(minimumFractionDigits: 2) == "-5.50")
    #expect(try decimal("0.055").text(minimumFractionDigits: 2) == "0.055")
    #expect(try decimal("5").text(minimumFractionDigits: -1) == "5")
    #expect(try decimal("5").text(minimumFractionDigits: .max) == "5.000000000000000000")
    #expect(Decimal(999, fractionDigits: 2)?.text == "9.99")
    #expect(Decimal(999, fractionDigits: -1) == nil)
    #expect(Decimal(999, fractionDigits: 19) == nil)
    #expect(Decimal(999, fractionDigits: .min) == nil)
  }

  @Test(
    "Rounding goes to the nearest, a half away from zero",
    arguments: [
      ("0.005", 2, "0.01"), ("-0.005", 2, "-0.01"), ("0.0049", 2, "0"), ("2.5", 0, "3"), ("-2.5", 0, "-3"),
      ("2.4999", 0, "2"), ("9.999", 2, "10"), ("1.5", 5, "1.5"), ("1.5", .min, "2"), ("1.5", .max, "1.5"),
      ("9.223372036854775807", 0, "9"), ("0.999999999999999999", 17, "1"),
    ])
  func rounding(_ text: String, _ places: Int, _ expected: String) throws {
    #expect(try decimal(text).rounded(toPlaces: places).text == expected)
  }

  @Test("Sums, products and quotients are exact or rounded once, and nil where they do not fit")
  func arithmetic() throws {
    #expect(try decimal("0.25").adding(decimal("-1")) == decimal("-0.75"))
    #expect(try decimal("9.99").multiplied(by: 12) == decimal("119.88"))
    #expect(try decimal("9.99").multiplied(by: -1) == decimal("-9.99"))
    #expect(try decimal("83.99").divided(by: 12, places: 2) == decimal("7"))
    #expect(try decimal("-1").divided(by: 8, places: 2) == decimal("-0.13"))
    #expect(try decimal("1").divided(by: -8, places: 2) == decimal("-0.13"))
    #expect(try decimal("1").divided(by: 3, places: 18)?.text == "0.333333333333333333")
    #expect(try decimal("1").divided(by: 0, places: 2) == nil)
    #expect(try decimal("1").divided(by: 1, places: -1) == nil)
    #expect(try decimal("1").divided(by: 1, places: 19) == nil)
    #expect(Decimal(.max).adding(Decimal(1)) == nil)
    #expect(Decimal(.max).adding(Decimal(-1)) == Decimal(.max - 1))
    #expect(Decimal(.max).multiplied(by: 2) == nil)
    #expect(Decimal(.min).multiplied(by: .min) == nil)
    #expect(Decimal(.min).divided(by: -1, places: 0) == nil)
    #expect(Decimal(.min).divided(by: .min, places: 18) == Decimal(1))
    #expect(try Decimal(.max).adding(decimal("0.1")) == nil)
  }

  @Test("Numbers compare by value, whatever their digits") func order() throws {
    let ascending = try ["-9223372036854775808", "-1.5", "-1.05", "0", "0.000000000000000001", "1.05", "1.5", "2"]
      .map(decimal)
    #expect(ascending.shuffled().sorted() == ascending)
    #expect(try decimal("1.50") == decimal("1.5"))
    #expect(try decimal("1.50").hashValue == decimal("1.5").hashValue)
    #expect(Decimal(.max) > Decimal(.min))
  }
}
