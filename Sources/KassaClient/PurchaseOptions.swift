import KassaCore
import KassaJSON

/// The options of `kassa_purchase`, checked.
struct PurchaseOptions: Equatable {
  enum Method: Equatable {
    /// The back end's own checkout.
    case web
    case store
    case applePay
  }

  /// nil: web where external purchases are supported, else the store.
  var method: Method?
  var offer = OfferChoice.automatic
  var quantity = 1
  var simulatesAskToBuy = false
  var confirmIn: JSON?
  /// What an Apple Pay button says.
  var label = "plain"

  /// Other names that people know a purchase in the store by.
  private static let storeWords = ["store", "storekit", "storeKit", "apple"]

  init(_ document: JSON, webMethod: String?) throws(KassaError) {
    for (option, _) in document.members {
      if let instead = Unsupported.purchaseOptions[option] {
        throw KassaError(.unsupported, "options.\(option) is not supported: \(instead)")
      }
    }
    do throws(JSONShapeError) {
      let fields = try Fields(document, path: "options")
      try fields.allowOnly(["method", "offer", "quantity", "simulate_ask_to_buy", "confirm_in", "label"])
      method = try Self.method(fields, webMethod)
      offer = try Self.offer(fields)
      quantity = Int(try fields.integer("quantity", in: 1...10, default: 1))
      simulatesAskToBuy = try fields.optionalBool("simulate_ask_to_buy") ?? false
      confirmIn = fields.has("confirm_in") ? fields.json["confirm_in"] : nil
      label = try fields.optionalString("label") ?? "plain"
    } catch {
      throw KassaError(.invalidArgument, error.description)
    }
  }

  /// The web sells one of a plan, on the plan's own terms: whoever asked for more would not get what was paid for.
  func requireNothingOfAStore() throws(KassaError) {
    guard quantity == 1 else {
      throw KassaError(
        .invalidArgument, "options.quantity must be 1 on the web (got \(quantity)): only a store sells more")
    }
    guard offer == .automatic else {
      throw KassaError(
        .invalidArgument, "options.offer needs a store: on the web a plan has its own terms and no other offers")
    }
  }

  private static func method(_ fields: Fields, _ webMethod: String?) throws(JSONShapeError) -> Method? {
    guard fields.has("method") else { return nil }
    let word = try fields.oneOf([webMethod].compactMap(\.self) + storeWords + ["apple_pay"], "method", default: "")
    if word == webMethod { return .web }
    return word == "apple_pay" ? .applePay : .store
  }

  /// `"automatic"`, `"none"`, or an offer's id, alone or in one of the documents that list offers.
  private static func offer(_ fields: Fields) throws(JSONShapeError) -> OfferChoice {
    guard fields.has("offer") else { return .automatic }
    if let object = fields.json["offer"], object.isObject {
      let offer = try Fields(object, path: fields.place(of: "offer"))
      // An introductory offer, of which a product has one, may have no id.
      if try offer.optionalString("id") == nil, try offer.optionalString("kind") == "introductory" {
        return .introductory
      }
      return try .id(offer.string("id"))
    }
    switch try fields.string("offer") {
    case "automatic": return .automatic
    case "none": return .none
    case let word:
      throw JSONShapeError(
        path: fields.place(of: "offer"),
        problem: "must be \"automatic\", \"none\" or {\"id\":\"...\"} (got \"\(word.quoted)\")")
    }
  }
}
