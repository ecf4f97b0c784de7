import KassaCore
import KassaReceipts

extension StoreDelivery {
  /// A signed text that was refused, with what it says of itself, so that whoever is told knows which it was.
  static func refused(_ text: String, _ refusal: Refusal) -> StoreDelivery {
    let claimed = ClaimedTransaction(signedText: text)
    return .unverified(
      id: claimed.id, productID: claimed.productID, reason: refusal.reason, message: refusal.message)
  }
}
