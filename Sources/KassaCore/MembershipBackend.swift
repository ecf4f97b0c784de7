/// What a back end must be able to do that knows plans and memberships.
///
/// A back end belongs to one client and is used on that client's loop only. Its calls may wait for the network, and
/// end early when the task is cancelled. They throw `KassaError`: `offline`, `unauthorized` and so on.
public protocol MembershipBackend: AnyObject {
  /// Everything that is on sale to this client, in the service's order.
  func plans() async throws(KassaError) -> [Plan]

  /// One that is on sale or once was, listed or not; nil if the service has none of that id.
  func plan(_ id: String) async throws(KassaError) -> Plan?

  /// Every membership that the service connects with the identity: bought on its device, or owned by its user.
  func memberships(of identity: Identity) async throws(KassaError) -> MembershipListing

  /// What the service says of one membership.
  func membership(_ id: String) async throws(KassaError) -> MembershipWord

  /// Guest memberships that nobody has claimed, bought by this account of the service, on whatever device.
  func unclaimedMemberships(ofBuyer buyerID: String) async throws(KassaError) -> [Membership]

  /// Gives a membership to an app user. Doing it twice is the same as once.
  func claim(_ membership: Membership, for appUserID: AppUserID) async throws(KassaError) -> Membership

  /// Whether an empty answer of `memberships(of:)` means that there are none: the credential may read them.
  func mayReadMemberships() async throws(KassaError) -> Bool

  /// Opens a checkout for one purchase attempt.
  func checkout(_ attempt: PurchaseAttempt, returnURL: String?) async throws(KassaError) -> Checkout

  /// What has become of a purchase attempt.
  func progress(of attempt: PurchaseAttempt) async throws(KassaError) -> PurchaseProgress

  /// Gives the service a transaction of a store, with the plan that its product is mapped to. Doing it twice is the same
  /// as once.
  func submit(_ receipt: Receipt, of deviceID: String) async throws(KassaError) -> ReceiptWord

  /// What the address says to which a checkout sent the buyer back. Anybody can write such an address: a hint, no more.
  func reading(ofReturnURL url: String) -> CheckoutReturn
}

public struct MembershipListing: Sendable {
  public var memberships: [Membership]
  /// How many rows were read to find them.
  public var scanned: Int
  public init(memberships: [Membership], scanned: Int) {
    self.memberships = memberships
    self.scanned = scanned
  }
}

public enum MembershipWord: Sendable {
  case row(Membership)
  /// Not found, or not to be seen with this credential: says nothing about access.
  case silence
}

public enum ReceiptWord: Sendable {
  /// The service, and the membership that it made of it, if it has.
  case accepted(Membership?)
  /// It has no way to take receipts.
  case notTaken
}

/// One try to buy one plan.
public struct PurchaseAttempt: Sendable, Equatable {
  public var planID: String
  public var identity: Identity
  /// Random; the membership that is made by this attempt carries it.
  public var nonce: String
  public var startedAt: Int64
  public init(planID: String, identity: Identity, nonce: String, startedAt: Int64) {
    self.planID = planID
    self.identity = identity
    self.nonce = nonce
    self.startedAt = startedAt
  }
}

/// A page of the service on which a plan is paid for.
public struct Checkout: Sendable {
  public var url: String
  /// Where the page sends the buyer afterwards; nil where the service does not send them anywhere.
  public var returnURL: String?
  /// Paid on the host's Apple Pay sheet instead of on the page.
  public var applePay: ApplePay?
  public init(url: String, returnURL: String?) {
    self.url = url
    self.returnURL = returnURL
  }
}

/// What an Apple Pay sheet has to say.
public struct ApplePay: Sendable, Equatable {
  /// The button's text: `plain`, `buy`, `subscribe` and so on, or any other.
  public var label: String
  /// What is charged now.
  public var price: Money
  public init(label: String, price: Money) {
    self.label = label
    self.price = price
  }
}

public struct PurchaseProgress: Sendable {
  public enum Payment: Sendable, Equatable {
    /// No payment is known, or the credential may not read payments.
    case none
    /// Accepted; settles later, such as a bank debit.
    case pending
    case paid
    case declined(message: String, code: String?)
  }
  public var membership: Membership?
  public var payment: Payment
  public var receiptID: String?
  public init(membership: Membership? = nil, payment: Payment = .none, receiptID: String? = nil) {
    self.membership = membership
    self.payment = payment
    self.receiptID = receiptID
  }
}

public struct CheckoutReturn: Sendable, Equatable {
  public enum Outcome: Sendable { case success, failure, cancelled, unknown }
  public var outcome: Outcome
  public var receiptID: String?
  public init(outcome: Outcome, receiptID: String?) {
    self.outcome = outcome
    self.receiptID = receiptID
  }
}

/// Who shows a checkout to the user: the browser, the host, or the sandbox in this process.
public protocol CheckoutPresenter: Sendable {
  /// Gets ready to receive the buyer; nil where nothing comes back.
  func prepare() async throws(KassaError) -> any PreparedCheckout

  /// Whether it may be asked for Apple Pay.
  var offersApplePay: Bool { get }

  /// Shows a page from which nothing comes back.
  func open(_ url: String) async throws(KassaError)
}

/// One checkout that is about to be shown.
public protocol PreparedCheckout: AnyObject {
  /// The address to give to the service, if any.
  var returnURL: String? { get }
  /// Shows the page and waits for its end; a cancelled task closes it.
  func present(_ checkout: Checkout, of attempt: PurchaseAttempt) async throws(KassaError) -> CheckoutEnding
}

public enum CheckoutEnding: Sendable, Equatable {
  case returned(url: String?)
  case cancelled
  case failed(message: String)
}

/// Where an access token comes from when the configuration has no key.
public protocol AccessTokenSource: Sendable {
  /// The token to use now. After a 401, `refused` is the token that was refused, and another one is fetched.
  func token(refused: String?) async throws(KassaError) -> String
}
