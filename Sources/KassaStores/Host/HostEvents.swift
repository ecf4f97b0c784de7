import KassaCore
import KassaJSON

/// The types of what a host says of its store (`kassa_notify`).
enum HostEventType: String, CaseIterable {
  case transactionUpdated = "transaction_updated"
  case purchaseIntent = "purchase_intent"
  case storeMessage = "store_message"
  case storefrontChanged = "storefront_changed"
}

extension JSON {
  /// What a host says of its store; nil for a purchase that is not paid yet, which is no news.
  func storeEvent(_ transactions: HostTransactionReader) throws(KassaError) -> StoreEvent? {
    do throws(JSONShapeError) {
      let fields = try Fields(self, path: "event")
      switch try fields.word("type", HostEventType.self) {
      case .transactionUpdated:
        try fields.refuseUnknown(but: ["type", "transaction"])
        let transaction = try transactions.read(try fields.object("transaction"))
        return transaction.isPending ? nil : .updated(transaction.delivery)
      case .purchaseIntent:
        try fields.refuseUnknown(but: ["type", "product_id", "offer_id", "quantity"])
        let offer = try fields.optionalName("offer_id")
        return .intent(
          StoreOrder(
            productID: try fields.name("product_id"),
            quantity: Int(try fields.optionalNumber("quantity", in: HostLimits.quantity) ?? 1),
            offer: offer.map(StoreOrder.Offer.id) ?? .automatic))
      case .storeMessage:
        try fields.refuseUnknown(but: ["type", "message"])
        return .message(try fields.object("message").storeMessage())
      case .storefrontChanged:
        try fields.refuseUnknown(but: ["type", "storefront"])
        return .storefrontChanged(try fields.storefront("storefront"))
      }
    } catch {
      throw KassaError(.invalidArgument, error.description)
    }
  }
}

extension Fields {
  /// Something that the store wants to show. Its id and reason are checked, the rest is between host and store.
  func storeMessage() throws(JSONShapeError) -> JSON {
    _ = try name("id")
    _ = try name("reason")
    return json
  }
}
