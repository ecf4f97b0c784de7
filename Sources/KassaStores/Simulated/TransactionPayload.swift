import KassaCore
import KassaJSON

/// The documents that a simulated App Store signs, in Apple's form.
struct TransactionPayload: Sendable, Equatable {
  /// What signed data says of where it comes from.
  enum Environment: String, Sendable, CaseIterable {
    case sandbox = "Sandbox"
    case xcode = "Xcode"
  }
  var bundleID: String
  var environment = Environment.sandbox

  /// A `JWSTransactionDecodedPayload` (App Store Server API 1.19).
  func document(_ transaction: LedgerTransaction, of ledger: StoreLedger, signedAt: Int64) -> JSON {
    var members: [(String, JSON)] = [
      ("transactionId", JSON(transaction.id)), ("originalTransactionId", JSON(transaction.originalID)),
      ("bundleId", JSON(bundleID)), ("productId", JSON(transaction.productID)),
      ("purchaseDate", JSON(transaction.purchasedAt)),
      ("originalPurchaseDate", JSON(transaction.originallyPurchasedAt)), ("quantity", JSON(transaction.quantity)),
      ("type", JSON(transaction.kind.appleWord)),
      ("inAppOwnershipType", JSON(transaction.ownership == .purchased ? "PURCHASED" : "FAMILY_SHARED")),
      ("signedDate", JSON(signedAt)), ("environment", JSON(environment.rawValue)),
      ("transactionReason", JSON(transaction.isRenewal ? "RENEWAL" : "PURCHASE")),
      ("currency", JSON(transaction.price.currency)), ("appTransactionId", JSON(ledger.appTransactionID)),
    ]
    func add(_ key: String, _ value: JSON?) { if let value { members.append((key, value)) } }
    add("webOrderLineItemId", transaction.webOrderLineItemID.map { JSON($0) })
    add("subscriptionGroupIdentifier", transaction.groupID.map { JSON($0) })
    add("expiresDate", transaction.expiresAt.map { JSON($0) })
    add("price", transaction.price.thousandths.map { JSON($0) })
    add("storefront", transaction.storefront.flatMap { Territory.alpha3($0.country) }.map { JSON($0) })
    add("storefrontId", transaction.storefront.flatMap { StorefrontNumber.of($0.country) }.map { JSON($0) })
    add("appAccountToken", transaction.appAccountToken.map { JSON($0) })
    if transaction.kind == .subscription { add("isUpgraded", JSON(transaction.isUpgraded)) }
    if let offer = transaction.offer {
      add("offerType", JSON(offer.kind.appleNumber))
      add("offerIdentifier", offer.id.map { JSON($0) })
      add("offerDiscountType", JSON(offer.paymentMode.appleWord))
      add("offerPeriod", JSON(offer.period))
    }
    if let revocation = transaction.revocation {
      add("revocationDate", JSON(revocation.at))
      add("revocationReason", JSON(revocation.isAppIssue ? 1 : 0))
      add("revocationType", JSON(revocation.kind.rawValue))
      add("revocationPercentage", JSON(revocation.percentage))
    }
    return .object(members)
  }

