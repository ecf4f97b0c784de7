import KassaCore
import KassaJSON

/// How the user answers the simulated store's sheets.
public enum SheetDecision: String, Sendable, CaseIterable {
  case approve, cancel
  /// The payment is declined.
  case fail
  /// The family's organizer is asked first.
  case askToBuy = "ask_to_buy"
  /// The user has to do something else first, such as agreeing to new terms; the sheet closes meanwhile.
  case interrupted
}

extension SheetDecision {
  /// The host's reply to `store/sheet`: `{"decision":"approve"}`, or an error as every request may be answered with.
  public init(reply: JSON) throws(KassaError) {
    self = try HostReply(reply, to: "sheet").read { fields throws(JSONShapeError) in
      let words = Self.allCases.map(\.rawValue)
      let word = try fields.oneOf(words, "decision", default: "")
      return try fields.required(SheetDecision(rawValue: word), "decision")
    }
  }
}

/// Who decides.
public enum SheetPolicy: Sendable, Equatable {
  case always(SheetDecision)
  /// Each sheet is shown by the host.
  case host

  public static let words = SheetDecision.allCases.map(\.rawValue) + ["host"]

  public init?(_ word: String) {
    if word == "host" {
      self = .host
    } else if let decision = SheetDecision(rawValue: word) {
      self = .always(decision)
    } else {
      return nil
    }
  }

  public var word: String {
    switch self {
    case .always(let decision): decision.rawValue
    case .host: "host"
    }
  }
}

/// What a sheet is about.
public enum StoreSheet: Sendable, Equatable {
  /// `price` is what is paid now, for all of the quantity.
  case purchase(StoreOrder, product: StoreProduct, price: StorePrice, offer: StoreOffer?)
  case refund(StoreTransaction)
  case codeRedemption(code: String?)

  public var document: JSON {
    switch self {
    case .purchase(let order, let product, let price, let offer):
      [
        "kind": "purchase", "product": product.document, "quantity": JSON(order.quantity), "price": price.document,
        "offer": offer?.document ?? .null,
      ]
    case .refund(let transaction): ["kind": "refund", "transaction": transaction.document]
    case .codeRedemption(let code): ["kind": "code_redemption", "code": JSON(code)]
    }
  }
}

/// Shows the sheets of a simulated store whose policy is `host`.
public protocol SheetPresenter: AnyObject {
  func decide(_ sheet: StoreSheet) async throws(KassaError) -> SheetDecision
}
