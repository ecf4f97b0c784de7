import Foundation
import UIKit

// What the adapter of docs/store.md uses of StoreKit 2, as of iOS 17, so that it can be type-checked where there is
// none. The signatures and their isolation are those of Apple's documentation; there is nothing behind them.

public enum StoreKitError: Error {
  case unknown, userCancelled, notAvailableInStorefront, notEntitled
  case networkError(URLError)
  case systemError(any Error)
}

public enum VerificationResult<SignedType: Sendable>: Sendable {
  case unverified(SignedType, VerificationError)
  case verified(SignedType)
  public enum VerificationError: Error { case invalidSignature }

  public var unsafePayloadValue: SignedType {
    switch self {
    case .unverified(let value, _), .verified(let value): value
    }
  }
}

extension VerificationResult<Transaction> { public var jwsRepresentation: String { "" } }
extension VerificationResult<AppTransaction> { public var jwsRepresentation: String { "" } }

public struct AppTransaction: Sendable {
  public static var shared: VerificationResult<AppTransaction> { get async throws { throw StoreKitError.unknown } }
}

public struct Nothing<Element: Sendable>: AsyncSequence, Sendable {
  public struct AsyncIterator: AsyncIteratorProtocol { public mutating func next() async -> Element? { nil } }
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}

public struct Transaction: Sendable {
  public typealias Transactions = Nothing<VerificationResult<Transaction>>
  public enum RefundRequestStatus: Sendable { case success, userCancelled }

  public static var updates: Transactions { Transactions() }
  public static var unfinished: Transactions { Transactions() }
  public static var all: Transactions { Transactions() }
  public static var currentEntitlements: Transactions { Transactions() }

  public var id: UInt64 { 0 }
  public func finish() async {}

  @MainActor public static func beginRefundRequest(
    for transactionID: UInt64, in scene: UIWindowScene
  ) async throws -> RefundRequestStatus { .success }
}

public struct Storefront: Sendable {
  public var countryCode: String { "" }
  public static var current: Storefront? { get async { nil } }
  public static var updates: Nothing<Storefront> { Nothing() }
}

public struct Product: Sendable {
  public struct ProductType: Equatable, Sendable {
    public static let consumable = Self(), nonConsumable = Self(), nonRenewable = Self(), autoRenewable = Self()
  }

  public enum PurchaseError: Error { case productUnavailable, purchaseNotAllowed, invalidQuantity, ineligibleForOffer }

  public enum PurchaseResult: Sendable {
    case success(VerificationResult<Transaction>)
    case userCancelled, pending
  }

  public struct PurchaseOption: Hashable, Sendable {
    public static func quantity(_ quantity: Int) -> PurchaseOption { PurchaseOption() }
    public static func appAccountToken(_ token: UUID) -> PurchaseOption { PurchaseOption() }
    public static func simulatesAskToBuyInSandbox(_ simulate: Bool) -> PurchaseOption { PurchaseOption() }
    public static func promotionalOffer(
      offerID: String, keyID: String, nonce: UUID, signature: Data, timestamp: Int
    ) -> PurchaseOption { PurchaseOption() }
  }

  public struct SubscriptionPeriod: Sendable {
    public enum Unit: Sendable { case day, week, month, year }
    public var unit: Unit { .day }
    public var value: Int { 1 }
  }

  public struct SubscriptionOffer: Sendable {
    public struct PaymentMode: Equatable, Sendable {
      public static let payAsYouGo = Self(), payUpFront = Self(), freeTrial = Self()
    }
    public var id: String? { nil }
    public var price: Decimal { 0 }
    public var displayPrice: String { "" }
    public var period: SubscriptionPeriod { SubscriptionPeriod() }
    public var periodCount: Int { 1 }
    public var paymentMode: PaymentMode { .freeTrial }
  }

  public struct SubscriptionInfo: Sendable {
    public struct RenewalState: Equatable, Sendable {
      public static let subscribed = Self(), expired = Self(), inBillingRetryPeriod = Self(), inGracePeriod = Self()
      public static let revoked = Self()
    }
    public struct RenewalInfo: Sendable {
      public var willAutoRenew: Bool { false }
      public var autoRenewPreference: String? { nil }
      public var gracePeriodExpirationDate: Date? { nil }
    }
    public struct Status: Sendable {
      public let state: RenewalState
      public let transaction: VerificationResult<Transaction>
      public let renewalInfo: VerificationResult<RenewalInfo>
    }
    public var introductoryOffer: SubscriptionOffer? { nil }
    public var promotionalOffers: [SubscriptionOffer] { [] }
    public var subscriptionGroupID: String { "" }
    public var groupDisplayName: String { "" }
    public var groupLevel: Int { 1 }
    public var subscriptionPeriod: SubscriptionPeriod { SubscriptionPeriod() }
    public var isEligibleForIntroOffer: Bool { get async { false } }
    public static func status(for groupID: String) async throws -> [Status] { [] }
  }

  public struct CurrencyFormat { public var currencyCode: String { "" } }

  public var id: String { "" }
  public var type: ProductType { .consumable }
  public var displayName: String { "" }
  public var description: String { "" }
  public var price: Decimal { 0 }
  public var displayPrice: String { "" }
  /// `Decimal.FormatStyle.Currency` in StoreKit.
  public var priceFormatStyle: CurrencyFormat { CurrencyFormat() }
  public var isFamilyShareable: Bool { false }
  public var subscription: SubscriptionInfo? { nil }

  public static func products<Identifiers: Collection<String>>(for identifiers: Identifiers) async throws -> [Product] {
    []
  }

  @MainActor public func purchase(
    confirmIn scene: some UIScene, options: Set<PurchaseOption> = []
  ) async throws -> PurchaseResult { .pending }
}

public struct PurchaseIntent: Sendable {
  public let product: Product
  public static var intents: Nothing<PurchaseIntent> { Nothing() }
}

public struct Message: Sendable {
  public struct Reason: Hashable, Sendable {
    public static let generic = Self(), priceIncreaseConsent = Self(), billingIssue = Self()
  }
  public var reason: Reason { .generic }
  public static var messages: Nothing<Message> { Nothing() }
  @MainActor public func display(in scene: UIWindowScene) throws {}
}

public enum AppStore {
  public static var canMakePayments: Bool { true }
  public static func sync() async throws {}
  @MainActor public static func showManageSubscriptions(in scene: UIWindowScene) async throws {}
  @MainActor public static func showManageSubscriptions(
    in scene: UIWindowScene, subscriptionGroupID: String
  ) async throws {}
  @MainActor public static func presentOfferCodeRedeemSheet(in scene: UIWindowScene) async throws {}
}
