import KassaCore
import KassaJSON
import KassaPlatform
import KassaReceipts

/// What a simulated store needs from its client.
public struct SimulatedStorePorts: Sendable {
  /// For sleeping only.
  public var time: any TimeSource
  public var random: any RandomSource
  /// The time by which subscriptions renew, in milliseconds since 1970 UTC.
  public var now: @Sendable () -> Int64
  /// Starts a task on the client's loop; without it nothing happens between two calls.
  public var start: (@Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>)?
  /// Hears of each transaction that is made or changed, before anybody else does: what Apple's servers would know. The
  /// same may come again after a restart.
  public var onTransaction: (@Sendable (StoreTransaction) -> Void)?

  public init(
    time: any TimeSource, random: any RandomSource, now: @escaping @Sendable () -> Int64,
    start: (@Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>)? = nil,
    onTransaction: (@Sendable (StoreTransaction) -> Void)? = nil
  ) {
    self.time = time
    self.random = random
    self.now = now
    self.start = start
    self.onTransaction = onTransaction
  }
}

/// An App Store of this machine's own: it sells what an Xcode `.storekit` file says, renews on the client's clock, signs
/// its transactions with its own certificates, and does to them what `simulate` is told.
///
/// Used on the client's loop only. Its state lies in one SQLite file, which several processes may share; every change
/// is durable before anybody hears of it.
public final class SimulatedStore: Store, @unchecked Sendable {
  let ports: SimulatedStorePorts
  private let configuration: SimulatedStoreConfiguration
  private let readCatalogue: (Storefront?) throws(KassaError) -> StoreCatalogue
  let payload: TransactionPayload
  let signer: StoreSigner
  private let storage: LedgerStorage
  /// Shows sheets where the policy is `host`.
  public var presenter: (any SheetPresenter)?

  private(set) var ledger: StoreLedger
  private(set) var shop: StoreShop
  /// What the store says of each transaction, signed, as it is kept (`StoreSigner.kept`).
  private var signed: [String: String] = [:]
  /// The same, verified.
  private var deliveries: [String: StoreDelivery] = [:]
  private var lastEvent: Int64 = 0
  /// Transactions that other processes made or changed, and that the listener has not heard of.
  private var unheard: [String] = []
  private var listener: ((StoreEvent) -> Void)?
  private var timer: Task<Void, Never>?
  private var timerDue: Int64?

  /// Opens the store, or makes it.
  ///
  /// - Parameters:
  ///   - file: The bytes of the `.storekit` file.
  ///   - path: The SQLite file that holds the state, or `":memory:"`.
  public convenience init(
    _ configuration: SimulatedStoreConfiguration, file: [UInt8], path: String, ports: SimulatedStorePorts
  ) throws(KassaError) {
    try self.init(configuration, path: path, ports: ports) { storefront throws(KassaError) in
      do throws(JSONShapeError) {
        let country = storefront.flatMap { Territory.alpha3($0.country) } ?? configuration.storefront
        return try StoreKitFile.read(file, storefront: country, locale: configuration.locale)
      } catch {
        throw KassaError(
          .invalidConfiguration, "store.storekit_file: \"\(configuration.storekitFile.quoted)\": \(error)")
      }
    }
  }

  /// - Parameter catalogue: What is sold in a storefront; nil is the one of the configuration and the file.
  init(
    _ configuration: SimulatedStoreConfiguration, path: String, ports: SimulatedStorePorts,
    catalogue: @escaping (Storefront?) throws(KassaError) -> StoreCatalogue
  ) throws(KassaError) {
    self.configuration = configuration
    var ports = ports
    if let seed = configuration.seed { ports.random = SeededRandom(seed: seed) }
    self.ports = ports
    readCatalogue = catalogue
    payload = TransactionPayload(
      bundleID: configuration.bundleID, environment: configuration.isXcode ? .xcode : .sandbox)
    let first = try catalogue(nil)
    do {
      storage = try LedgerStorage(path: path)
      let opened = try Self.open(storage, (configuration.storefront, first.storefront), ports)
      ledger = opened.contents.ledger
      signed = opened.contents.signed
      lastEvent = opened.contents.lastEvent
      signer = StoreSigner(opened.authority, payload, time: ports.time)
    } catch {
      throw KassaError(.storage, "the simulated store's state in \"\(path)\" cannot be opened: \(error)")
    }
    shop = StoreShop(first)
    if ledger.storefront != first.storefront { shop = StoreShop(try catalogue(ledger.storefront)) }
    // What was not finished may not have been heard of before the last run ended.
    for transaction in ledger.transactions.all where !transaction.isFinished { register(transaction.id) }
  }

