import KassaJSON

/// Moments as whole milliseconds since 1970-01-01T00:00:00Z: reading the forms that services send, and writing them.
///
/// The calendar is the Gregorian one, extended to all years. No locale and no time zone of the machine plays a part.
public enum Timestamp {
  static let millisecondsPerDay: Int64 = 86_400_000

  /// Numbers from here on, either way from 0, count milliseconds, below it seconds. As seconds this is the year 5138, as
  /// milliseconds March 1973: no service sends seconds so late, or milliseconds so early.
  private static let smallestMilliseconds: Int64 = 100_000_000_000

  /// 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z: what every form can express.
  public static let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

  /// Reads a moment in any form that services use:
  ///
  /// - a whole number: seconds since 1970, or milliseconds if it is 100,000,000,000 or more. 0 is 1970-01-01, a negative
  ///   number is before it;
  /// - a string of the same digits;
  /// - a string of ISO 8601: see `milliseconds(iso8601:)`.
  ///
  /// Nil for null, other kinds of value, numbers with a fraction, and years outside 1 to 9999. Far years stand for
  /// themselves: 4001-01-01, which Xcode's receipts use for "never", is a moment like any other.
  public static func milliseconds(_ json: JSON) -> Int64? {
    if let number = json.integer { return milliseconds(epoch: number) }
    guard let text = json.string else { return nil }
    return wholeNumber(text).flatMap { milliseconds(epoch: $0) } ?? milliseconds(iso8601: text)
  }

  /// Reads a date, a time and a zone, as RFC 3339 writes them: `2026-10-20T10:00:00Z`, `2026-10-20 15:45:00.25+05:45`.
  ///
  /// Between date and time stand `T`, `t` or a space. The fraction has 1 to 9 digits; what is below a millisecond is cut
  /// off. The zone is `Z`, `z`, `+05:45`, `+0545` or `+05`, and has to be there. Second 60 is the next minute.
  public static func milliseconds(iso8601 text: String) -> Int64? {
    var rest = Substring(text).utf8
    guard let year = rest.takeNumber(digits: 4), year > 0, rest.skip("-"),
      let month = rest.takeNumber(digits: 2), rest.skip("-"),
      let day = rest.takeNumber(digits: 2), 1...12 ~= month, 1...length(ofMonth: month, year) ~= day,
      rest.skip("T") || rest.skip("t") || rest.skip(" "),
      let hour = rest.takeNumber(digits: 2), hour < 24, rest.skip(":"),
      let minute = rest.takeNumber(digits: 2), minute < 60, rest.skip(":"),
      let second = rest.takeNumber(digits: 2), second <= 60,
      let millisecond = rest.takeMilliseconds(), let zone = rest.takeZoneMinutes(), rest.isEmpty
    else { return nil }
    let time = ((hour * 60 + minute - zone) * 60 + second) * 1000 + millisecond
    let moment = dayNumber(year, month, day) * millisecondsPerDay + time
    return range.contains(moment) ? moment : nil
  }

  private static func milliseconds(epoch number: Int64) -> Int64? {
    let isSeconds = number.magnitude < smallestMilliseconds.magnitude
    let moment = isSeconds ? number * 1000 : number
    return range.contains(moment) ? moment : nil
  }

  /// Digits with or without a minus sign, and nothing else.
  private static func wholeNumber(_ text: String) -> Int64? {
    text.hasPrefix("+") ? nil : Int64(text)
  }

  /// The moment in UTC with three digits of the second: `2026-10-20T10:00:00.000Z`.
  public static func iso8601(_ milliseconds: Int64) -> String {
    let moment = Civil(milliseconds)
    let date = "\(padded(moment.year, 4))-\(padded(moment.month, 2))-\(padded(moment.day, 2))"
    return "\(date)T\(moment.time).\(padded(moment.millisecond, 3))Z"
  }

  /// The moment as HTTP writes it (RFC 9110, section 5.6.7), without its milliseconds: `Tue, 20 Oct 2026 10:00:00 GMT`.
  public static func httpDate(_ milliseconds: Int64) -> String {
    let moment = Civil(milliseconds)
    let date = "\(padded(moment.day, 2)) \(moment.monthName) \(padded(moment.year, 4))"
    return "\(moment.weekdayName), \(date) \(moment.time) GMT"
  }

