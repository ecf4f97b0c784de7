import KassaCore
import KassaJSON

extension StoreKitFileReader {
  /// Xcode's names of the calls that can be made to fail.
  private static let calls: [(String, StoreSettings.FailingCall)] = [
    ("Load Products", .loadProducts), ("Purchase", .purchase), ("Verification", .verification),
    ("App Store Sync", .sync), ("Subscription Status", .subscriptionStatus), ("App Transaction", .appTransaction),
    ("Manage Subscriptions Sheet", .manageSubscriptions), ("Refund Request Sheet", .refundRequest),
    ("Offer Code Redeem Sheet", .offerCodeRedemption),
  ]

  /// `settings`. The switches of `SKTestSession` are all false there unless set, and so are these.
  ///
  /// Two keys are read by what Xcode's menu and `SKTestSession` have beside the others: `_billingIssuesEnabled` makes
  /// purchases fail until an issue is resolved (`interruptedPurchasesEnabled`), `_renewalBillingIssuesEnabled` renewals
  /// (`billingRetryOnRenewalEnabled`).
  mutating func readSettings() throws(JSONShapeError) -> StoreSettings {
    guard let fields = try file.optionalObject("settings") else { return StoreSettings(locale: locale.name) }
    note(fields, StoreKitFileKeys.settings)
    let billingIssues = try fields.optionalBool("_billingIssuesEnabled") ?? false
    let interrupted = try fields.optionalBool("_interruptedPurchasesEnabled") ?? false
    return StoreSettings(
      timeRate: try timeRate(fields),
      failures: try failures(fields),
      failsTransactions: try failsTransactions(fields),
      asksToBuy: try fields.optionalBool("_askToBuyEnabled") ?? false,
      hasBillingGracePeriod: try fields.optionalBool("_billingGracePeriodEnabled") ?? false,
      hasBillingIssues: try fields.optionalBool("_renewalBillingIssuesEnabled") ?? false,
      interruptsPurchases: billingIssues || interrupted,
      disablesDialogs: try fields.optionalBool("_disableDialogs") ?? false,
      isPaymentDisabled: try fields.optionalBool("_storeKitPaymentDisabledByParentalControls") ?? false,
      locale: locale.name)
  }

  private mutating func timeRate(_ fields: Fields) throws(JSONShapeError) -> StoreTimeRate {
    guard let number = try fields.optionalInteger("_timeRate") else { return .realTime }
    guard let rate = StoreTimeRate(fileValue: number) else {
      note(fields.place(of: "_timeRate"))
      return .realTime
    }
    return rate
  }

  /// The switch of Xcode 12 to 14, and the number of the error, of which 0 is "unknown".
  private mutating func failsTransactions(_ fields: Fields) throws(JSONShapeError) -> Bool {
    let fails = try fields.optionalBool("_failTransactionsEnabled") ?? false
    if let error = try fields.optionalInteger("_storeKitError"), error != 0, fails {
      note(fields.place(of: "_storeKitError"))
    }
    return fails
  }

  /// The switches of Xcode 15 and later. Which error a number stands for is not documented: the call fails, with the
  /// kind and number as its text.
  private mutating func failures(
    _ fields: Fields
  ) throws(JSONShapeError) -> [StoreSettings.FailingCall: String] {
    var failures: [StoreSettings.FailingCall: String] = [:]
    for fields in try fields.objects("_storeKitErrors") {
      note(fields, StoreKitFileKeys.failure)
      let name = try fields.string("name")
      let isEnabled = try fields.optionalBool("enabled") ?? false
      var error = "unknown"
      if let current = try fields.optionalObject("current") {
        error = try "\(current.string("type").prefix(60)) \(current.integer("index"))"
      }
      guard isEnabled else { continue }
      guard let call = Self.calls.first(where: { $0.0 == name })?.1 else {
        note(fields.path)
        continue
      }
      failures[call] = error
    }
    return failures
  }
}
