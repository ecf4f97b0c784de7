import KassaJSON

/// An exact amount of one currency, in its major unit: 9.99 USD, 500 JPY.
public struct Money: Sendable, Hashable {
  public let amount: Decimal
  /// In upper case: an ISO 4217 code, or a name that a service made up (`WHOP_USD`).
  public let currency: String

  public init(_ amount: Decimal, _ currency: String) {
    self.amount = amount
    self.currency = currency.uppercased()
  }

  /// An amount counted in the minor unit: 999 is 9.99 USD, 500 is 500 JPY, 1234 is 1.234 KWD. Nil for a currency whose
  /// minor unit nobody has defined.
  public init?(minorUnits: Int64, _ currency: String) {
    guard let digits = Currency.minorUnits(currency.uppercased()),
      let amount = Decimal(minorUnits, fractionDigits: digits)
    else { return nil }
    self.init(amount, currency)
  }

  /// The exact amount with at least the digits of the currency's minor unit: `5.00` USD, `0.055` USD, `500` JPY.
  public var amountText: String { amount.text(minimumFractionDigits: Currency.minorUnits(currency) ?? 0) }

  /// The money of every document. `formatted` is the text for people: a store's own, untouched, or that of `PriceText`.
  public func document(formatted: String) -> JSON {
    [
      "amount": JSON(amountText), "amount_micros": JSON(amount.micros), "currency": JSON(currency),
      "formatted": JSON(formatted),
    ]
  }
}
