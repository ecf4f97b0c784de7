import KassaCore
import KassaJSON

/// Who owns what a store sold under one original transaction.
struct VoidhashSeriesRecord: Record {
  static let kind = "voidhash_series"
  /// `StoreTransactionRecord.series`
  var id: String
  /// Persons; several only where both keep what they share.
  var owners: [String]

  init(id: String, owner: String) {
    self.id = id
    owners = [owner]
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    owners = try fields.strings("owners") ?? []
  }

  var document: JSON { ["id": JSON(id), "owners": .array(owners.map { JSON($0) })] }
}

/// A store transaction whose receipt was accepted, and each distinct id under which that happened.
struct VoidhashReceiptRecord: Record {
  static let kind = "voidhash_receipt"

  struct Delivery {
    var distinctID: VoidhashDistinctID
    var count: Int64
    var firstAt: Int64
    var lastAt: Int64
  }

  var store: StoreTransaction.Platform
  var transactionID: String
  var originalID: String
  var storeProductID: String
  private(set) var deliveries: [Delivery]

  var id: String { StoreTransactionRecord.id(store, transactionID) }

  init(_ transaction: StoreTransactionRecord) {
    store = transaction.store
    transactionID = transaction.transactionID
    originalID = transaction.originalID
    storeProductID = transaction.productID
    deliveries = []
  }

  mutating func accept(from distinctID: VoidhashDistinctID, at now: Int64) {
    guard let index = deliveries.firstIndex(where: { $0.distinctID == distinctID }) else {
      deliveries.append(Delivery(distinctID: distinctID, count: 1, firstAt: now, lastAt: now))
      return
    }
    deliveries[index].count += 1
    deliveries[index].lastAt = now
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    store = try fields.store("store")
    transactionID = try fields.string("transaction_id")
    originalID = try fields.string("original_transaction_id")
    storeProductID = try fields.string("store_product_id")
    deliveries = []
    for delivery in try fields.objects("deliveries") {
      deliveries.append(
        Delivery(
          distinctID: VoidhashDistinctID(try delivery.string("distinct_id")), count: try delivery.integer("count"),
          firstAt: try delivery.integer("first_at"), lastAt: try delivery.integer("last_at")))
    }
  }

  private var names: [(String, JSON)] {
    [
      ("store", JSON(store.rawValue)), ("transaction_id", JSON(transactionID)),
      ("original_transaction_id", JSON(originalID)), ("store_product_id", JSON(storeProductID)),
    ]
  }

  var document: JSON {
    .object(
      names + [
        (
          "deliveries",
          .array(
            deliveries.map {
              [
                "distinct_id": JSON($0.distinctID.text), "count": JSON($0.count), "first_at": JSON($0.firstAt),
                "last_at": JSON($0.lastAt),
              ]
            })
        )
      ])
  }

  /// For the state: one row for each distinct id under which it was accepted.
  func rows(isParked: Bool) -> [JSON] {
    deliveries.map { delivery in
      .object(
        names + [
          ("distinct_id", JSON(delivery.distinctID.text)), ("deliveries", JSON(delivery.count)),
          ("accepted_at", JSON(delivery.firstAt)), ("last_accepted_at", JSON(delivery.lastAt)),
          ("outcome", isParked ? "parked_pending_product_mapping" : "applied"),
        ])
    }
  }
}
