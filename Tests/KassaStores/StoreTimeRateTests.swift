import KassaCore
import Testing

@testable import KassaStores

@Suite struct StoreTimeRateTests {
  private let second: Int64 = 1000
  private let minute: Int64 = 60_000
  private let hour: Int64 = 3_600_000
  private let day: Int64 = 86_400_000

  private func rate(_ number: Int64) throws -> StoreTimeRate { try #require(StoreTimeRate(fileValue: number)) }
  private func period(_ text: String) throws -> Period { try #require(Period(iso8601: text)) }

  @Test("The numbers are those of SKTestTimeRate, and no others")
  func numbers() throws {
    let known = (-10...2000).filter { StoreTimeRate(fileValue: $0) != nil }
    #expect(known == Array(0...6) + [10, 11, 12, 13, 15] + Array(1000...1005))
    #expect(try rate(0) == .realTime)
    #expect(try (1...6).map(rate) == [24, 48, 288, 1440, 2880, 86_400].map { .times($0) })
    #expect(
      try (1000...1005).map(rate) == [900, 300, 60, 30, 10, 2].map { .everyRenewal(milliseconds: $0 * second) })
  }

  @Test(
    "Months, and what goes with them, are those of Apple's tables",
    arguments: [
      (Int64(10), [900, 3600, 7200, 10_800, 21_600, 43_200], [771, 1800, 7200]),
      (11, [600, 1800, 3600, 5400, 10_800, 21_600], [514, 900, 3600]),
      (12, [300, 900, 1800, 2700, 5400, 10_800], [257, 450, 1800]),
      (13, [180, 300, 600, 900, 1800, 3600], [154, 150, 600]),
      (15, [10, 30, 60, 90, 180, 360], [9, 15, 60]),
    ] as [(Int64, [Int64], [Int64])])
  func monthly(_ number: Int64, _ seconds: [Int64], _ others: [Int64]) throws {
    let rate = try rate(number)
    let lengths = try ["P1W", "P1M", "P2M", "P3M", "P6M", "P1Y"].map { rate.milliseconds(of: try period($0)) }
    #expect(lengths == seconds.map { $0 * second })
    let grace = try [rate.graceMilliseconds(for: period("P1W")), rate.graceMilliseconds(for: period("P1M"))]
    #expect(grace + [rate.retryMilliseconds] == others.map { $0 * second })
    #expect(rate.milliseconds(of: try period("P12M")) == rate.milliseconds(of: try period("P1Y")))
    #expect(rate.milliseconds(of: try period("P3D")) == seconds[0] * second * 3 / 7)
  }

  @Test("Fixed renewals take the same time, whatever the period, and twice that for retries")
  func fixed() throws {
    for text in ["P3D", "P1W", "P1M", "P1Y"] {
      #expect(try rate(1004).milliseconds(of: period(text)) == 10 * second)
      #expect(try rate(1004).graceMilliseconds(for: period(text)) == 10 * second)
    }
    #expect(try rate(1004).retryMilliseconds == 20 * second)
  }

  @Test("Real time leaves periods to the calendar, with 6 or 16 days of grace and 60 of retries")
  func realTime() throws {
    #expect(try StoreTimeRate.realTime.milliseconds(of: period("P1M")) == nil)
    #expect(try StoreTimeRate.realTime.graceMilliseconds(for: period("P1W")) == 6 * day)
    #expect(try StoreTimeRate.realTime.graceMilliseconds(for: period("P1M")) == 16 * day)
    #expect(StoreTimeRate.realTime.retryMilliseconds == 60 * day)
  }

  @Test("A second that is a day makes a month of thirty seconds")
  func faster() throws {
    #expect(try rate(6).milliseconds(of: period("P1W")) == 7 * second)
    #expect(try rate(6).milliseconds(of: period("P1M")) == 30 * second)
    #expect(try rate(6).milliseconds(of: period("P1Y")) == 365 * second)
    #expect(try rate(6).graceMilliseconds(for: period("P1M")) == 16 * second)
    #expect(try rate(6).retryMilliseconds == minute)
    #expect(try rate(1).milliseconds(of: period("P1D")) == hour)
  }

  @Test("No length overflows")
  func large() throws {
    let long = try #require(Period(.max, .year))
    for number in [0, 1, 6, 10, 15, 1000] as [Int64] { _ = try rate(number).milliseconds(of: long) }
    #expect(StoreTimeRate.times(0).retryMilliseconds == 60 * day)
    #expect(StoreTimeRate.everyRenewal(milliseconds: .max).retryMilliseconds == .max)
  }
}
