import KassaCore
import KassaJSON
import KassaReceipts

/// A transaction as a host passes it on, and what the store still expects.
struct HostTransaction {
  var delivery: StoreDelivery
  /// Not paid yet: it grants nothing, and comes again when it is.
  var isPending = false
  /// The store says that it was delivered: acknowledged or finished.
  var isFinished = false
}

/// Turns the transactions of a host into deliveries: what is proven, and why the rest is not.
struct HostTransactionReader {
  let configuration: HostStoreConfiguration
  /// Checks Apple's signed text and decodes it, with the configuration's bundle id, environments and roots.
  let verify: (String) throws(Refusal) -> StoreTransaction

  func read(_ fields: Fields) throws(JSONShapeError) -> HostTransaction {
    let store = try fields.name("store")
    guard let platform = StoreTransaction.Platform(rawValue: store) else {
      return HostTransaction(
        delivery: .unverified(
          id: nil, productID: nil, reason: "unsupported_store",
          message: "\(fields.place(of: "store")) is \"\(store.quoted)\": only transactions of \"apple\" and \"google\" "
            + "can be checked"))
    }
    guard configuration.platform == .known(platform) else {
      return HostTransaction(
        delivery: .unverified(
          id: nil, productID: nil, reason: "wrong_store",
          message: "\(fields.place(of: "store")) is \"\(store)\", and the configuration's store.platform is "
            + "\"\(configuration.platform.word.quoted)\""))
    }
    switch platform {
    case .apple: return try apple(fields)
    case .google: return try GooglePurchase(fields).transaction(configuration)
    }
  }

  private func apple(_ fields: Fields) throws(JSONShapeError) -> HostTransaction {
    try fields.refuseUnknown(but: ["store", "jws"])
    let text = try fields.name("jws", atMost: HostLimits.signedBytes, isSecret: true)
    return HostTransaction(delivery: delivery(of: text))
  }

  func delivery(of text: String) -> StoreDelivery {
    do throws(Refusal) { return .verified(try verify(text)) } catch {
      return .refused(text, error)
    }
  }

  /// All that can be read. One that cannot is reported like one that was not believed: it must not keep the others
  /// from their buyer.
  func readAll(_ reply: Fields) throws(JSONShapeError) -> [HostTransaction] {
    try reply.refuseUnknown(but: ["transactions"])
    let elements = try reply.array("transactions")
    guard elements.count <= HostLimits.elements else {
      throw JSONShapeError(
        path: reply.place(of: "transactions"),
        problem: "must have at most \(HostLimits.elements) elements (got \(elements.count))")
    }
    return elements.enumerated().map { index, element in
      do throws(JSONShapeError) {
        return try read(try Fields(element, path: "\(reply.place(of: "transactions"))[\(index)]"))
      } catch {
        return HostTransaction(
          delivery: .unverified(
            id: nil, productID: nil, reason: "malformed_transaction", message: error.description))
      }
    }
  }
}
