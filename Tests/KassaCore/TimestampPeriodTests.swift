import KassaCore
import Testing

@Suite("Periods by the calendar")
struct TimestampPeriodTests {
  private func ends(_ start: String, _ iso8601: String, _ count: Int) throws -> [String] {
    let anchor = try #require(Timestamp.milliseconds(iso8601: start))
    let period = try #require(Period(iso8601: iso8601))
    var moment = anchor
    return try (0..<count).map { _ in
      moment = try #require(Timestamp.adding(period, to: moment, anchoredAt: anchor))
      return Timestamp.iso8601(moment)
    }
  }

  @Test func monthsKeepTheDayOfTheFirst() throws {
    let days = try ends("2027-01-31T22:15:00Z", "P1M", 14).map { $0.prefix(10) }
    #expect(days.prefix(4) == ["2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"])
    #expect(days.suffix(3) == ["2028-01-31", "2028-02-29", "2028-03-31"])
    #expect(try ends("2027-01-31T22:15:00.5Z", "P1M", 1) == ["2027-02-28T22:15:00.500Z"])
  }

  @Test func aLeapDayComesBack() throws {
    let days = try ends("2028-02-29T00:00:00Z", "P1Y", 4).map { $0.prefix(10) }
    #expect(days == ["2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"])
  }

  @Test func weeksAndQuarters() throws {
    #expect(try ends("2026-12-28T01:00:00Z", "P2W", 1) == ["2027-01-11T01:00:00.000Z"])
    #expect(try ends("2026-11-30T01:00:00Z", "P3M", 1) == ["2027-02-28T01:00:00.000Z"])
    #expect(try ends("1969-12-31T23:59:59.999Z", "P1D", 1) == ["1970-01-01T23:59:59.999Z"])
  }

  @Test func whatNoCalendarHasIsNil() throws {
    let year = try #require(Period(1, .year)), ages = try #require(Period(.max, .year))
    #expect(Timestamp.adding(year, times: 9_000, to: 0, anchoredAt: 0) == nil)
    #expect(Timestamp.adding(ages, to: 0, anchoredAt: 0) == nil)
    #expect(Timestamp.adding(ages, times: .max, to: 0, anchoredAt: 0) == nil)
    #expect(Timestamp.adding(year, times: -1, to: 0, anchoredAt: 0) == nil)
    #expect(Timestamp.adding(year, to: .max, anchoredAt: 0) == nil)
    #expect(Timestamp.adding(year, to: 0, anchoredAt: .min) == nil)
  }
}
