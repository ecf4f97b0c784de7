import KassaCore

/// How long periods are in a simulated store.
struct RenewalCalendar: Sendable, Equatable {
  var rate = StoreTimeRate.realTime

  /// When `count` periods end that begin at `start`; nil when no calendar has that day, so that nothing renews.
  ///
  /// - Parameter anchor: the first day of the series, on whose day of the month renewals fall.
  func end(of period: Period, times count: Int = 1, from start: Int64, anchor: Int64) -> Int64? {
    switch rate {
    case .realTime:
      return Timestamp.adding(period, times: count, to: start, anchoredAt: anchor)
    case .everyRenewal(let milliseconds):
      let (length, overflow) = max(1, milliseconds).multipliedReportingOverflow(by: Int64(count))
      return overflow ? nil : Self.valid(start.adding(length))
    case .times(let factor):
      guard let end = Timestamp.adding(period, times: count, to: start, anchoredAt: start) else { return nil }
      return Self.valid(start.adding(max(1, (end - start) / max(1, factor))))
    }
  }

  /// As long as `milliseconds` of real time: shorter by as much as a period is.
  func scaled(_ milliseconds: Int64, like period: Period, from start: Int64) -> Int64 {
    guard let real = Timestamp.adding(period, to: start, anchoredAt: start),
      let simulated = end(of: period, from: start, anchor: start), real > start
    else { return milliseconds }
    // Both spans are shorter than the calendar, so the product of two of them fits 128 bits.
    let scaled = Int128(milliseconds) * Int128(simulated - start) / Int128(real - start)
    return max(1, Int64(clamping: scaled))
  }

  private static func valid(_ moment: Int64) -> Int64? { Timestamp.range.contains(moment) ? moment : nil }
}

/// Apple's numbers for a renewal that could not be charged.
enum BillingTerms {
  /// "The App Store attempts to renew the subscription for up to 60 days" (StoreKit, *Handling subscriptions billing*).
  static let retry = 60 * Constants.millisecondsPerDay
  /// App Store Connect help, *Enable billing grace period*: 16 days, for weekly subscriptions 6 days.
  static let grace = 16 * Constants.millisecondsPerDay
  static let weeklyGrace = 6 * Constants.millisecondsPerDay

  static func grace(for period: Period) -> Int64 {
    switch (period.unit, period.count) {
    case (.day, ..<7), (.week, 1): weeklyGrace
    default: grace
    }
  }
}
