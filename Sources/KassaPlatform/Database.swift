import CSQLite
import Glibc

/// What SQLite refused: its extended result code and its own words.
public struct DatabaseError: Error, CustomStringConvertible {
  public let code: Int32
  public let message: String
  public init(code: Int32, message: String) {
    self.code = code
    self.message = message
  }
  public var isBusy: Bool { code & 0xFF == SQLITE_BUSY }
  public var isFull: Bool { code & 0xFF == SQLITE_FULL }
  public var isCorrupt: Bool { code & 0xFF == SQLITE_CORRUPT || code & 0xFF == SQLITE_NOTADB }
  public var description: String { "\(message) (SQLite code \(code))" }
}

/// A value that SQLite stores.
public enum DatabaseValue: Sendable, Equatable {
  case null
  case integer(Int64)
  case text(String)
  case blob([UInt8])
  public init(_ value: Int64?) { self = value.map { .integer($0) } ?? .null }
  public init(_ value: String?) { self = value.map { .text($0) } ?? .null }
}

/// One SQLite connection, used by one thread at a time. Statements are prepared once and kept.
public final class Database {
  private let connection: OpaquePointer
  private var statements: [String: OpaquePointer] = [:]
  private var keepsLog = false

  /// Opens or creates a file readable by its owner only, or `":memory:"`.
  public init(path: String) throws(DatabaseError) {
    if path != ":memory:" {
      // SQLite alone would create the file with 0644; the -wal and -shm files inherit what it finds.
      let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
      if descriptor >= 0 { Glibc.close(descriptor) }
    }
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK, let handle else {
      let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
      sqlite3_close_v2(handle)
      throw DatabaseError(code: code, message: message)
    }
    connection = handle
    sqlite3_busy_timeout(handle, 5_000)
  }

  deinit { close() }

  private func close() {
    if keepsLog { sqlite3_exec(connection, "PRAGMA journal_size_limit=0", nil, nil, nil) }
    for statement in statements.values { sqlite3_finalize(statement) }
    statements = [:]
    sqlite3_close_v2(connection)
  }

  private func failure(_ code: Int32) -> DatabaseError {
    DatabaseError(code: code, message: String(cString: sqlite3_errmsg(connection)))
  }

  /// Leaves the write-ahead log, emptied, where it is when the last connection closes: deleting and making files costs
  /// more than everything else that opening and closing do. While it is open the log keeps its length: writing over what
  /// is there is synced in half the time that it takes to make a file longer.
  public func keepLog() {
    kassa_sqlite_keep_log(connection)
    keepsLog = true
  }

  /// How long a statement waits for another process to finish its write.
  public func setBusyTimeout(milliseconds: Int32) { sqlite3_busy_timeout(connection, milliseconds) }

  /// Runs statements that take no values, such as a schema.
  public func script(_ sql: String) throws(DatabaseError) {
    let code = sqlite3_exec(connection, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// Runs one statement and reads every row it gives.
  @discardableResult
  public func run<Value>(
    _ sql: String, _ values: [DatabaseValue] = [], row: (Row) -> Value
  ) throws(DatabaseError) -> [Value] {
    let statement = try prepared(sql)
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() { try bind(value, at: Int32(index + 1), of: statement) }
    var rows: [Value] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW: rows.append(row(Row(statement: statement)))
      case SQLITE_DONE: return rows
      case let code: throw failure(code)
      }
    }
  }

  public func run(_ sql: String, _ values: [DatabaseValue] = []) throws(DatabaseError) {
    try run(sql, values) { _ in }
  }

  /// Runs the body inside one transaction; an error inside undoes all of it.
  public func transaction<Value>(_ body: () throws(DatabaseError) -> Value) throws(DatabaseError) -> Value {
    try run("BEGIN IMMEDIATE")
    do {
      let value = try body()
      try run("COMMIT")
      return value
    } catch {
      try? run("ROLLBACK")
      throw error
    }
  }

  /// Rows changed by the last statement.
  public var changes: Int { Int(sqlite3_changes(connection)) }

  private func prepared(_ sql: String) throws(DatabaseError) -> OpaquePointer {
    if let statement = statements[sql] { return statement }
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement else { throw failure(code) }
    statements[sql] = statement
    return statement
  }

  private func bind(_ value: DatabaseValue, at index: Int32, of statement: OpaquePointer) throws(DatabaseError) {
    let transient = kassa_sqlite_transient()
    let code: Int32
    switch value {
    case .null: code = sqlite3_bind_null(statement, index)
    case .integer(let number): code = sqlite3_bind_int64(statement, index, number)
    case .text(var text):
      code = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          sqlite3_bind_text64(statement, index, $0.baseAddress, UInt64($0.count), transient, UInt8(SQLITE_UTF8))
        }
      }
    case .blob(let bytes):
      code = bytes.withUnsafeBytes {
        $0.baseAddress == nil
          ? sqlite3_bind_zeroblob(statement, index, 0)
          : sqlite3_bind_blob64(statement, index, $0.baseAddress, UInt64($0.count), transient)
      }
    }
    guard code == SQLITE_OK else { throw failure(code) }
  }

  /// The row a statement stands on; valid only inside the closure that receives it.
  public struct Row {
    fileprivate let statement: OpaquePointer
    public func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
    public func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }
    public func text(_ column: Int32) -> String { optionalText(column) ?? "" }
    public func optionalText(_ column: Int32) -> String? {
      utf8(column).map { String(decoding: $0, as: UTF8.self) }
    }
    /// Reads a text only if it is another one: rows in a row often hold the same.
    public func text(_ column: Int32, unlessSameAs text: inout String) {
      var known: String? = text
      self.text(column, unlessSameAs: &known)
      text = known ?? ""
    }
    public func text(_ column: Int32, unlessSameAs text: inout String?) {
      guard let bytes = utf8(column) else { return text = nil }
      let isSame = text?.utf8.withContiguousStorageIfAvailable { known in
        guard let known = known.baseAddress, let new = bytes.baseAddress, text?.utf8.count == bytes.count else {
          return false
        }
        return memcmp(known, new, bytes.count) == 0
      }
      if isSame != true { text = String(decoding: bytes, as: UTF8.self) }
    }
    private func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8>? {
      guard let text = sqlite3_column_text(statement, column) else { return nil }
      return UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(statement, column)))
    }
    public func blob(_ column: Int32) -> [UInt8] {
      guard let start = sqlite3_column_blob(statement, column) else { return [] }
      return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }
    public func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
  }
}
