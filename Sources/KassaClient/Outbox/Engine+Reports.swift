import KassaCore
import KassaJSON
import KassaPlatform

/// Transactions that the host reports because it buys and finishes by itself.
extension Engine {
  /// On disk when this returns. The transaction is the host's for ever: it is never finished here.
  func report(transaction document: JSON) throws(KassaError) -> JSON {
    let active = try configured()
    _ = try active.people()
    guard let owner = distinctID else { throw .notConfigured }
    let report = try TransactionReport(document, platform: active.setup.storePlatform)
    let platform = report.purchaseToken == nil ? active.setup.storePlatform : .google
    let transaction = try report.signedText.map { text throws(KassaError) in try verified(text, active) }
    let id = transaction?.id ?? report.transactionID
    var receipt =
      transaction.map { self.receipt(of: $0, for: owner) }
      ?? OutgoingReceipt(
        platform: platform, transactionID: id, purchaseToken: report.purchaseToken, owner: owner)
    (receipt.isHostOwned, receipt.isRestore) = (true, report.isRestore)
    // It is the host's in any case; only it is not sent.
    if isSkipped(receipt, active) { return ["transaction_id": JSON(id)] }
    let (scope, new) = (active.setup.scope, receipt)
    if Fault.sendUnwritten.isOn {
      Task(executorPreference: loop) { await self.sendUnwritten(new, transaction) }
      return ["transaction_id": JSON(id)]
    }
    saveRefusedIdentity()
    do throws(DatabaseError) {
      if report.isRestore {
        try storage.database.transaction { () throws(DatabaseError) in
          try storage.requeue(new, transaction, scope: scope)
          // Renewals of what was restored are theirs, too.
          if let transaction { try storage.save(accountToken: transaction.restoreToken, of: owner, scope: scope) }
        }
      } else {
        try storage.add(new, transaction, scope: scope)
      }
    } catch {
      throw KassaError(
        .storage, "the report of transaction \(id.quoted) cannot be saved: \(error.message)", retryable: true)
    }
    if let transaction { toldTransactions.insert(transaction.key) }
    wakeOutbox()
    return ["transaction_id": JSON(id)]
  }

  private func verified(_ text: String, _ active: Active) throws(KassaError) -> StoreTransaction {
    guard let delivery = active.setup.store?.read(signedTransaction: text) else {
      throw KassaError(.unsupported, "signed transactions can be checked with Apple's store only: configure \"store\"")
    }
    switch delivery {
    case .verified(let transaction): return transaction
    case .unverified(_, _, let reason, let message):
      throw KassaError(
        .transactionUnverified, "the reported transaction cannot be verified: \(message)", reason: reason)
    }
  }
}
