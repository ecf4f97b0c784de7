import KassaCore
import KassaJSON
import KassaPlatform

/// How the service writes amounts.
enum MoneyDocument {
  /// Whop's Money: exact text, and with how many digits to show it. They differ where a currency's minor unit is charged
  /// but not written.
  static func money(_ money: Money) -> JSON {
    let digits = Currency.minorUnits(money.currency) ?? 2
    return [
      "amount": JSON(money.amount.text(minimumFractionDigits: digits)), "currency": JSON(money.currency.lowercased()),
      "decimals": JSON(digits), "display_decimals": JSON(money.currency == "COP" ? 0 : digits),
    ]
  }

  /// The prices of plans are plain JSON numbers in the main unit.
  static func number(_ amount: Decimal) -> JSON { JSON(Double(amount.text) ?? 0) }

  /// The amount for people, in English as the service writes it.
  static func text(_ money: Money) -> String {
    PriceText.format(money.amount, currency: money.currency, locale: "en-US")
  }

  /// The price of a plan with its interval: `$9.99 / month`.
  static func text(_ plan: PlanRecord) -> String {
    guard let period = plan.billingPeriod else {
      return plan.initialPrice == .zero ? "Free" : text(Money(plan.initialPrice, plan.currency))
    }
    return "\(text(Money(plan.renewalPrice, plan.currency))) / \(interval(days: period))"
  }

  static func interval(days: Int64) -> String {
    switch days {
    case 1: "day"
    case 7: "week"
    case 30: "month"
    case 90: "3 months"
    case 180: "6 months"
    case 365: "year"
    default: "\(days) days"
    }
  }
}
