import KassaCore

/// What a simulated store sells in one storefront, and how it behaves: an Xcode `.storekit` file, read.
struct StoreCatalogue: Sendable, Equatable {
  var products: [StoreProduct] = []
  var settings = StoreSettings()
  var storefront: Storefront?
  /// Keys of the file that the simulation does not honour, as paths; each is reported once.
  var unsupported: [String] = []
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
  var failures: [FailingCall: String] = [:]
  var failsTransactions = false
  var asksToBuy = false
  var hasBillingGracePeriod = false
  var hasBillingIssues = false
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
}
