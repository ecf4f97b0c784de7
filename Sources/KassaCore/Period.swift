import KassaJSON

/// A length of time by the calendar: what a subscription is billed by, or how long a trial lasts.
///
/// Whole weeks that were given in days are weeks: 7 days is 1 week, 14 days is 2. Nothing else is converted, so 30 days
/// is no month and 12 months is no year, except by `price`.
public struct Period: Sendable, Hashable {
  public enum Unit: String, Sendable, CaseIterable {
    case day, week, month, year
  }

  public let unit: Unit
  /// At least 1.
  public let count: Int

  /// Nil for a count below 1.
  public init?(_ count: Int, _ unit: Unit) {
    guard count > 0 else { return nil }
    let isWholeWeeks = unit == .day && count % 7 == 0
    self.unit = isWholeWeeks ? .week : unit
    self.count = isWholeWeeks ? count / 7 : count
  }

  /// Reads an ISO 8601 duration of whole years, months, weeks and days, and adds them up in the largest unit that is
  /// exact: `P12W6D` is 90 days, `P52W1D` 365 days, `P1Y6M` 18 months.
  ///
  /// Nil for everything else: times of day (`PT1H`), signs, fractions, no part at all, a length of zero, and months or
  /// years together with weeks or days, whose sum depends on the date.
  public init?(iso8601 text: String) {
    var rest = Substring(text).utf8
    guard rest.skip("P"), let years = rest.takeNumber(before: "Y"), let months = rest.takeNumber(before: "M"),
      let weeks = rest.takeNumber(before: "W"), let days = rest.takeNumber(before: "D"), rest.isEmpty,
      let allMonths = sum(years, months, ratio: 12), let allDays = sum(weeks, days, ratio: 7)
    else { return nil }
    switch (allMonths, allDays) {
    case (1..., 0): self.init(months == 0 ? years : allMonths, months == 0 ? .year : .month)
    case (0, 1...): self.init(allDays, .day)
    default: return nil
    }
  }

  public var document: JSON { ["unit": JSON(unit.rawValue), "count": JSON(count)] }
}

/// Smaller units and larger ones, in smaller ones.
private func sum(_ larger: Int, _ smaller: Int, ratio: Int) -> Int? {
  let (product, productOverflow) = larger.multipliedReportingOverflow(by: ratio)
  let (sum, sumOverflow) = product.addingReportingOverflow(smaller)
  return productOverflow || sumOverflow ? nil : sum
}

extension Substring.UTF8View {
  /// Removes a number and its designator; 0 if something else comes first, nil if the number has too many digits.
  fileprivate mutating func takeNumber(before designator: Unicode.Scalar) -> Int? {
    var ahead = self
    let digits = ahead.takeDigits()
    guard !digits.isEmpty, ahead.skip(designator) else { return 0 }
    self = ahead
    return Int(Substring(digits))
  }
}

// MARK: - Prices

extension Period.Unit {
  /// How many of them a year has, where prices are compared.
  fileprivate var perYear: Int64 {
    switch self {
    case .day: 365
    case .week: 52
    case .month: 12
    case .year: 1
    }
  }
}

extension Period {
  /// What somebody who pays `price` every such period pays per day, week, month or year, if a year has 365 days, 52
  /// weeks or 12 months. Rounded once, to the minor unit of the currency, a half away from zero: 83.99 a year is 7.00 a
  /// month. Currencies without a minor unit keep 8 decimal places. Nil if the numbers do not fit.
  public func price(per unit: Unit, of price: Money) -> Money? {
    let (divisor, overflow) = Int64(count).multipliedReportingOverflow(by: unit.perYear)
    let places = Currency.minorUnits(price.currency) ?? 8
    guard !overflow,
      let amount = price.amount.multiplied(by: self.unit.perYear)?.divided(by: divisor, places: places)
    else { return nil }
    return Money(amount, price.currency)
  }
}