  /// A moment taken apart.
  private struct Civil {
    let year: Int64
    /// 1 to 12.
    let month: Int64
    let day: Int64
    /// 0 is Thursday, the first day of 1970.
    let weekday: Int64
    let secondOfDay: Int64
    let millisecond: Int64

    init(_ milliseconds: Int64) {
      let (days, time) = floorDivision(milliseconds, by: millisecondsPerDay)
      (year, month, day) = Timestamp.date(ofDay: days)
      weekday = floorDivision(days, by: 7).remainder
      secondOfDay = time / 1000
      millisecond = time % 1000
    }

    /// `10:00:00`
    var time: String {
      "\(padded(secondOfDay / 3600, 2)):\(padded(secondOfDay / 60 % 60, 2)):\(padded(secondOfDay % 60, 2))"
    }

    var weekdayName: Substring { word(weekday, of: "ThuFriSatSunMonTueWed") }
    var monthName: Substring { word(month - 1, of: "JanFebMarAprMayJunJulAugSepOctNovDec") }

    private func word(_ index: Int64, of words: String) -> Substring { words.dropFirst(Int(index) * 3).prefix(3) }
  }

  // MARK: The calendar

  // Both directions count from 0000-03-01, so that the leap day is the last day of a year, and in eras of 400 years,
  // which all have 146,097 days. In such a year months 0 to 4 (March to July) have 153 days, and so have 5 to 9.

  private static let daysPerEra: Int64 = 146_097
  /// From 0000-03-01 to 1970-01-01.
  private static let daysBefore1970: Int64 = 719_468

  /// The days from 1970-01-01 to that date.
  static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let (monthFromMarch, marchYear) = month > 2 ? (month - 3, year) : (month + 9, year - 1)
    let (era, yearOfEra) = floorDivision(marchYear, by: 400)
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * daysPerEra + dayOfEra - daysBefore1970
  }

  /// The date that many days after 1970-01-01.
  static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = floorDivision(day + daysBefore1970, by: daysPerEra)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    )
  }

  static func length(ofMonth month: Int64, _ year: Int64) -> Int64 {
    let (nextMonth, itsYear) = month < 12 ? (month + 1, year) : (1, year + 1)
    return dayNumber(itsYear, nextMonth, 1) - dayNumber(year, month, 1)
  }
}

/// The quotient rounded down and a remainder that is never negative.
func floorDivision(_ number: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
  let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
  return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}

private func padded(_ number: Int64, _ width: Int) -> String {
  let digits = String(number.magnitude)
  return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, width - digits.count)) + digits
}

extension Substring.UTF8View {
  /// Removes exactly that many digits, of which no more may follow.
  fileprivate mutating func takeNumber(digits count: Int) -> Int64? {
    let digits = takeDigits()
    return digits.count == count ? Int64(Substring(digits)) : nil
  }

  /// Removes a fraction of a second, if there is one.
  fileprivate mutating func takeMilliseconds() -> Int64? {
    guard skip(".") else { return 0 }
    let digits = takeDigits()
    guard 1...9 ~= digits.count else { return nil }
    return Int64((String(Substring(digits)) + "00").prefix(3))
  }

  /// Removes a time zone: by how many minutes it is ahead of UTC.
  fileprivate mutating func takeZoneMinutes() -> Int64? {
    if skip("Z") || skip("z") { return 0 }
    let isAhead = skip("+")
    guard isAhead || skip("-") else { return nil }
    let digits = takeDigits()
    let hasColon = digits.count == 2 && skip(":")
    let minuteDigits = hasColon ? takeDigits() : digits.dropFirst(2)
    guard digits.count >= 2, minuteDigits.count == 2 || (minuteDigits.isEmpty && !hasColon),
      let hours = Int64(Substring(digits.prefix(2))), hours < 24,
      let minutes = minuteDigits.isEmpty ? 0 : Int64(Substring(minuteDigits)), minutes < 60
    else { return nil }
    return (isAhead ? 1 : -1) * (hours * 60 + minutes)
  }
}
