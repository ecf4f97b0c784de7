import KassaCore
import KassaJSON
import KassaPlatform

/// Something that the sandbox remembers.
protocol Record {
  /// Names the table.
  static var kind: String { get }
  var id: String { get }
  init(_ fields: Fields) throws(JSONShapeError)
  var document: JSON { get }
}

/// The records of one kind, in the order in which they came. A record keeps its place when it changes.
struct Table<Element: Record> {
  private var places: [String: Int] = [:]
  private var elements: [Element?] = []
  /// The ids of what the file does not have yet, in the order of the changes.
  private var unsaved: [String] = []

  subscript(id: String) -> Element? { places[id].flatMap { elements[$0] } }

  var all: [Element] { elements.compactMap { $0 } }

  mutating func put(_ element: Element) {
    if let place = places[element.id] {
      elements[place] = element
    } else {
      places[element.id] = elements.count
      elements.append(element)
    }
    unsaved.append(element.id)
  }

  mutating func remove(_ id: String) {
    guard let place = places.removeValue(forKey: id) else { return }
    elements[place] = nil
    unsaved.append(id)
  }
}

extension Table {
  mutating func load(from database: Database) throws(DatabaseError) {
    self = Table()
    let documents = try database.run(
      "SELECT document FROM records WHERE kind = ? ORDER BY rowid", [.text(Element.kind)]
    ) { $0.text(0) }
    for document in documents {
      guard let json = try? JSON.parse(document), let element = try? Element(Fields(json)) else {
        throw DatabaseError(
          code: DatabaseError.corrupt, message: "a record of kind \(Element.kind) cannot be read: \(document)")
      }
      put(element)
    }
    unsaved = []
  }

  mutating func save(to database: Database) throws(DatabaseError) {
    for id in unsaved {
      if let element = self[id] {
        try database.run(
          """
          INSERT INTO records (kind, id, document) VALUES (?, ?, ?)
          ON CONFLICT (kind, id) DO UPDATE SET document = excluded.document
          """, [.text(Element.kind), .text(id), .text(element.document.text())])
      } else {
        try database.run("DELETE FROM records WHERE kind = ? AND id = ?", [.text(Element.kind), .text(id)])
      }
    }
    unsaved = []
  }
}

/// Everything that the sandbox remembers: read from memory, kept in SQLite. Several processes may share one file.
struct Store {
  private let database: Database
  private var version: Int64 = -1

  var clock = Table<ClockRecord>()
  var plans = Table<PlanRecord>()
  var buyers = Table<BuyerRecord>()
  var paymentMethods = Table<PaymentMethodRecord>()
  var checkouts = Table<CheckoutRecord>()
  var memberships = Table<MembershipRecord>()
  var payments = Table<PaymentRecord>()
  var tokens = Table<TokenRecord>()
  var revokedKeys = Table<RevokedKeyRecord>()
  var storeTransactions = Table<StoreTransactionRecord>()
  var replays = Table<ReplayRecord>()
  var voidhash = VoidhashTables()

  init(path: String) throws(DatabaseError) {
    database = try Database(path: path)
    try database.script(
      """
      CREATE TABLE IF NOT EXISTS records (
        kind TEXT NOT NULL, id TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (kind, id)) STRICT
      """)
    try loadIfChanged()
  }

  /// Starts a transaction on what every process has written so far.
  mutating func begin() throws(DatabaseError) {
    try database.run("BEGIN IMMEDIATE")
    try loadIfChanged()
  }

  /// Writes what has changed since `begin`.
  mutating func commit() throws(DatabaseError) {
    try clock.save(to: database)
    try plans.save(to: database)
    try buyers.save(to: database)
    try paymentMethods.save(to: database)
    try checkouts.save(to: database)
    try memberships.save(to: database)
    try payments.save(to: database)
    try tokens.save(to: database)
    try revokedKeys.save(to: database)
    try storeTransactions.save(to: database)
    try replays.save(to: database)
    try voidhash.save(to: database)
    try database.run("COMMIT")
  }

  /// Forgets what has changed since `begin`.
  mutating func rollBack() {
    try? database.run("ROLLBACK")
    version = -1
  }

  /// SQLite's data version changes when another connection has written.
  private mutating func loadIfChanged() throws(DatabaseError) {
    let current = try database.run("PRAGMA data_version") { $0.integer(0) }.first ?? 0
    guard current != version else { return }
    try clock.load(from: database)
    try plans.load(from: database)
    try buyers.load(from: database)
    try paymentMethods.load(from: database)
    try checkouts.load(from: database)
    try memberships.load(from: database)
    try payments.load(from: database)
    try tokens.load(from: database)
    try revokedKeys.load(from: database)
    try storeTransactions.load(from: database)
    try replays.load(from: database)
    try voidhash.load(from: database)
    version = current
  }
}

extension DatabaseError {
  /// `SQLITE_CORRUPT`
  fileprivate static let corrupt: Int32 = 11
}
