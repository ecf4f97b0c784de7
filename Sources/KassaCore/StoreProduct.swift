import KassaJSON

/// A product as a store sells it to this user: names and prices are the store's own.
public struct StoreProduct: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    case consumable
    case nonConsumable = "non_consumable"
    case nonRenewingSubscription = "non_renewing_subscription"
    /// Renews by itself.
    case subscription
  }

  public var id: String
  public var kind: Kind
  public var displayName: String
  public var description: String
  public var price: StorePrice
  public var isFamilyShareable: Bool
  /// For subscriptions only.
  public var subscription: StoreSubscription?

  public init(
    id: String, kind: Kind, displayName: String, description: String, price: StorePrice,
    isFamilyShareable: Bool = false,
    subscription: StoreSubscription? = nil
  ) {
    self.id = id
    self.kind = kind
    self.displayName = displayName
    self.description = description
    self.price = price
    self.isFamilyShareable = isFamilyShareable
    self.subscription = subscription
  }
}

/// A price, and the store's own text for it, which is shown as it is.
public struct StorePrice: Sendable, Equatable {
  public var money: Money
  public var formatted: String
  public init(_ money: Money, formatted: String) {
    self.money = money
    self.formatted = formatted
  }
}

public struct StoreSubscription: Sendable, Equatable {
  /// Of the subscriptions of a group a user has one at a time.
  public var groupID: String
  public var groupName: String?
  /// The rank inside its group: 1 is the highest.
  public var level: Int
  public var period: Period
  /// Every offer, whoever may have it.
  public var offers: [StoreOffer]

  public init(groupID: String, groupName: String? = nil, level: Int, period: Period, offers: [StoreOffer] = []) {
    self.groupID = groupID
    self.groupName = groupName
    self.level = level
    self.period = period
    self.offers = offers
  }
}

/// A price for the first periods of a subscription, other than the regular one.
public struct StoreOffer: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    case introductory, promotional
    case winBack = "win_back"
    case code
  }
  public enum PaymentMode: String, Sendable, CaseIterable {
    case freeTrial = "free_trial"
    /// The price is paid for each period.
    case payAsYouGo = "pay_as_you_go"
    /// The price is paid once, for all periods together.
    case payUpFront = "pay_up_front"
  }

  /// nil for an introductory offer, of which a product has one.
  public var id: String?
  public var kind: Kind
  public var paymentMode: PaymentMode
  public var price: StorePrice
  public var period: Period
  /// How many periods it lasts.
  public var periodCount: Int
  /// Whether this user may have it now; nil where only the store decides, at the purchase.
  public var isEligible: Bool?

  public init(
    id: String?, kind: Kind, paymentMode: PaymentMode, price: StorePrice, period: Period, periodCount: Int = 1,
    isEligible: Bool? = nil
  ) {
    self.id = id
    self.kind = kind
    self.paymentMode = paymentMode
    self.price = price
    self.period = period
    self.periodCount = periodCount
    self.isEligible = isEligible
  }
}

extension StoreProduct {
  public var document: JSON {
    [
      "id": JSON(id), "type": JSON(kind.rawValue), "display_name": JSON(displayName),
      "description": JSON(description), "price": price.document, "family_shareable": JSON(isFamilyShareable),
      "subscription": subscription?.document ?? .null,
    ]
  }
}

extension StorePrice {
  public var document: JSON { money.document(formatted: formatted) }
}

extension StoreSubscription {
  public var document: JSON {
    [
      "group_id": JSON(groupID), "group_name": JSON(groupName), "level": JSON(level), "period": period.document,
      "offers": .array(offers.map(\.document)),
    ]
  }
}

extension StoreOffer {
  public var document: JSON {
    [
      "id": JSON(id), "kind": JSON(kind.rawValue), "payment_mode": JSON(paymentMode.rawValue),
      "price": price.document, "period": period.document, "period_count": JSON(periodCount),
      "eligible": JSON(isEligible),
    ]
  }
}
