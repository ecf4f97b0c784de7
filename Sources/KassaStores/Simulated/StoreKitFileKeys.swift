/// Every key of a `.storekit` file that is known, by the object it stands in: those that are read, and after them those
/// that are silent, since nobody but Xcode's editor needs them. Any other key is reported as unsupported.
enum StoreKitFileKeys {
  /// Where products are. The last three are spellings of files that were written by hand.
  static let lists = [
    "products", "nonRenewingSubscriptions", "subscriptionGroups", "subscriptions", "nonConsumableIAP",
    "nonConsumableProducts",
  ]

  static let file = Set(lists).union([
    "version", "settings",
    // Reported only if a text in it is not empty: the policies that Xcode's own store views link to.
    "appPolicies",
    // Silent; the last two in files that were written by hand.
    "identifier", "displayName", "description",
  ])

  static let product: Set<String> = [
    "productID", "id", "type", "displayPrice", "price", "familyShareable", "familySharable", "localizations",
    "displayName", "description",
    // Silent
    "internalID", "identifier", "referenceName",
  ]

  static let localization: Set<String> = ["locale", "displayName", "description"]

  static let group: Set<String> = ["id", "name", "localizations", "subscriptions"]

  static let subscription = product.union([
    "recurringSubscriptionPeriod", "groupNumber", "subscriptionGroupID", "introductoryOffer", "introductoryOffers",
    "adHocOffers", "codeOffers", "winbackOffers", "billingPlans",
    // In a list without groups
    "subscriptionGroupNumber",
  ])

  static let billingPlan: Set<String> = [
    "billingPlanType", "isEnabled",
    // Silent: the plan that is paid at once costs what the subscription costs, and the other is not sold.
    "displayPrice", "commitmentDisplayPrice", "internalID",
  ]

  static let offer: Set<String> = [
    "offerID", "paymentMode", "introductoryOfferType", "displayPrice", "subscriptionPeriod", "numberOfPeriods",
    "billingPlanType", "eligibility", "isStackable", "isEligible", "referenceName",
    // Silent
    "internalID",
  ]

  static let settings: Set<String> = [
    "_storefront", "_locale", "_timeRate", "_failTransactionsEnabled", "_storeKitError", "_storeKitErrors",
    "_askToBuyEnabled", "_billingGracePeriodEnabled", "_billingIssuesEnabled", "_renewalBillingIssuesEnabled",
    "_interruptedPurchasesEnabled", "_disableDialogs", "_storeKitPaymentDisabledByParentalControls",
    // Silent: how Xcode finds the app in App Store Connect, and when it did.
    "_applicationInternalID", "_developerTeamID", "_lastSynchronizedDate", "_shouldSetupSyncOnLoad",
    // Silent: what Xcode puts in the place of _timeRate for systems that do not know the newer rates.
    "_compatibilityTimeRate",
  ]

  static let failure: Set<String> = ["name", "enabled", "current"]
}
