import KassaCore

/// The rates at which StoreKit Test counts in months, and their tables: of `SKTestSession.TimeRate`, the pages of its
/// cases `monthlyRenewalEveryHour` and so on. Values are the numbers that a `.storekit` file names them by.
enum StoreMonthlyRate: Int64, Sendable, CaseIterable {
  case hour = 10
  case thirtyMinutes, fifteenMinutes, fiveMinutes
  case thirtySeconds = 15

  fileprivate struct Table {
    var week: Int64
    var month: Int64
    /// The grace period of weekly subscriptions, and of all others.
    var weeklyGrace: Int64
    var grace: Int64
    var retry: Int64
  }

  /// In seconds.
  fileprivate var table: Table {
    switch self {
    case .hour: Table(week: 900, month: 3600, weeklyGrace: 771, grace: 1800, retry: 7200)
    case .thirtyMinutes: Table(week: 600, month: 1800, weeklyGrace: 514, grace: 900, retry: 3600)
    case .fifteenMinutes: Table(week: 300, month: 900, weeklyGrace: 257, grace: 450, retry: 1800)
    case .fiveMinutes: Table(week: 180, month: 300, weeklyGrace: 154, grace: 150, retry: 600)
    case .thirtySeconds: Table(week: 10, month: 30, weeklyGrace: 9, grace: 15, retry: 60)
    }
  }
}

extension StoreTimeRate {
  /// What `settings._timeRate` of a `.storekit` file stands for: the raw values of `SKTestTimeRate` in the header
  /// `StoreKitTest/SKTestSession.h` of Apple's SDKs. Nil for a number that it does not have.
  init?(fileValue: Int64) {
    switch fileValue {
    case 0: self = .realTime
    // An hour, thirty, five and one minutes, thirty seconds and one second are a day.
    case 1: self = .times(24)
    case 2: self = .times(48)
    case 3: self = .times(288)
    case 4: self = .times(1440)
    case 5: self = .times(2880)
    case 6: self = .times(86_400)
    case 1000: self = .everyRenewal(milliseconds: 900_000)
    case 1001: self = .everyRenewal(milliseconds: 300_000)
    case 1002: self = .everyRenewal(milliseconds: 60000)
    case 1003: self = .everyRenewal(milliseconds: 30000)
    case 1004: self = .everyRenewal(milliseconds: 10000)
    case 1005: self = .everyRenewal(milliseconds: 2000)
    default:
      guard let rate = StoreMonthlyRate(rawValue: fileValue) else { return nil }
      self = .monthly(rate)
    }
  }

  /// How many milliseconds a period takes. Nil in real time: then the calendar says, and a month has 28 to 31 days.
  ///
  /// Apple's tables have weeks and months, and a year is 12 months in them; days, which only offers have, are sevenths
  /// of a week. Where time is only faster, a month is 30 days and a year 365.
  func milliseconds(of period: Period) -> Int64? {
    let count = Int64(clamping: period.count)
    switch self {
    case .realTime: return nil
    case .everyRenewal(let each): return each
    case .times(let factor):
      let days: Int64 =
        switch period.unit {
        case .day: 1
        case .week: 7
        case .month: 30
        case .year: 365
        }
      return Self.product(count, days, 86_400_000) / max(1, factor)
    case .monthly(let rate):
      switch period.unit {
      case .day: return Self.product(count, rate.table.week, 1000) / 7
      case .week: return Self.product(count, rate.table.week, 1000)
      case .month: return Self.product(count, rate.table.month, 1000)
      case .year: return Self.product(count, rate.table.month, 12000)
      }
    }
  }

  /// How long a subscription whose renewal could not be charged stays on, if grace is given: 6 days for weekly ones, 16
  /// for all others, in real time.
  func graceMilliseconds(for period: Period) -> Int64 {
    let isWeekly = period.unit == .week && period.count == 1
    switch self {
    case .realTime: return (isWeekly ? 6 : 16) * 86_400_000
    case .everyRenewal(let each): return each
    case .times(let factor): return (isWeekly ? 6 : 16) * 86_400_000 / max(1, factor)
    case .monthly(let rate): return (isWeekly ? rate.table.weeklyGrace : rate.table.grace) * 1000
    }
  }

  /// How long the store tries to charge a renewal: 60 days in real time.
  var retryMilliseconds: Int64 {
    switch self {
    case .realTime: 60 * 86_400_000
    case .everyRenewal(let each): Self.product(each, 2, 1)
    case .times(let factor): 60 * 86_400_000 / max(1, factor)
    case .monthly(let rate): rate.table.retry * 1000
    }
  }

  /// The product, or the largest number where it does not fit.
  private static func product(_ a: Int64, _ b: Int64, _ c: Int64) -> Int64 {
    Int64(clamping: Int128(a) * Int128(b) * Int128(c))
  }
}
