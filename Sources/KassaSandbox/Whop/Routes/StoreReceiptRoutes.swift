import KassaCore
import KassaJSON

/// A purchase in a store, offered to the service. Whop publishes no such route: a switch of the catalogue opens it.
struct StoreReceipt {
  var store: StoreTransaction.Platform
  var transactionID: String
  var originalID: String
  var productID: String
  var planID: String
  var proof: String
  var metadata: JSON

  init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly([
      "store", "transaction_id", "original_transaction_id", "store_product_id", "plan_id", "proof", "metadata",
    ])
    store = try fields.store("store")
    transactionID = try fields.string("transaction_id")
    originalID = try fields.string("original_transaction_id")
    productID = try fields.string("store_product_id")
    planID = try fields.string("plan_id")
    proof = try fields.string("proof")
    metadata = try fields.optionalObject("metadata")?.json ?? [:]
  }
}

extension WhopService {
  /// Any credential will do, also one that an app ships: it is the receipt that proves the purchase.
  ///
  /// No refusal here is a 404, which would say that there is no such route.
  func takeStoreReceipt(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    guard catalogue.switches.takesStoreReceipts else { throw .noRoute(request) }
    _ = try request.caller()
    let receipt = try request.read { (body) throws(JSONShapeError) in try StoreReceipt(body) }
    try Self.checkMetadata(receipt.metadata)
    let transaction = try transaction(of: receipt)
    guard let plan = plan(receipt.planID) else { throw .invalid("plan_id", "names no plan of this account") }
    // Nothing of a consumable lasts.
    guard transaction.type != .consumable else { return APIAnswer(["membership": .null]) }
    let membership = membership(of: transaction, plan, metadata: receipt.metadata)
    return APIAnswer(["membership": document(membership, for: request)])
  }

  /// The transaction that a receipt proves, as its store told of it.
  private func transaction(of receipt: StoreReceipt) throws(Refusal) -> StoreTransactionRecord {
    let id = StoreTransactionRecord.id(receipt.store, receipt.transactionID)
    guard let transaction = state.store.storeTransactions[id] else {
      throw .invalid("transaction_id", "names no transaction that the store has registered")
    }
    guard transaction.proofs.contains(receipt.proof) else {
      throw .invalid("proof", "is not what the store signed for this transaction")
    }
    guard transaction.originalID == receipt.originalID else {
      throw .invalid("original_transaction_id", "is not that of this transaction")
    }
    guard transaction.productID == receipt.productID else {
      throw .invalid("store_product_id", "is not what this transaction sold")
    }
    return transaction
  }
}