  private static func open(
    _ storage: LedgerStorage, _ configured: (country: String?, storefront: Storefront?), _ ports: SimulatedStorePorts
  ) throws -> (contents: LedgerStorage.Contents, authority: SigningAuthority) {
    var made: SigningAuthority?
    if try storage.value("authority") == nil { made = try SigningAuthority(at: ports.now()) }
    let contents = try storage.transaction { () throws(DatabaseError) -> LedgerStorage.Contents in
      if var contents = try storage.load() {
        let kept = contents.ledger
        for event in contents.ledger.configure(country: configured.country, configured.storefront) {
          contents.lastEvent = try storage.append(event)
        }
        if contents.ledger != kept { try storage.save(contents.ledger) }
        return contents
      }
      // Numbers like those of Apple's sandbox, other ones in each store.
      let first = 2_000_000_000_000_000 + Int64(ports.random.fraction() * 900_000_000) * 1_000_000
      let app = 700_000_000_000_000_000 + Int64(ports.random.fraction() * 1_000_000_000) * 1_000_000
      let now = ports.now()
      var ledger = StoreLedger(
        now: now, firstNumber: first, appTransactionID: String(app), createdAt: now, storefront: configured.storefront)
      ledger.configuredCountry = configured.country
      try storage.save(ledger)
      if let made { try storage.set("authority", made.serialized) }
      return LedgerStorage.Contents(ledger: ledger, signed: [:], lastEvent: 0)
    }
    guard let kept = try storage.value("authority") else {
      throw DatabaseError(code: LedgerStorage.corrupt, message: "the file has lost the store's keys")
    }
    return (contents, try SigningAuthority(serialized: kept))
  }

  /// The root of the store's certificates, to be trusted for what this store sells and for nothing else.
  public var root: TrustAnchor { signer.authority.root }

  /// The keys of the `.storekit` file that are not honoured; each is worth one diagnostic.
  public var unsupportedKeys: [String] { shop.catalogue.unsupported }

  /// What `simulate` does.
  public static let actions = StoreAction.names

  /// Everything that happened, one JSON document a line, from the first day on: the same for the same script.
  public func eventLog() throws(KassaError) -> [String] {
    try stored { () throws(DatabaseError) in try storage.events() }
  }

  // MARK: Changing the ledger

  /// Lets happen what is due, then does one thing, and makes both durable together. What it changed is told to the
  /// listener, apart from the `silent` transaction, which is the caller's answer.
  func change<Value>(
    silent: (Value) -> String? = { _ in nil },
    _ act: (inout StoreLedger, StoreShop) throws(StoreRefusal) -> (value: Value, events: [LedgerEvent])
  ) throws(KassaError) -> Value {
    var news: News?
    var outcome: Result<Value, StoreRefusal>?
    let former = ledger
    try stored { () throws(DatabaseError) in
      try storage.transaction { () throws(DatabaseError) in
        try reloadIfChanged()
        var draft = ledger
        var events = draft.catchUp(to: ports.now(), in: shop)
        var acted = draft
        do throws(StoreRefusal) {
          let done = try act(&acted, shop)
          draft = acted
          events += done.events
          outcome = .success(done.value)
        } catch { outcome = .failure(error) }
        let own = try save(draft, events)
        news = News(ledger: draft, signed: own.signed, lastEvent: own.lastEvent, changed: own.changed)
      }
    }
    guard let news, let outcome else { throw KassaError(.internalError, "the simulated store's change got lost") }
    take(news)
    registerGrace(after: former.graceEnds)
    if ledger.storefront != former.storefront { changeShop() }
    // Prices are read again as after a move.
    if ledger.storefront != former.storefront || ledger.prices != former.prices {
      listener?(.storefrontChanged(ledger.storefront))
    }
    let result: Value
    do throws(StoreRefusal) { result = try outcome.get() } catch {
      tell(news.changed)
      throw error.kassaError
    }
    tell(news.changed, except: silent(result))
    return result
  }

