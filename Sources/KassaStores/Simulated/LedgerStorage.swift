import KassaCore
import KassaJSON
import KassaPlatform

/// The file of a simulated store. Several processes may share it: each reads again what another one has written.
final class LedgerStorage {
  private let database: Database
  private var version: Int64 = -1

  struct Contents {
    var ledger: StoreLedger
    /// By transaction, as `StoreSigner` keeps it.
    var signed: [String: String]
    /// The number of the last event.
    var lastEvent: Int64
  }

  init(path: String) throws(DatabaseError) {
    database = try Database(path: path)
    database.setBusyTimeout(milliseconds: 1_000)
    try database.script("PRAGMA journal_mode=WAL")
    // Ids are numbers that grow, and events are never deleted: no index and no sequence, so a commit writes few pages.
    try database.script(
      """
      CREATE TABLE IF NOT EXISTS account (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS transactions (
        id INTEGER PRIMARY KEY, document TEXT NOT NULL, signed TEXT NOT NULL) STRICT;
      CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY, document TEXT NOT NULL,
        transaction_id TEXT) STRICT
      """)
  }

  /// Another connection has written since the last `load`.
  func hasNews() throws(DatabaseError) -> Bool { try dataVersion() != version }

  private func dataVersion() throws(DatabaseError) -> Int64 {
    try database.run("PRAGMA data_version") { $0.integer(0) }.first ?? 0
  }

  func transaction<Value>(_ body: () throws(DatabaseError) -> Value) throws(DatabaseError) -> Value {
    try database.transaction(body)
  }

  // MARK: Reading

  func value(_ key: String) throws(DatabaseError) -> String? {
    try database.run("SELECT value FROM account WHERE key = ?", [.text(key)]) { $0.text(0) }.first
  }

  /// Nil when there is no account yet.
  func load() throws(DatabaseError) -> Contents? {
    version = try dataVersion()
    guard let text = try value("ledger") else { return nil }
    let rows = try database.run("SELECT id, document, signed FROM transactions ORDER BY id") { row in
      (row.text(0), row.text(1), row.text(2))
    }
    do {
      var ledger = try StoreLedger(Fields(JSON.parse(text)))
      for (_, document, _) in rows { ledger.put(try LedgerTransaction(Fields(JSON.parse(document)))) }
      return Contents(
        ledger: ledger, signed: Dictionary(rows.map { ($0.0, $0.2) }) { $1 }, lastEvent: try lastEvent())
    } catch let error as DatabaseError {
      throw error
    } catch {
      throw DatabaseError(code: Self.corrupt, message: "the simulated store's file cannot be read: \(error)")
    }
  }

  private func lastEvent() throws(DatabaseError) -> Int64 {
    try database.run("SELECT max(number) FROM events") { $0.integer(0) }.first ?? 0
  }

  /// The transactions that were made or changed after an event, in order.
  func changedTransactions(after event: Int64) throws(DatabaseError) -> [String] {
    try database.run(
      "SELECT transaction_id FROM events WHERE number > ? AND transaction_id IS NOT NULL ORDER BY number",
      [.integer(event)]
    ) { $0.text(0) }
  }

  func events() throws(DatabaseError) -> [String] {
    try database.run("SELECT document FROM events ORDER BY number") { $0.text(0) }
  }

  // MARK: Writing, inside a transaction

  func set(_ key: String, _ value: String) throws(DatabaseError) {
    try database.run(
      "INSERT INTO account (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      [.text(key), .text(value)])
  }

  func save(_ ledger: StoreLedger) throws(DatabaseError) { try set("ledger", ledger.document.text()) }

  /// Without a signed text the one that is kept stays.
  func save(_ transaction: LedgerTransaction, signed: String?) throws(DatabaseError) {
    let id = DatabaseValue(Int64(transaction.id)), document = DatabaseValue.text(transaction.document.text())
    guard let signed else {
      return try database.run("UPDATE transactions SET document = ? WHERE id = ?", [document, id])
    }
    try database.run(
      """
      INSERT INTO transactions (id, document, signed) VALUES (?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET document = excluded.document, signed = excluded.signed
      """, [id, document, .text(signed)])
  }

  func forgetTransactions() throws(DatabaseError) { try database.run("DELETE FROM transactions") }

  /// Gives the number of the event.
  func append(_ event: LedgerEvent) throws(DatabaseError) -> Int64 {
    let rows = try database.run(
      "INSERT INTO events (document, transaction_id) VALUES (?, ?) RETURNING number",
      [.text(event.document.text()), DatabaseValue(event.changesTransaction ? event.transactionID : nil)]
    ) { $0.integer(0) }
    return rows.first ?? 0
  }

  /// `SQLITE_CORRUPT`
  static let corrupt: Int32 = 11
}
