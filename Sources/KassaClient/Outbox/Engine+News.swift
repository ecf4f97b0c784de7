import KassaCore
import KassaJSON

/// What the store delivered by itself and the host has yet to hear of. A store may list thousands at a time, so none has a
/// task of its own.
struct News {
  private struct Item {
    var transactions: [StoreTransaction]
    /// When it is told in any case, in milliseconds of the boot clock.
    var deadline: Int64
  }

  private var items: [ReceiptID: Item] = [:]
  /// In the order of their deadlines; those that were told meanwhile are skipped.
  private var order: [ReceiptID] = []
  private var told = 0
  var alarm: Task<Void, Never>?

  var ids: [ReceiptID] { Array(items.keys) }

  mutating func add(_ transaction: StoreTransaction, _ id: ReceiptID, until deadline: Int64) {
    // Two products of one of Google's orders may share a receipt.
    if items[id] == nil { order.append(id) }
    var transaction = transaction
    // Nobody is told what proves it.
    transaction.proof = ""
    items[id, default: Item(transactions: [], deadline: deadline)].transactions.append(transaction)
  }

  mutating func take(_ id: ReceiptID) -> [StoreTransaction] { items.removeValue(forKey: id)?.transactions ?? [] }

  /// The next deadline.
  mutating func next() -> (id: ReceiptID, deadline: Int64)? {
    while order.indices.contains(told) {
      let id = order[told]
      if let item = items[id] { return (id, item.deadline) }
      told += 1
    }
    (order, told) = ([], 0)
    return nil
  }
}

extension Engine {
  /// Tells of an update, once the service has it or cannot be reached in the time that a purchase would wait.
  func announce(_ transaction: StoreTransaction, _ capture: Capture) {
    guard case .queued(let id) = capture else { return tell(transaction, synced: capture.id != nil) }
    let deadline = (time.bootNanoseconds / 1_000_000).adding(Constants.purchaseWaitMilliseconds)
    outbox.news.add(transaction, id, until: deadline)
    if outbox.news.alarm == nil { armNews() }
  }

  /// The service has these.
  func tellNews(of ids: some Sequence<ReceiptID>) {
    for id in ids {
      for transaction in outbox.news.take(id) { tell(transaction, synced: true) }
    }
  }

  /// Another process may have delivered them.
  func checkNews() {
    guard let scope = active?.setup.scope else { return }
    tellNews(of: outbox.news.ids.filter { (try? storage.receiptRow($0, scope: scope))?.isAccepted ?? false })
  }

  private func armNews() {
    guard let next = outbox.news.next() else { return outbox.news.alarm = nil }
    outbox.news.alarm = Task(executorPreference: loop) { await self.tellLateNews(next.deadline) }
  }

  private func tellLateNews(_ deadline: Int64) async {
    let wait = deadline.subtracting(time.bootNanoseconds / 1_000_000)
    do throws(CancellationError) { try await time.sleep(milliseconds: max(wait, 0)) } catch { return }
    while let next = outbox.news.next(), next.deadline <= time.bootNanoseconds / 1_000_000 {
      for transaction in outbox.news.take(next.id) { tell(transaction, synced: false) }
    }
    armNews()
  }

  private func tell(_ transaction: StoreTransaction, synced: Bool) {
    queue.put(
      .transaction([
        "type": "transaction_updated", "transaction": document(of: transaction), "synced": JSON(synced),
      ]))
  }
}
