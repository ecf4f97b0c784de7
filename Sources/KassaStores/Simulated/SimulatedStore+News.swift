import KassaCore
import KassaPlatform
import KassaReceipts

// What a simulated store tells by itself: to its listener, and before that to what stands for Apple's servers.
extension SimulatedStore {
  /// How many transactions are told of at once. The client writes each one down; in between it does other things, and may
  /// be closed.
  private static let mostToldAtOnce = 32

  /// `silent` is the caller's answer.
  func tell(except silent: String? = nil) {
    if let silent {
      register([delivery(of: silent)])
      news.remove(changed: silent)
    }
    if hasNewPrices {
      hasNewPrices = false
      // Prices are read again as after a move.
      listener?(.storefrontChanged(ledger.storefront))
    }
    // What is new waits for its turn.
    if telling == nil { tellSome() }
    schedule()
  }

  private func tellSome() {
    let isUnhurried = listener != nil && ports.start != nil
    let items = news.take(isUnhurried ? Self.mostToldAtOnce : .max)
    // What nobody hears is not verified.
    guard listener != nil || ports.onTransactions != nil else { return }
    let some = items.compactMap { delivery(of: $0) }
    register(some)
    for delivery in some { listener?(.updated(delivery)) }
    guard !news.isEmpty, let start = ports.start else { return }
    telling = start { [weak self, time = ports.time] in
      do throws(CancellationError) { try await time.sleep(milliseconds: 1) } catch { return }
      self?.telling = nil
      self?.tellSome()
    }
  }

  /// What is told of a transaction; nil if it is none any more.
  private func delivery(of item: StoreNews.Item) -> StoreDelivery? {
    switch item {
    case .changed(let id): ledger.transactions[id] == nil ? nil : delivery(of: id)
    case .forgotten(let transaction): revoked(transaction)
    }
  }

  /// The last that is heard of a transaction which the account has no more.
  private func revoked(_ transaction: LedgerTransaction) -> StoreDelivery? {
    var transaction = transaction
    transaction.revocation = LedgerRevocation(
      at: ledger.now, kind: transaction.ownership == .familyShared ? .family : .refund, isAppIssue: false,
      percentage: 100_000)
    let signed = try? sign(transaction, of: ledger)
    return signed.flatMap { try? signer.transaction(kept: $0) }.map { .verified($0) }
  }

  /// Tells Apple's servers of transactions, and of the grace periods that they are in: these are not signed, but known
  /// there.
  func register(_ deliveries: @autoclosure () -> [StoreDelivery]) {
    guard let hear = ports.onTransactions else { return }
    let graceEnds = ledger.graceEnds
    let transactions = deliveries().compactMap { delivery -> StoreTransaction? in
      guard case .verified(var transaction) = delivery else { return nil }
      transaction.graceEndsAt = graceEnds[transaction.id]
      return transaction
    }
    if !transactions.isEmpty { hear(transactions) }
  }

  /// Whoever is given everything at once must not know more than Apple's servers.
  func registerNews() { register(news.items.compactMap { delivery(of: $0) }) }

  /// Subscriptions whose grace period has begun or is over.
  func registerGrace(after former: [String: Int64]) {
    let present = ledger.graceEnds
    guard former != present else { return }
    let ids = Set(former.keys).union(present.keys).sorted()
    register(ids.filter { former[$0] != present[$0] && ledger.transactions[$0] != nil }.map { delivery(of: $0) })
  }
}