  /// A `JWSRenewalInfoDecodedPayload`.
  func document(_ subscription: LedgerSubscription, of ledger: StoreLedger, in shop: StoreShop, signedAt: Int64) -> JSON
  {
    var members: [(String, JSON)] = [
      ("originalTransactionId", JSON(subscription.originalID)), ("productId", JSON(subscription.productID)),
      ("autoRenewProductId", JSON(subscription.renewalProductID)),
      ("autoRenewStatus", JSON(subscription.willRenew ? 1 : 0)), ("environment", JSON(environment.rawValue)),
      ("signedDate", JSON(signedAt)), ("recentSubscriptionStartDate", JSON(subscription.startedAt)),
      ("renewalDate", JSON(subscription.periodEnd)), ("appTransactionId", JSON(ledger.appTransactionID)),
      ("isInBillingRetryPeriod", JSON(subscription.isRetrying)),
    ]
    if case .expired(let reason) = subscription.state { members.append(("expirationIntent", JSON(reason.rawValue))) }
    if case .grace(let end, _) = subscription.state { members.append(("gracePeriodExpiresDate", JSON(end))) }
    if let consent = subscription.priceIncrease?.consent {
      members.append(("priceIncreaseStatus", JSON(consent.rawValue)))
    }
    if let token = subscription.appAccountToken { members.append(("appAccountToken", JSON(token))) }
    if let product = shop[subscription.renewalProductID] {
      let offer = ledger.nextOffer(of: subscription)
      let price = offer?.offer.price.money ?? ledger.price(of: product)
      members.append(("currency", JSON(price.currency)))
      if let thousandths = price.thousandths { members.append(("renewalPrice", JSON(thousandths))) }
      if let offer = offer?.offer {
        members.append(("offerType", JSON(offer.kind.appleNumber)))
        if let id = offer.id { members.append(("offerIdentifier", JSON(id))) }
        members.append(("offerDiscountType", JSON(offer.paymentMode.appleWord)))
        members.append(("offerPeriod", JSON(offer.applied.period)))
      }
    }
    let winBack = shop[subscription.productID]?.subscription?.offers.filter { offer in
      offer.kind == .winBack && ledger.mayHave(offer, inGroup: subscription.groupID) == true
    }
    if let ids = winBack?.compactMap(\.id), !ids.isEmpty {
      members.append(("eligibleWinBackOfferIds", .array(ids.map { JSON($0) })))
    }
    return .object(members)
  }

  /// An `AppTransaction`: that the app itself was got from the store.
  func appTransaction(of ledger: StoreLedger, signedAt: Int64) -> JSON {
    [
      "receiptType": JSON(environment.rawValue), "bundleId": JSON(bundleID), "applicationVersion": "1",
      "originalApplicationVersion": "1", "receiptCreationDate": JSON(signedAt),
      "originalPurchaseDate": JSON(ledger.createdAt), "appTransactionId": JSON(ledger.appTransactionID),
      "originalPlatform": "iOS",
    ]
  }
}

extension Money {
  /// In thousandths of the currency, as Apple's documents give prices.
  fileprivate var thousandths: Int64? { amount.micros.map { $0 / 1_000 } }
}

extension StoreProduct.Kind {
  fileprivate var appleWord: String {
    switch self {
    case .consumable: "Consumable"
    case .nonConsumable: "Non-Consumable"
    case .nonRenewingSubscription: "Non-Renewing Subscription"
    case .subscription: "Auto-Renewable Subscription"
    }
  }
}

extension StoreOffer.Kind {
  fileprivate var appleNumber: Int64 {
    switch self {
    case .introductory: 1
    case .promotional: 2
    case .code: 3
    case .winBack: 4
    }
  }
}

extension StoreOffer.PaymentMode {
  fileprivate var appleWord: String {
    switch self {
    case .freeTrial: "FREE_TRIAL"
    case .payAsYouGo: "PAY_AS_YOU_GO"
    case .payUpFront: "PAY_UP_FRONT"
    }
  }
}

/// Apple's numbers of its storefronts (App Store Server API, `storefrontId`), for the larger ones.
private enum StorefrontNumber {
  static func of(_ country: String) -> String? { byCountry[country] }

  private static let byCountry: [String: String] = Dictionary(
    uniqueKeysWithValues: [
      "US", "FR", "DE", "GB", "AT", "BE", "FI", "GR", "IE", "IT", "LU", "NL", "PT", "ES", "CA", "SE", "NO", "DK",
      "CH", "AU", "NZ", "JP", "HK", "SG", "CN", "KR", "IN", "MX", "RU", "TW", "VN", "ZA", "MY", "PH", "TH", "ID",
      "PK", "PL", "SA", "TR", "AE",
    ].enumerated().map { ($1, String(143_441 + $0)) })
}
