import KassaCore
import KassaJSON
import KassaPlatform

/// Transactions that the host reports because it buys and finishes by itself, and what waits in the outbox.
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

  // MARK: What waits

  /// Everything that has yet to reach the service, as it is on disk. nil where it cannot be read, which is not the same as
  /// nothing.
  func pending() -> JSON? {
    let scope = active?.setup.scope
    let pending = read { storage throws(DatabaseError) -> JSON in
      var receipts: [JSON] = [], writes: [JSON] = []
      let scopes = if let scope { [scope] } else { try storage.outboxScopes() }
      for scope in scopes {
        let waiting = try storage.waitingReceipts(limit: .max, scope: scope)
        let claims = try storage.claims(scope: scope), others = try storage.personWrites(scope: scope)
        receipts += waiting.map(\.document)
        writes += others.map(\.write.document)
        writes += claims.map { ["kind": "claim", "app_user_id": JSON($0.appUserID.text)] }
      }
      return [
        "pending_transaction_count": JSON(receipts.count), "transactions": .array(receipts), "writes": .array(writes),
      ]
    }
    return pending.map(state.stamped)
  }
}

/// What `kassa_report_transaction` takes, checked.
struct TransactionReport {
  /// Empty where only the signed text says it.
  var transactionID = ""
  var signedText: String?
  var purchaseToken: String?
  var isRestore = false

  /// - Parameter document: an id or a signed text, alone or in an object.
  init(_ document: JSON, platform: StoreTransaction.Platform) throws(KassaError) {
    if let text = document.string {
      try read(text, at: "transaction")
    } else {
      do throws(JSONShapeError) { try read(Fields(document, path: "transaction")) } catch {
        throw KassaError(.invalidArgument, error.description)
      }
      if signedText == nil { try read(transactionID, at: "transaction.id") }
    }
    guard platform == .apple || purchaseToken != nil else {
      throw KassaError(.invalidTransaction, "transaction.purchase_token is missing: the service asks Google for it")
    }
  }

  private mutating func read(_ fields: Fields) throws(JSONShapeError) {
    isRestore = try fields.optionalBool("is_restore") ?? false
    purchaseToken = try fields.optionalString("purchase_token")
    signedText = try fields.optionalString("jws")
    if let number = fields.json["id"]?.integer {
      throw JSONShapeError(
        path: fields.place(of: "id"), problem: "must be text, so that no digit is lost (got the number \(number))")
    }
    transactionID = try fields.optionalString("id") ?? ""
  }

  private mutating func read(_ text: String, at place: String) throws(KassaError) {
    let isSigned = text.utf8.filter { $0 == UInt8(ascii: ".") }.count == 2
    if isSigned {
      signedText = text
      return
    }
    let trimmed = text.utf8.allSatisfy { $0 == 0x20 || (9...13).contains($0) } ? "" : text
    guard !trimmed.isEmpty else { throw KassaError(.invalidTransaction, "\(place) must not be empty") }
    guard trimmed.utf8.count <= 256, trimmed.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw KassaError(
        .invalidTransaction, "\(place) must be the transaction's id, up to 256 bytes (got \"\(trimmed.quoted)\")")
    }
    transactionID = trimmed
  }
}

extension ClientStorage.ReceiptRow {
  fileprivate var document: JSON {
    [
      "transaction_id": JSON(receipt.transactionID), "store": JSON(receipt.platform.rawValue),
      "store_product_id": JSON(receipt.storeProductID), "product_slug": JSON(receipt.productSlug),
      "distinct_id": JSON(receipt.owner.text), "attempts": JSON(receipt.attempts),
      "next_try_at": JSON(receipt.availableAt), "refused_at": JSON(receipt.refusedAt),
      "is_restore": JSON(receipt.isRestore || receipt.restoreOwner != nil), "is_host_owned": JSON(receipt.isHostOwned),
    ]
  }
}

extension ClientStorage.PersonWrite {
  fileprivate var document: JSON {
    switch self {
    case .identify(let identification): ["kind": "identify", "distinct_id": JSON(identification.id.text)]
    case .attributes(_, let id): ["kind": "attributes", "distinct_id": JSON(id.text)]
    }
  }
}