  /// Lets happen what is due, and hears of what other processes did.
  public func refresh() throws(KassaError) {
    let isDue = ledger.dueAt.map { $0 <= ports.now() } ?? false
    let hasNews = try stored { () throws(DatabaseError) in try storage.hasNews() }
    guard isDue || hasNews else { return schedule() }
    try change { _, _ in ((), []) }
  }

  private struct News {
    var ledger: StoreLedger
    var signed: [String: String]
    var lastEvent: Int64
    var changed: [String]
  }

  /// Takes over what other processes have written.
  private func reloadIfChanged() throws(DatabaseError) {
    guard try storage.hasNews(), let contents = try storage.load() else { return }
    let changed = try storage.changedTransactions(after: lastEvent)
    let storefront = ledger.storefront
    ledger = contents.ledger
    signed = contents.signed
    lastEvent = contents.lastEvent
    for id in changed { deliveries[id] = nil }
    unheard += changed
    if ledger.storefront != storefront { changeShop() }
  }

  private func save(
    _ draft: StoreLedger, _ events: [LedgerEvent]
  ) throws(DatabaseError) -> (signed: [String: String], lastEvent: Int64, changed: [String]) {
    var texts: [String: String] = [:]
    var number = lastEvent
    guard draft != ledger || !events.isEmpty else { return (texts, number, []) }
    if !draft.hasSameAccount(as: ledger) { try storage.save(draft) }
    if events.contains(where: { $0.kind == .cleared }) { try storage.forgetTransactions() }
    for event in events {
      number = try storage.append(event)
      guard let id = event.transactionID, let transaction = draft.transactions[id], texts[id] == nil else { continue }
      if event.changesTransaction {
        let text = try sign(transaction, of: draft)
        texts[id] = text
        try storage.save(transaction, signed: text)
      } else if transaction != ledger.transactions[id] {
        // Whether it is finished is not in what is signed.
        try storage.save(transaction, signed: nil)
      }
    }
    return (texts, number, events.filter(\.changesTransaction).compactMap(\.transactionID))
  }

  private func sign(_ transaction: LedgerTransaction, of ledger: StoreLedger) throws(DatabaseError) -> String {
    do throws(Refusal) {
      return try signer.kept(payload.document(transaction, of: ledger, signedAt: ledger.now))
    } catch {
      throw DatabaseError(code: LedgerStorage.corrupt, message: "transaction \(transaction.id): \(error)")
    }
  }

  private func take(_ news: News) {
    if ledger.transactions.all.count > news.ledger.transactions.all.count {
      signed = [:]
      deliveries = [:]
    }
    ledger = news.ledger
    lastEvent = news.lastEvent
    for (id, text) in news.signed where signed[id] != text {
      signed[id] = text
      deliveries[id] = nil
    }
  }

  private func tell(_ changed: [String], except silent: String? = nil) {
    let others = unheard
    unheard = []
    var told: Set<String> = []
    for id in others + changed where told.insert(id).inserted {
      register(id)
      if id != silent { listener?(.updated(delivery(of: id))) }
    }
    schedule()
  }

  /// Tells of a transaction, and of the grace period that it is in: that is not signed, but Apple's servers know it.
  private func register(_ id: String) {
    guard let hear = ports.onTransaction, case .verified(var transaction) = delivery(of: id) else { return }
    transaction.graceEndsAt = ledger.graceEnds[id]
    hear(transaction)
  }

