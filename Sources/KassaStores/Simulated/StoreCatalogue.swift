import KassaCore

/// What a simulated store sells in one storefront, and how it behaves: an Xcode `.storekit` file, read.
package struct StoreCatalogue: Sendable, Equatable {
  var products: [StoreProduct] = []
  var settings = StoreSettings()
  var storefront: Storefront?
  /// What a code offer asks of the customer: by product, then by the offer's id.
  var codeTerms: [String: [String: StoreCodeTerms]] = [:]
  /// Keys of the file that the simulation does not honour, as paths; each is reported once.
  var unsupported: [String] = []
}

/// Who may redeem an offer code, and together with what.
struct StoreCodeTerms: Sendable, Equatable {
  /// How a customer stands to the subscription group.
  enum Customer: String, Sendable, CaseIterable { case new, existing, expired }

  var customers: Set<Customer>
  /// Whether a new customer gets the introductory offer too.
  var isStackable: Bool
}

/// The switches of a `.storekit` file, with the values that Xcode takes where one is absent.
struct StoreSettings: Sendable, Equatable {
  /// What is made to fail, with which error.
  enum FailingCall: String, Sendable, CaseIterable {
    case loadProducts, purchase, verification, sync, refundRequest, subscriptionStatus, appTransaction,
      manageSubscriptions, offerCodeRedemption
  }

  /// How long a renewal period is, by the machine's time.
  var timeRate = StoreTimeRate.realTime
  /// Each with the error's kind and number in the file, for messages: `purchase 1`.
  var failures: [FailingCall: String] = [:]
  var failsTransactions = false
  var asksToBuy = false
  var hasBillingGracePeriod = false
  /// Renewals fail, and the store tries again for a while.
  var hasBillingIssues = false
  /// A purchase fails at first, and goes through once its issue is resolved.
  var interruptsPurchases = false
  var disablesDialogs = false
  var isPaymentDisabled = false
  var locale: String?
}

/// How fast a simulated store renews subscriptions.
enum StoreTimeRate: Sendable, Equatable {
  /// A month is a month.
  case realTime
  /// Every period, however long, takes so many milliseconds.
  case everyRenewal(milliseconds: Int64)
  /// Time passes so many times as fast.
  case times(Int64)
  /// A month takes so long, and other periods what Apple's tables say.
  case monthly(StoreMonthlyRate)
}
