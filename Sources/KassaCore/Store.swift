import KassaJSON

/// What a store must be able to do: what charges the user in-app.
///
/// A store belongs to one client and is used on that client's loop only. Its calls may wait for the user, and end early
/// when the task is cancelled. What it gives has been verified, or says that it could not be.
public protocol Store: AnyObject {
  /// The products that the store sells, of those with these ids; the others are left out. Asks the store each time.
  func products(_ ids: [String]) async throws(KassaError) -> [StoreProduct]

  /// Shows the store's sheet. One at a time; that is the caller's business.
  func purchase(_ order: StoreOrder) async throws(KassaError) -> StoreOutcome

  /// Tells the store that what was bought is delivered. Doing it twice is the same as once.
  func finish(_ transaction: StoreTransaction) async throws(KassaError)

  /// Has the store look up what the user's account owns; it may ask for a sign-in. False when the user dismissed it.
  func restore() async throws(KassaError) -> Bool

  /// What was charged and is not finished.
  func unfinished() async throws(KassaError) -> [StoreDelivery]

  /// The latest transaction of each subscription and non-consumable that the user's account owns.
  func entitlements() async throws(KassaError) -> [StoreDelivery]

  /// Where the user's account buys; nil when the store does not know.
  func storefront() async throws(KassaError) -> Storefront?

  /// Sheets and questions of this store alone (`kassa_store_call`); the documents are described in docs/store.md.
  /// `storefront` and `entitlements` are asked for by the functions above.
  func call(_ method: StoreMethod, _ params: JSON) async throws(KassaError) -> JSON

  /// What happens without being asked for goes to the listener, on the loop. One listener.
  func listen(_ listener: @escaping (StoreEvent) -> Void)

  /// What the host says of its store (`kassa_notify`).
  func notify(_ event: JSON) throws(KassaError)

  /// Verifies a transaction that the host has from elsewhere, as signed text; nil where the store has none.
  func read(signedTransaction text: String) -> StoreDelivery?

  /// The clock was moved: what is due by now happens now.
  func clockMoved()

  /// Ends listening.
  func close()
}

extension Store {
  public func clockMoved() {}
  public func read(signedTransaction text: String) -> StoreDelivery? { nil }
}

public enum StoreMethod: String, Sendable, CaseIterable {
  case manageSubscriptions = "manage_subscriptions"
  case presentCodeRedemption = "present_code_redemption"
  case storefront
  case canMakePayments = "can_make_payments"
  case beginRefund = "begin_refund"
  case subscriptionStatus = "subscription_status"
  case entitlements
  case appTransaction = "app_transaction"
  case messages
  case displayMessage = "display_message"

  /// Whether the store may show something to its user, who may take long.
  public var hasUser: Bool {
    switch self {
    case .manageSubscriptions, .presentCodeRedemption, .beginRefund, .appTransaction, .displayMessage: true
    case .storefront, .canMakePayments, .subscriptionStatus, .entitlements, .messages: false
    }
  }

  /// Refuses the parameters of a call that has none.
  public static func refuseParameters(_ params: JSON) throws(KassaError) {
    do throws(JSONShapeError) { try Fields(params.isNull ? [:] : params, path: "params").allowOnly([]) } catch {
      throw KassaError(.invalidArgument, error.description)
    }
  }
}

/// A purchase that is about to be made.
public struct StoreOrder: Sendable, Equatable {
  public enum Offer: Sendable, Equatable {
    /// The introductory offer where the user may have it, else the regular price.
    case automatic
    case none
    case id(String)
  }

  public var productID: String
  /// More than 1 for consumables only.
  public var quantity: Int
  public var offer: Offer
  /// What lets the store apply a promotional offer.
  public var offerSignature: OfferSignature?
  /// A UUID that the store ties to the transaction.
  public var appAccountToken: String?
  /// Makes a store of tests wait for an approval.
  public var simulatesAskToBuy: Bool
  /// Passed to the store unchanged: where to show the sheet.
  public var confirmIn: JSON?

  public init(
    productID: String, quantity: Int = 1, offer: Offer = .automatic, offerSignature: OfferSignature? = nil,
    appAccountToken: String? = nil, simulatesAskToBuy: Bool = false, confirmIn: JSON? = nil
  ) {
    self.productID = productID
    self.quantity = quantity
    self.offer = offer
    self.offerSignature = offerSignature
    self.appAccountToken = appAccountToken
    self.simulatesAskToBuy = simulatesAskToBuy
    self.confirmIn = confirmIn
  }
}

public enum StoreOutcome: Sendable, Equatable {
  case purchased(StoreDelivery)
  /// An approval is needed; if it comes, the transaction comes as an event.
  case pending
  case cancelled
}

/// A transaction on its way from the store.
public enum StoreDelivery: Sendable, Equatable {
  case verified(StoreTransaction)
  /// What could not be verified is neither kept nor finished. `reason` is a code of `kassa_verify`.
  case unverified(id: String?, productID: String?, reason: String, message: String)

  public var verifiedTransaction: StoreTransaction? {
    if case .verified(let transaction) = self { transaction } else { nil }
  }
}

public enum StoreEvent: Sendable, Equatable {
  /// Bought elsewhere, renewed, approved, refunded, revoked.
  case updated(StoreDelivery)
  /// The user started a purchase in the store.
  case intent(StoreOrder)
  /// Something that the store wants to show; the document is passed on.
  case message(JSON)
  case storefrontChanged(Storefront?)
}

/// The country's shop in which an account buys.
public struct Storefront: Sendable, Hashable {
  /// Two letters, as ISO 3166-1 has them.
  public var country: String
  /// Three letters, where the store names one.
  public var currency: String?

  /// Takes two letters or three (`US`, `USA`), in any case; nil for what is no country.
  public init?(country: String, currency: String? = nil) {
    guard let code = Territory.alpha2(country) else { return nil }
    self.country = code
    self.currency = currency?.uppercased()
  }

  public var document: JSON { ["country_code": JSON(country), "currency": JSON(currency)] }
}
