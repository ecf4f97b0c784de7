import KassaCore
import KassaJSON

// What the library tells the host when it asks.

extension StoreOrder {
  var parameters: JSON {
    let (word, id): (String, String?) =
      switch offer {
      case .automatic: ("automatic", nil)
      case .none: ("none", nil)
      case .id(let id): ("id", id)
      }
    return [
      "product_id": JSON(productID), "quantity": JSON(quantity), "offer": JSON(word), "offer_id": JSON(id),
      "offer_signature": offerSignature?.document ?? .null,
      "app_account_token": JSON(appAccountToken), "simulates_ask_to_buy": JSON(simulatesAskToBuy),
      "confirm_in": confirmIn ?? .null,
    ]
  }
}

extension OfferSignature {
  fileprivate var document: JSON {
    [
      "key_id": JSON(keyID), "nonce": JSON(nonce), "timestamp": JSON(timestamp), "signature": JSON(signature),
    ]
  }
}

extension StoreTransaction {
  /// Which one to finish. Play knows a purchase by its token only, so here the host gets back what it gave.
  var finishParameters: JSON {
    [
      "store": JSON(platform.rawValue), "id": JSON(id), "original_id": JSON(originalID),
      "product_id": JSON(productID), "type": JSON(kind.rawValue),
      "purchase_token": platform == .google ? JSON(proof) : .null,
    ]
  }
}
