import COpenSSL
import CSQLite
import Glibc

/// SQLite and libcrypto without anything around them.
final class BareWork {
  private var database: OpaquePointer?
  private var insert: OpaquePointer?
  private let key: OpaquePointer
  private let row = String(repeating: "x", count: 500)
  private let message = [UInt8](repeating: 120, count: 1_000)

  init?(path: String) {
    guard sqlite3_open(path, &database) == SQLITE_OK,
      sqlite3_exec(database, "PRAGMA journal_mode=WAL; CREATE TABLE t (document TEXT)", nil, nil, nil) == SQLITE_OK,
      sqlite3_prepare_v2(database, "INSERT INTO t VALUES (?)", -1, &insert, nil) == SQLITE_OK,
      let key = Self.makeKey()
    else { return nil }
    self.key = key
  }

  private static func makeKey() -> OpaquePointer? {
    let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
      EVP_PKEY_generate(context, &key) == 1
    else { return nil }
    return key
  }

  deinit {
    sqlite3_finalize(insert)
    sqlite3_close(database)
    EVP_PKEY_free(key)
  }

  /// One transaction of one row of 500 bytes.
  func commit() {
    sqlite3_bind_text(insert, 1, row, -1, kassa_sqlite_transient())
    sqlite3_step(insert)
    sqlite3_reset(insert)
  }

  /// One ES256 signature of 1,000 bytes.
  func sign() {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 80)
    var length = signature.count
    EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key)
    EVP_DigestSign(context, &signature, &length, message, message.count)
  }
}
