import KassaCore
import KassaJSON

/// One thing that happened, as the event log has it.
struct LedgerEvent: Sendable, Equatable {
  enum Kind: String, Sendable, CaseIterable {
    case purchased, renewed, recovered, shared
    case offerRedeemed = "offer_redeemed"
    case upgraded
    case changeScheduled = "change_scheduled"
    case renewalTurnedOff = "renewal_turned_off"
    case renewalTurnedOn = "renewal_turned_on"
    case billingFailed = "billing_failed"
    case graceEnded = "grace_ended"
    case expired
    case refunded
    case familyRevoked = "family_revoked"
    case finished
    case pending, declined
    case priceIncreased = "price_increased"
    case priceIncreaseAgreed = "price_increase_agreed"
    case changed
    case message
    case cleared
  }

  let at: Int64
  let kind: Kind
  /// The transaction that was made or changed.
  var transactionID: String?
  var productID: String?
  /// More, in order.
  var details: [Detail] = []

  struct Detail: Sendable, Equatable {
    let key: String
    let value: JSON
    init(_ key: String, _ value: JSON) {
      self.key = key
      self.value = value
    }
  }

  /// Whether the account has another transaction now, or one that says something else: what a listener hears.
  var changesTransaction: Bool {
    switch kind {
    case .purchased, .renewed, .recovered, .shared, .upgraded, .refunded, .familyRevoked: true
    default: false
    }
  }

  var document: JSON {
    var members: [(String, JSON)] = [("at", JSON(Timestamp.iso8601(at))), ("event", JSON(kind.rawValue))]
    if let transactionID { members.append(("transaction_id", JSON(transactionID))) }
    if let productID { members.append(("product_id", JSON(productID))) }
    return .object(members + details.map { ($0.key, $0.value) })
  }
}

/// Why the store does not do something: a word to switch on, and a sentence.
struct StoreRefusal: Error, Sendable, Equatable {
  enum Reason: String, Sendable, CaseIterable {
    case unknownProduct = "product_unavailable"
    case unknownOffer = "invalid_offer"
    case ineligible = "ineligible_for_offer"
    case invalidQuantity = "invalid_quantity"
    case unknownTransaction = "unknown_transaction"
    case nothingThere = "nothing_there"
  }
  let reason: Reason
  let message: String
  init(_ reason: Reason, _ message: String) {
    self.reason = reason
    self.message = message
  }
}
