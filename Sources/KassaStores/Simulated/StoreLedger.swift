import KassaCore

/// What the simulated App Store knows of its one account: a value that actions and time turn into the next one.
///
/// Nothing in here reads a clock, a disk or a random number, so the same actions at the same times give the same ledger.
struct StoreLedger: Sendable, Equatable {
  /// The last moment up to which everything has happened.
  var now: Int64
  /// The number that the next transaction gets.
  var nextNumber: Int64
  /// Apple's id of the app's own download.
  let appTransactionID: String
  let createdAt: Int64
  var storefront: Storefront?
  /// The country that the configuration named when the store was last opened. The same one leaves the account where an
  /// action has moved it since; another one moves it.
  var configuredCountry: String?
  /// What an action set in place of the configured policy.
  var policy: SheetPolicy?
  /// Whether charges for renewals fail; nil as the `.storekit` file says.
  var billingFails: Bool?
  /// Whether there is a grace period then; nil as the file says.
  var hasGrace: Bool?
  /// Prices that were changed after the file was written, by product.
  var prices: [String: Money] = [:]
  /// Of each group at most one of each ownership.
  var subscriptions: [LedgerSubscription] = []
  /// The groups of which an introductory offer was used.
  var introducedGroups: Set<String> = []
  var pending: [PendingPurchase] = []
  var messages: [StoreMessage] = []
  private(set) var transactions = LedgerTransactions()

  init(
    now: Int64, firstNumber: Int64, appTransactionID: String, createdAt: Int64, storefront: Storefront? = nil
  ) {
    self.now = now
    nextNumber = firstNumber
    self.appTransactionID = appTransactionID
    self.createdAt = createdAt
    self.storefront = storefront
  }

  mutating func takeNumber() -> String {
    defer { nextNumber = nextNumber.adding(1) }
    return String(nextNumber)
  }

  mutating func put(_ transaction: LedgerTransaction) { transactions.put(transaction) }

  /// Whether all but the transactions is equal.
  func hasSameAccount(as other: StoreLedger) -> Bool {
    var own = self, other = other
    own.forgetTransactions()
    other.forgetTransactions()
    return own == other
  }

  mutating func forgetTransactions() { transactions = LedgerTransactions() }

  func subscription(_ groupID: String, _ ownership: StoreTransaction.Ownership = .purchased) -> LedgerSubscription? {
    subscriptions.first { $0.groupID == groupID && $0.ownership == ownership }
  }

  mutating func put(_ subscription: LedgerSubscription) {
    let place = subscriptions.firstIndex {
      $0.groupID == subscription.groupID && $0.ownership == subscription.ownership
    }
    if let place { subscriptions[place] = subscription } else { subscriptions.append(subscription) }
  }
}

/// Transactions in the order in which they were made.
struct LedgerTransactions: Sendable, Equatable {
  private var places: [String: Int] = [:]
  private(set) var all: [LedgerTransaction] = []

  subscript(id: String) -> LedgerTransaction? {
    places[id].flatMap { all.indices.contains($0) ? all[$0] : nil }
  }

  fileprivate mutating func put(_ transaction: LedgerTransaction) {
    if let place = places[transaction.id] {
      all[place] = transaction
    } else {
      places[transaction.id] = all.count
      all.append(transaction)
    }
  }
}

/// One charge, or a free start.
struct LedgerTransaction: Sendable, Equatable {
  let id: String
  let originalID: String
  /// For subscriptions that renew.
  let webOrderLineItemID: String?
  let productID: String
  let kind: StoreProduct.Kind
  let groupID: String?
  let purchasedAt: Int64
  let originallyPurchasedAt: Int64
  let expiresAt: Int64?
  let quantity: Int
  let ownership: StoreTransaction.Ownership
  let isRenewal: Bool
  /// For all of the quantity.
  let price: Money
  let storefront: Storefront?
  let offer: AppliedOffer?
  let appAccountToken: String?
  var isUpgraded = false
  var revocation: LedgerRevocation?
  /// Until then it comes with every scan. A change makes it unfinished again, so that no change is lost with a crash.
  var isFinished = false
}

struct LedgerRevocation: Sendable, Equatable {
  /// Apple's `revocationType` (App Store Server API 1.19).
  enum Kind: String, Sendable, CaseIterable {
    case refund = "REFUND_FULL"
    case prorated = "REFUND_PRORATED"
    case family = "FAMILY_REVOKE"
  }
  var at: Int64
  var kind: Kind
  /// Whether the user blamed the app: Apple's reason 1, else 0.
  var isAppIssue: Bool
  /// Of the price, in thousandths of a percent.
  var percentage: Int64
}

struct AppliedOffer: Sendable, Equatable {
  let kind: StoreOffer.Kind
  let id: String?
  let paymentMode: StoreOffer.PaymentMode
  /// How long it lasts in all, as `P3M`.
  let period: String
}

/// A purchase that somebody else has to decide.
struct PendingPurchase: Sendable, Equatable {
  enum Kind: String, Sendable, CaseIterable {
    /// The family's organizer approves or declines.
    case askToBuy = "ask_to_buy"
    /// The user has to do something first, such as agreeing to new terms.
    case interrupted
  }
  let id: String
  let kind: Kind
  let request: PurchaseRequest
  let since: Int64
}

/// What is bought, apart from what the store decides.
struct PurchaseRequest: Sendable, Equatable {
  var productID: String
  var quantity = 1
  var offer = StoreOrder.Offer.automatic
  /// The code that was redeemed, in place of an offer.
  var code: String?
  var appAccountToken: String?
  var ownership = StoreTransaction.Ownership.purchased
}

/// Something that the App Store wants to show.
struct StoreMessage: Sendable, Equatable {
  enum Reason: String, Sendable, CaseIterable {
    case billingIssue = "billing_issue"
    case priceIncreaseConsent = "price_increase_consent"
    case winBackOffer = "win_back_offer"
    case generic
  }
  let id: String
  let reason: Reason
  let productID: String?
}
