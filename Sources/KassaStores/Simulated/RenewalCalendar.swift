import KassaCore

/// When the periods of a simulated store end.
struct RenewalCalendar: Sendable, Equatable {
  var rate = StoreTimeRate.realTime

  /// When `count` periods end that begin at `start`; nil when no calendar has that day, so that nothing renews.
  ///
  /// - Parameter anchor: the first day of the series, on whose day of the month renewals fall in real time.
  func end(of period: Period, times count: Int = 1, from start: Int64, anchor: Int64) -> Int64? {
    guard let length = rate.milliseconds(of: period) else {
      return Timestamp.adding(period, times: count, to: start, anchoredAt: anchor)
    }
    let (whole, overflow) = max(1, length).multipliedReportingOverflow(by: Int64(max(1, count)))
    let end = start.adding(whole)
    return !overflow && Timestamp.range.contains(end) ? end : nil
  }
}
