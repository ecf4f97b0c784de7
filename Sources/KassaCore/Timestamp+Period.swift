/// Periods added to moments by the calendar, in UTC.
extension Timestamp {
  /// The moment `count` periods after `start`.
  ///
  /// Months and years end on the day of the month, and at the time of day, that `anchor` has, or on the last day of a
  /// month that is shorter: monthly from 31 January come 28 February, 31 March, 30 April. Days and weeks have 24 hours
  /// and 7 days. Nil beyond the year 9999, and for a count below 0.
  public static func adding(
    _ period: Period, times count: Int = 1, to start: Int64, anchoredAt anchor: Int64
  ) -> Int64? {
    guard count >= 0, range.contains(start), range.contains(anchor) else { return nil }
    let (units, overflow) = Int64(period.count).multipliedReportingOverflow(by: Int64(count))
    guard !overflow, units <= mostUnits else { return nil }
    let end: Int64
    switch period.unit {
    case .day: end = start + units * millisecondsPerDay
    case .week: end = start + units * 7 * millisecondsPerDay
    case .month: end = adding(months: units, to: start, anchoredAt: anchor)
    case .year: end = adding(months: units * 12, to: start, anchoredAt: anchor)
    }
    return range.contains(end) ? end : nil
  }

  /// More days than the years 1 to 9999 have; no sum below can overflow with so many units of any kind.
  private static let mostUnits: Int64 = 4_000_000

  private static func adding(months: Int64, to start: Int64, anchoredAt anchor: Int64) -> Int64 {
    let (anchorDay, timeOfDay) = floorDivision(anchor, by: millisecondsPerDay)
    let date = self.date(ofDay: floorDivision(start, by: millisecondsPerDay).quotient)
    let (year, month) = floorDivision(date.year * 12 + date.month - 1 + months, by: 12)
    let day = min(self.date(ofDay: anchorDay).day, length(ofMonth: month + 1, year))
    return dayNumber(year, month + 1, day) * millisecondsPerDay + timeOfDay
  }
}