  /// Subscriptions whose grace period has begun or is over.
  private func registerGrace(after former: [String: Int64]) {
    let present = ledger.graceEnds
    for id in Set(former.keys).union(present.keys).sorted()
    where former[id] != present[id] && ledger.transactions[id] != nil { register(id) }
  }

  private func stored<Value>(_ body: () throws(DatabaseError) -> Value) throws(KassaError) -> Value {
    do throws(DatabaseError) { return try body() } catch {
      throw KassaError(
        .storage, "the simulated store's state cannot be read or written: \(error)", retryable: error.isBusy)
    }
  }

  // MARK: Deliveries

  /// A transaction as the client gets it: read from what was signed, and verified.
  public func read(signedTransaction text: String) -> StoreDelivery? {
    do throws(Refusal) { return .verified(try signer.transaction(text)) } catch {
      return .refused(text, error)
    }
  }

  func delivery(of id: String) -> StoreDelivery {
    if let known = deliveries[id] { return known }
    let productID = ledger.transactions[id]?.productID
    if shop.settings.failures[.verification] != nil {
      return .unverified(
        id: id, productID: productID, reason: "simulated_failure",
        message: "the .storekit file makes verification fail (_storeKitErrors)")
    }
    do throws(Refusal) {
      guard let text = signed[id] else { throw Refusal("unknown_transaction", "transaction \(id) was never signed") }
      let delivery = StoreDelivery.verified(try signer.transaction(kept: text))
      deliveries[id] = delivery
      return delivery
    } catch {
      return .unverified(id: id, productID: productID, reason: error.reason, message: error.message)
    }
  }

  // MARK: The storefront

  /// The policy in force, unless sheets are switched off.
  var policy: SheetPolicy {
    let policy = ledger.policy ?? configuration.policy
    return policy == .host && shop.settings.disablesDialogs ? .always(.approve) : policy
  }

  /// Reads the catalogue again for the storefront that the account has now; it stays as it is where that fails.
  func changeShop() {
    do throws(KassaError) { shop = StoreShop(try readCatalogue(ledger.storefront)) } catch {}
  }

  func emit(_ event: StoreEvent) { listener?(event) }

  // MARK: Listening

  public func listen(_ listener: @escaping (StoreEvent) -> Void) {
    self.listener = listener
    schedule()
  }

  /// There is no store of the host's behind this one.
  public func notify(_ event: JSON) throws(KassaError) {
    throw KassaError(
      .unsupported, "a simulated store has no store of the host's to report from: use kassa_simulate")
  }

  public func clockMoved() { try? refresh() }

  public func close() {
    listener = nil
    timer?.cancel()
    timer = nil
    timerDue = nil
  }

  /// Wakes when the next thing is due. The longest sleep is short enough to notice a clock that was set.
  private func schedule() {
    guard listener != nil, let start = ports.start else { return }
    guard let due = ledger.dueAt else {
      timer?.cancel()
      (timer, timerDue) = (nil, nil)
      return
    }
    guard due != timerDue else { return }
    timer?.cancel()
    timerDue = due
    let delay = min(max(1, due.subtracting(ports.now())), Self.longestSleep), time = ports.time
    timer = start { [weak self] in
      do throws(CancellationError) { try await time.sleep(milliseconds: delay) } catch { return }
      self?.wake()
    }
  }

  private func wake() {
    timerDue = nil
    do throws(KassaError) { try refresh() } catch {
      // The next call says why; until then this tries again.
      schedule()
    }
  }

  private static let longestSleep: Int64 = 3_600_000
}

extension StoreRefusal {
  var kassaError: KassaError {
    switch reason {
    case .unknownProduct: KassaError(.productNotFound, message, reason: reason.rawValue)
    case .unknownOffer, .ineligible: KassaError(.offerUnavailable, message, reason: reason.rawValue)
    case .invalidQuantity: KassaError(.invalidArgument, message, reason: reason.rawValue)
    case .unknownTransaction, .nothingThere: KassaError(.notFound, message, reason: reason.rawValue)
    }
  }
}
