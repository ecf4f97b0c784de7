import KassaJSON

/// What can be bought (WhopCheckout, `CheckoutPlan`).
public struct Plan: Sendable, Equatable {
  public var id: String
  public var productID: String?
  public var title: String?
  public var summary: String?
  public var type: PlanType
  public var billingPeriodDays: Int?
  public var trialPeriodDays: Int?
  /// As the service sends it, such as `usd`.
  public var currency: String
  public var initialPrice: Decimal
  public var renewalPrice: Decimal
  /// Digits that the service shows, where it says so; they may differ from the currency's own.
  public var displayDigits: Int?
  public var visibility: String
  public var isAvailable: Bool
  /// The store's own text for the price of the mapped product.
  public var storeDisplayPrice: String?
  /// The service lists it for this client. One that it does not can be bought by its id.
  public var isListed = true

  public init(
    id: String, productID: String?, title: String?, summary: String?, type: PlanType, billingPeriodDays: Int?,
    trialPeriodDays: Int?, currency: String, initialPrice: Decimal, renewalPrice: Decimal, displayDigits: Int?,
    visibility: String, isAvailable: Bool, storeDisplayPrice: String? = nil
  ) {
    self.id = id
    self.productID = productID
    self.title = title
    self.summary = summary
    self.type = type
    self.billingPeriodDays = billingPeriodDays
    self.trialPeriodDays = trialPeriodDays
    self.currency = currency
    self.initialPrice = initialPrice
    self.renewalPrice = renewalPrice
    self.displayDigits = displayDigits
    self.visibility = visibility
    self.isAvailable = isAvailable
    self.storeDisplayPrice = storeDisplayPrice
  }

  public var renewalPeriod: RenewalPeriod? { billingPeriodDays.map(RenewalPeriod.init(days:)) }

  /// What the plan costs in the long run: the renewal price of a renewing plan, else the initial price.
  public var displayPrice: Decimal { type == .renewal ? renewalPrice : initialPrice }

  /// What is charged at the purchase (Whop API, Variant: of a renewing plan the initial price comes on top of the first
  /// renewal, which a trial puts off). Nil if the numbers do not fit.
  public var priceDue: Money? {
    let hasFirstRenewal = type == .renewal && (trialPeriodDays ?? 0) == 0
    return (hasFirstRenewal ? initialPrice.adding(renewalPrice) : initialPrice).map { Money($0, currency) }
  }
}

public enum PlanType: String, Sendable {
  case oneTime = "one_time"
  case renewal
  case unknown
}

/// How often a plan renews, in the words of WhopCheckout's `RenewalPeriod`.
public struct RenewalPeriod: Sendable, Equatable {
  public let days: Int
  public init(days: Int) { self.days = days }

  public var kind: String { named?.kind ?? "custom" }
  public var description: String { named?.description ?? (days == 1 ? "Every day" : "Every \(days) days") }

  private var named: (kind: String, description: String)? {
    switch days {
    case 7: ("weekly", "Weekly")
    case 30: ("monthly", "Monthly")
    case 90: ("quarterly", "Quarterly")
    case 180: ("semi_annual", "Semi-annual")
    case 365: ("yearly", "Yearly")
    default: nil
    }
  }

  public var document: JSON { ["kind": JSON(kind), "days": JSON(days), "description": JSON(description)] }
}

extension Plan {
  /// The document of `docs/documents.md`; `text` formats an amount for people.
  public func document(text: (Decimal, _ currency: String, _ digits: Int?) -> String) -> JSON {
    func money(_ amount: Decimal) -> JSON {
      Money(amount, currency).document(formatted: text(amount, currency, displayDigits))
    }
    return [
      "id": JSON(id),
      "product_id": JSON(productID),
      "title": JSON(title),
      "description": JSON(summary),
      "plan_type": JSON(type.rawValue),
      "billing_period_days": JSON(billingPeriodDays),
      "renewal_period": renewalPeriod?.document ?? .null,
      "trial_period_days": JSON(trialPeriodDays),
      "base_currency": JSON(currency),
      "initial_price": JSON(number: initialPrice),
      "renewal_price": JSON(number: renewalPrice),
      "initial_price_money": money(initialPrice),
      "renewal_price_money": money(renewalPrice),
      "whop_display_price": JSON(text(displayPrice, currency, displayDigits)),
      "apple_display_price": JSON(storeDisplayPrice),
      "visibility": JSON(visibility),
      "available": JSON(isAvailable),
    ]
  }
}

extension JSON {
  /// The number nearest to an exact one: for the two prices that WhopCheckout declares as `Double`.
  fileprivate init(number: Decimal) { self.init(Double(number.text) ?? 0) }
}
