import KassaJSON

/// What a back end must be able to do whose users are people with perks, and whose products are sold by a store.
///
/// It belongs to one client and is used on that client's loop only. Each call is one attempt: the caller tries again.
/// Calls throw `KassaError`: `offline`, `unauthorized` and so on; what may succeed later is `retryable`.
public protocol PersonBackend: AnyObject {
  /// What the seller has set up; nil when it still is the version that is known.
  func catalogue(known version: String?) async throws(KassaError) -> Catalogue?

  /// What the service knows of a person; nil for nobody.
  func person(_ id: DistinctID) async throws(KassaError) -> Person?

  /// Makes the person who was asking until now, if nobody knows their name, the one of `identification.id`.
  func identify(_ identification: Identification) async throws(KassaError) -> Person

  func setAttributes(_ attributes: Attributes, of id: DistinctID) async throws(KassaError) -> Person

  /// Gives the service a receipt, as the person who owns it. Doing it twice is the same as once.
  func submit(_ receipt: OutgoingReceipt) async throws(KassaError) -> ReceiptVerdict

  /// The same, made ready to be called once: a queue makes the next one ready while one is under way.
  func submission(of receipt: OutgoingReceipt) -> ReceiptSubmission

  /// Whether such receipts are for the service at all; why not, if not.
  func obstacle(to receipt: OutgoingReceipt) -> ReceiptObstacle?

  /// A signature with which the store applies a promotional offer; nil where only the host can get one.
  func signature(of order: OfferOrder) async throws(KassaError) -> OfferSignature?

  /// The token that ties a purchase in the store to a person.
  func accountToken(of id: DistinctID) throws(KassaError) -> String

  /// Refuses an id that nobody may log in with: to be called before anybody becomes it.
  func check(_ id: DistinctID) throws(KassaError)

  /// Why nothing would be sent now, without asking: so that a queue waits as a whole. nil when something would.
  var pause: BackendPause? { get }

  /// The host came to the foreground, or the network came back: what was paused may be probed at once. True when the
  /// service was paused by a refused key and one probe may be sent now.
  func conditionsImproved() -> Bool
}

extension PersonBackend {
  public func submission(of receipt: OutgoingReceipt) -> ReceiptSubmission {
    { () async throws(KassaError) in try await self.submit(receipt) }
  }

  public func check(_ id: DistinctID) throws(KassaError) {}
}

public typealias ReceiptSubmission = () async throws(KassaError) -> ReceiptVerdict

/// Who logs in.
public struct Identification: Sendable, Equatable {
  /// Who was asking until now.
  public var previous: DistinctID
  public var id: DistinctID
  public var attributes: Attributes
  public init(previous: DistinctID, id: DistinctID, attributes: Attributes = Attributes()) {
    self.previous = previous
    self.id = id
    self.attributes = attributes
  }
}

/// What is written of a person. Values are texts, numbers, booleans or null.
public struct Attributes: Sendable, Equatable {
  /// The newest write counts.
  public var set: JSON
  /// The first write counts, and any of `set` before it.
  public var setOnce: JSON
  /// Names this write, so that a repetition changes nothing.
  public var writeID: String?
  public var isEmpty: Bool { self.set.members.isEmpty && setOnce.members.isEmpty }
  public init(set: JSON = [:], setOnce: JSON = [:], writeID: String? = nil) {
    self.set = set
    self.setOnce = setOnce
    self.writeID = writeID
  }
}

public enum ReceiptVerdict: Sendable, Equatable {
  case accepted
  /// Refused for good, as far as the service can tell: it stays, and is offered again by its own rule.
  case refused(message: String, status: Int?)
}

public enum ReceiptObstacle: Sendable, Equatable {
  /// Bought in a store that only exists on this machine: nobody else could check it.
  case testing
  /// Really charged, where only purchases without a charge belong: it would be accepted there and finished, so that the
  /// money were gone and nothing granted.
  case realCharge
}

public enum BackendPause: Sendable, Equatable {
  /// The service refused the key.
  case unauthorized
  /// It failed several times in a row; the wait that is left.
  case failing(milliseconds: Int64)
}

/// A promotional offer that is about to be used.
public struct OfferOrder: Sendable, Equatable {
  public var product: Catalogue.Product
  public var storeProductID: String
  public var storeOfferID: String
  public var person: DistinctID
  public var accountToken: String
  public init(
    product: Catalogue.Product, storeProductID: String, storeOfferID: String, person: DistinctID, accountToken: String
  ) {
    self.product = product
    self.storeProductID = storeProductID
    self.storeOfferID = storeOfferID
    self.person = person
    self.accountToken = accountToken
  }
}

/// Apple's five values of a signed promotional offer, apart from those that the order already has (StoreKit,
/// `Product.PurchaseOption.promotionalOffer`).
public struct OfferSignature: Sendable, Equatable {
  public var keyID: String
  public var nonce: String
  public var timestamp: Int64
  /// Base64.
  public var signature: String
  public init(keyID: String, nonce: String, timestamp: Int64, signature: String) {
    self.keyID = keyID
    self.nonce = nonce
    self.timestamp = timestamp
    self.signature = signature
  }
}

extension Attributes {
  /// What a host gives, if the service takes such values: texts, finite numbers, booleans and nulls.
  public init(checking set: JSON, setOnce: JSON) throws(KassaError) {
    for (place, object) in [("set", set), ("set_once", setOnce)] {
      for (key, value) in object.members where value.isObject || value.isArray {
        throw KassaError(
          .invalidArgument,
          "\(place).\(key.quoted) must be a text, a number, a boolean or null (got \(value.kind))")
      }
      for key in ["email", "name"] where !(object[key]?.isNull ?? true) && object[key]?.string == nil {
        throw KassaError(.invalidArgument, "\(place).\(key) must be a text")
      }
    }
    self.init(set: set, setOnce: setOnce)
  }
}
