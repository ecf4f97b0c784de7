import KassaCore
import KassaJSON
import KassaPlatform
import KassaReceipts

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
  var news = StoreNews()
  var hasNewPrices = false
  var listener: ((StoreEvent) -> Void)?
  /// Tells the rest of the news.
  var telling: Task<Void, Never>?
  var timer: Task<Void, Never>?
  var timerDue: Int64?
  /// After a failure: how long it was until this was tried again.
  var retryDelay: Int64?

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
    register(ledger.transactions.all.filter { !$0.isFinished }.map { delivery(of: $0.id) })
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
    var change: Change?
    var outcome: Result<Value, StoreRefusal>?
    let graceEnds = ledger.graceEnds
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
        change = Change(ledger: draft, signed: own.signed, lastEvent: own.lastEvent, changed: own.changed)
      }
    }
    guard let change, let outcome else { throw KassaError(.internalError, "the simulated store's change got lost") }
    take(change)
    registerGrace(after: graceEnds)
    let result: Value
    do throws(StoreRefusal) { result = try outcome.get() } catch {
      tell()
      throw error.kassaError
    }
    tell(except: silent(result))
    return result
  }

  /// Lets happen what is due, and hears of what other processes did.
  public func refresh() throws(KassaError) {
    let isDue = ledger.dueAt.map { $0 <= ports.now() } ?? false
    let hasNews = try stored { () throws(DatabaseError) in try storage.hasNews() }
    guard isDue || hasNews else { return schedule() }
    try change { _, _ in ((), []) }
  }

  private struct Change {
    var ledger: StoreLedger
    var signed: [String: String]
    var lastEvent: Int64
    var changed: [String]
  }

  /// Takes over what other processes have written.
  private func reloadIfChanged() throws(DatabaseError) {
    guard try storage.hasNews(), let contents = try storage.load() else { return }
    let changed = try storage.changedTransactions(after: lastEvent)
    adopt(contents.ledger)
    signed = contents.signed
    lastEvent = contents.lastEvent
    for id in changed { deliveries[id] = nil }
    news.add(changed: changed)
  }

  /// Takes over what is on disk, and notes what that means for the listener.
  private func adopt(_ next: StoreLedger) {
    let former = ledger
    ledger = next
    if former.storefront != next.storefront { changeShop() }
    hasNewPrices = hasNewPrices || former.storefront != next.storefront || former.prices != next.prices
    // Transactions go all at once or not at all.
    guard let first = former.transactions.all.first, next.transactions[first.id] == nil else { return }
    signed = [:]
    deliveries = [:]
    let graceEnds = former.graceEnds
    news.add(
      forgotten: former.transactions.all.filter { transaction in
        let end = graceEnds[transaction.id] ?? transaction.expiresAt ?? .max
        return transaction.kind != .consumable && transaction.revocation == nil && end > next.now
      })
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

  func sign(_ transaction: LedgerTransaction, of ledger: StoreLedger) throws(DatabaseError) -> String {
    do throws(Refusal) {
      return try signer.kept(payload.document(transaction, of: ledger, signedAt: ledger.now))
    } catch {
      throw DatabaseError(code: LedgerStorage.corrupt, message: "transaction \(transaction.id): \(error)")
    }
  }

  private func take(_ change: Change) {
    adopt(change.ledger)
    lastEvent = change.lastEvent
    for (id, text) in change.signed where signed[id] != text {
      signed[id] = text
      deliveries[id] = nil
    }
    news.add(changed: change.changed)
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

  public func clockMoved() { wake() }

  public func close() {
    listener = nil
    telling?.cancel()
    telling = nil
    timer?.cancel()
    timer = nil
    timerDue = nil
  }
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
