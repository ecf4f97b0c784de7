import KassaCore
import KassaPlatform

/// Store transactions: the outbox of what was charged, and what it grants.
extension ClientStorage {
  /// Saves receipts, what the service has to hear of them, and what all rows come to now, in one step.
  func save(receipts: [Receipt], answers: KeptAnswers?, scope: String) throws(DatabaseError) {
    try database.transaction { () throws(DatabaseError) in
      for receipt in receipts {
        try insert(receipt, scope)
        // What the service has not heard of, it is told.
        if !receipt.progress.isAccepted { try requeue(OutgoingReceipt(receipt), receipt.transaction, scope: scope) }
      }
      if let answers { try insert(answers, scope) }
    }
  }

  private func insert(_ receipt: Receipt, _ scope: String) throws(DatabaseError) {
    try database.run(
      """
      INSERT INTO receipts (scope, store, id, content, plan_id, product_id, app_user_id, captured_at, is_finished,
        is_accepted)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET content = excluded.content, plan_id = excluded.plan_id,
        product_id = excluded.product_id, is_finished = excluded.is_finished, is_accepted = excluded.is_accepted
      """,
      [
        .text(scope), .text(receipt.transaction.platform.rawValue), .text(receipt.transaction.idInStore),
        .text(StoredReceipts.encode(receipt.transaction)), DatabaseValue(receipt.planID),
        DatabaseValue(receipt.productID), DatabaseValue(receipt.appUserID?.text), .integer(receipt.capturedAt),
        .integer(receipt.progress.isFinished ? 1 : 0), .integer(receipt.progress.isAccepted ? 1 : 0),
      ])
  }

  /// What has been done with this version of a receipt.
  func save(progress: Receipt.Progress, of transaction: StoreTransaction, scope: String) throws(DatabaseError) {
    try database.run(
      """
      UPDATE receipts SET is_finished = max(is_finished, ?4), is_accepted = max(is_accepted, ?5)
      WHERE scope = ?1 AND store = ?2 AND id = ?3 AND content = ?6
      """,
      [
        .text(scope), .text(transaction.platform.rawValue), .text(transaction.idInStore),
        .integer(progress.isFinished ? 1 : 0), .integer(progress.isAccepted ? 1 : 0),
        .text(StoredReceipts.encode(transaction)),
      ])
  }

  func receipts(scope: String) throws(DatabaseError) -> [String: Receipt] {
    let rows = try database.run(
      """
      SELECT content, plan_id, product_id, app_user_id, captured_at, is_finished, is_accepted
      FROM receipts WHERE scope = ?
      """, [.text(scope)]
    ) { row in
      StoredReceipts.decode(row.text(0)).map { transaction in
        Receipt(
          transaction, planID: row.optionalText(1), productID: row.optionalText(2),
          appUserID: row.optionalText(3).map(AppUserID.init), capturedAt: row.integer(4),
          progress: Receipt.Progress(isFinished: row.integer(5) != 0, isAccepted: row.integer(6) != 0), isFresh: false)
      }
    }
    return Dictionary(rows.compactMap { $0 }.map { ($0.transaction.key, $0) }) { $1 }
  }
}

extension StoreTransaction {
  /// Tells transactions of all stores apart.
  var key: String { "\(platform.rawValue) \(idInStore)" }

  /// One order of Google Play may be of several products.
  var idInStore: String {
    switch platform {
    case .apple: id
    case .google: "\(id) \(productID)"
    }
  }
}

extension OutgoingReceipt {
  /// For a service that asks for the proof, which is kept with the receipt.
  fileprivate init(_ receipt: Receipt) {
    self.init(
      platform: receipt.transaction.platform, transactionID: receipt.transaction.id,
      originalID: receipt.transaction.originalID, storeProductID: receipt.transaction.productID,
      owner: DistinctID(receipt.appUserID?.text ?? ""))
  }
}
