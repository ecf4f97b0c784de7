import KassaCore
import KassaJSON

/// Receipts: what the client says of a store transaction is its id alone; the store says the rest.
extension VoidhashService {
  /// The thin body; what older clients send besides is thrown away.
  private enum Receipt {
    case transaction(id: String)
    case purchase(token: String)

    var store: StoreTransaction.Platform {
      switch self {
      case .transaction: .apple
      case .purchase: .google
      }
    }

    init(_ body: Fields) throws(JSONShapeError) {
      let platform = try body.word("platform", among: ["ios", "android"])
      self =
        try body.required(platform, "platform") == "ios"
        ? .transaction(id: body.optionalString("transactionId") ?? "")
        : .purchase(token: body.optionalString("purchaseToken") ?? "")
    }

    /// The name and value of what identifies it.
    var key: (name: String, value: String) {
      switch self {
      case .transaction(let id): ("transactionId", id)
      case .purchase(let token): ("purchaseToken", token)
      }
    }
  }

  func syncTransaction(_ caller: VoidhashCaller, _ body: Fields) throws(VoidhashRefusal) -> JSON {
    let receipt = try Self.read { () throws(JSONShapeError) in try Receipt(body) }
    let (name, value) = receipt.key
    guard value.utf8.contains(where: { $0 > 0x20 }) else { throw .invalid("\(name) is missing or blank.") }
    guard !caller.bundleID.isEmpty else { throw .invalid("The bundle id is missing.") }
    guard catalogue.stores[caller.bundleID]?.contains(receipt.store) == true else {
      let store = receipt.store == .apple ? "App Store" : "Google Play"
      return try refuse(
        catalogue.switches.unconnectedStore, "Api/SdkStoreNotConnectedError",
        "The \(store) is not connected for the bundle id \(caller.bundleID).")
    }
    guard let transaction = transaction(of: receipt) else {
      return try refuse(
        catalogue.switches.unknownReceipts, "Api/SdkTransactionNotFoundError",
        "The store has no transaction with this \(name).")
    }
    take(transaction, from: caller.distinctID)
    return ["accepted": true]
  }

  private func refuse(
    _ form: VoidhashSwitches.Refusal, _ tag: String, _ message: String
  ) throws(VoidhashRefusal) -> JSON {
    switch form {
    case .serviceError: throw .failed(message)
    case .refused: throw VoidhashRefusal(422, tag, message)
    case .notAccepted: return ["accepted": false]
    }
  }

  /// What the store knows of it. Of transactions from a developer's machine no store's servers know.
  private func transaction(of receipt: Receipt) -> StoreTransactionRecord? {
    let known: StoreTransactionRecord?
    switch receipt {
    case .transaction(let id): known = state.store.storeTransactions[StoreTransactionRecord.id(.apple, id)]
    case .purchase(let token):
      // Google's token stays the same when a subscription renews.
      known = state.store.storeTransactions.all
        .filter { $0.store == .google && $0.proofs.contains(token) }.max { $0.purchasedAt < $1.purchasedAt }
    }
    return known.flatMap { VoidhashEnvironment($0.environment) == nil ? nil : $0 }
  }

  /// Accepts a receipt. The same again changes nothing but the count.
  private func take(_ transaction: StoreTransactionRecord, from distinctID: VoidhashDistinctID) {
    let person = personMakingOne(distinctID)
    let known = state.store.voidhash.receipts[transaction.id]
    var receipt = known ?? VoidhashReceiptRecord(transaction)
    receipt.accept(from: distinctID, at: now)
    state.store.voidhash.receipts.put(receipt)

    guard var series = state.store.voidhash.series[transaction.series] else {
      state.store.voidhash.series.put(VoidhashSeriesRecord(id: transaction.series, owner: person.id))
      return
    }
    guard !series.owners.contains(person.id), transaction.type != .consumable else { return }
    // No field says that a receipt comes from a restore. One that was accepted before does; a renewal that surfaces
    // while somebody else is signed in was never seen.
    guard known != nil || !catalogue.switches.onlyRestoresMoveAccess else { return }
    switch catalogue.switches.sharing {
    case .keepWithPreviousOwner: return
    case .transferToNewOwner: series.owners = [person.id]
    case .transferIfNoActiveOnTarget:
      guard !holdings(of: person.id).contains(where: { $0.isActive(at: now) }) else { return }
      series.owners = [person.id]
    case .bothKeep: series.owners.append(person.id)
    }
    state.store.voidhash.series.put(series)
  }
}
