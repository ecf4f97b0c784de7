import KassaCore
import KassaJSON
import KassaReceipts

/// The host's own store, which the library asks by requests of the service `store` (docs/store.md).
///
/// The host is believed in what it says of products and of the user's wishes. What was paid must be proven: by Apple's
/// signature, by Google's, or, without Google's key, by the host's word that its server has asked Google.
public final class HostStore: Store {
  /// Asks the host and waits for its reply; throws `cancelled` when the task is cancelled or the client closes.
  public typealias Ask = (_ method: String, _ params: JSON) async throws(KassaError) -> JSON
  /// Checks a signed text of Apple's and decodes it.
  public typealias Verify<Value> = (_ text: String) throws(Refusal) -> Value
  /// Tells of something that failed nothing.
  public typealias Report = (_ code: String, _ message: String, _ details: JSON) -> Void

  let configuration: HostStoreConfiguration
  let transactions: HostTransactionReader
  let verifyAppTransaction: Verify<JSON>
  private let request: Ask
  private let report: Report
  private var listener: ((StoreEvent) -> Void)?

  /// `verify` takes the text of a transaction, `verifyAppTransaction` that of an app transaction, and gives its payload.
  public init(
    _ configuration: HostStoreConfiguration, ask: @escaping Ask, verify: @escaping Verify<StoreTransaction>,
    verifyAppTransaction: @escaping Verify<JSON>, report: @escaping Report
  ) {
    self.configuration = configuration
    self.verifyAppTransaction = verifyAppTransaction
    transactions = HostTransactionReader(configuration: configuration, verify: verify)
    request = ask
    self.report = report
  }

  func ask(_ method: String, _ params: JSON = [:]) async throws(KassaError) -> HostReply {
    try HostReply(try await request(method, params), to: method)
  }

  /// Refuses a store whose transactions nobody could check, before anything happens there.
  func requireSupport() throws(KassaError) {
    guard case .other(let word) = configuration.platform else { return }
    throw KassaError(
      .unsupportedStore,
      "store.platform is \"\(word.quoted)\": purchases are possible with \"apple\" and \"google\" only")
  }

  private var isSupported: Bool { if case .known = configuration.platform { true } else { false } }

  // MARK: - Selling

  public func products(_ ids: [String]) async throws(KassaError) -> [StoreProduct] {
    try requireSupport()
    guard !ids.isEmpty else { return [] }
    let reply = try await ask("products", ["ids": .array(ids.map { JSON($0) })])
    let wanted = Set(ids)
    return try reply.read { (fields) throws(JSONShapeError) in
      try fields.refuseUnknown(but: ["products"])
      var products: [StoreProduct] = []
      var seen: Set<String> = []
      for element in try fields.list("products") {
        let product = try StoreProduct(host: element)
        guard seen.insert(product.id).inserted else {
          throw JSONShapeError(path: element.place(of: "id"), problem: "occurs twice (\"\(product.id.quoted)\")")
        }
        if wanted.contains(product.id) { products.append(product) }
      }
      return products
    }
  }

  public func purchase(_ order: StoreOrder) async throws(KassaError) -> StoreOutcome {
    try requireSupport()
    let reply = try await ask("purchase", order.parameters)
    let (outcome, bought) = try reply.read { (fields) throws(JSONShapeError) -> (PurchaseOutcome, HostTransaction?) in
      try fields.refuseUnknown(but: ["outcome", "transaction"])
      let outcome = try fields.word("outcome", PurchaseOutcome.self)
      guard outcome == .purchased else { return (outcome, nil) }
      return (outcome, try transactions.read(try fields.object("transaction")))
    }
    guard let bought else { return outcome == .cancelled ? .cancelled : .pending }
    guard !bought.isPending else { return .pending }
    if let transaction = bought.delivery.verifiedTransaction { try compare(transaction, with: order) }
    return .purchased(bought.delivery)
  }

  /// What was bought is real, so it counts; but it may not be what this purchase asked for.
  private func compare(_ transaction: StoreTransaction, with order: StoreOrder) throws(KassaError) {
    guard transaction.productID == order.productID else {
      listener?(.updated(.verified(transaction)))
      throw KassaError(
        .storeFailed,
        "the host's reply to store/purchase is wrong: \"\(order.productID.quoted)\" was asked for, and the transaction "
          + "is of \"\(transaction.productID.quoted)\"", reason: "invalid_reply")
    }
    guard transaction.quantity != order.quantity else { return }
    report(
      "quantity_differs",
      "\(order.quantity) of \"\(order.productID.quoted)\" asked for, and \(transaction.quantity) bought: the host's store "
        + "sold another quantity than store/purchase named",
      [
        "transaction_id": JSON(transaction.id), "store_product_id": JSON(transaction.productID),
        "ordered": JSON(order.quantity), "bought": JSON(transaction.quantity),
      ])
  }

  public func finish(_ transaction: StoreTransaction) async throws(KassaError) {
    let reply = try await ask("finish", transaction.finishParameters)
    try reply.read { (fields) throws(JSONShapeError) in try fields.refuseUnknown(but: []) }
  }

  // MARK: - Looking

  public func restore() async throws(KassaError) -> Bool {
    guard isSupported else { return true }
    return try await ask("restore").read { (fields) throws(JSONShapeError) in
      try fields.refuseUnknown(but: ["outcome"])
      return try fields.word("outcome", SheetOutcome.self) == .completed
    }
  }

  public func unfinished() async throws(KassaError) -> [StoreDelivery] {
    guard isSupported else { return [] }
    let reply = try await ask("unfinished")
    return try reply.read { (fields) throws(JSONShapeError) in
      try transactions.readAll(fields).filter { !$0.isPending && !$0.isFinished }.map(\.delivery)
    }
  }

  public func entitlements() async throws(KassaError) -> [StoreDelivery] {
    guard isSupported else { return [] }
    let reply = try await ask("entitlements")
    return try reply.read { (fields) throws(JSONShapeError) in
      try transactions.readAll(fields).filter { !$0.isPending && $0.delivery.verifiedTransaction?.kind != .consumable }
        .map(\.delivery)
    }
  }

  public func storefront() async throws(KassaError) -> Storefront? {
    try await ask("storefront").read { (fields) throws(JSONShapeError) in
      try fields.refuseUnknown(but: ["storefront"])
      return try fields.storefront("storefront")
    }
  }

  public func read(signedTransaction text: String) -> StoreDelivery? {
    configuration.platform == .known(.apple) ? transactions.delivery(of: text) : nil
  }

  // MARK: - Listening

  public func listen(_ listener: @escaping (StoreEvent) -> Void) { self.listener = listener }

  public func notify(_ event: JSON) throws(KassaError) {
    guard let listener else { throw KassaError(.closed, "nobody listens to the store any more") }
    if let event = try event.storeEvent(transactions) { listener(event) }
  }

  public func close() { listener = nil }
}
