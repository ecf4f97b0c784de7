import COpenSSL

/// libcrypto as a polite guest.
public enum OpenSSL {
  /// Initializes libcrypto without the exit handler that it would register by itself at first use. To be asked for
  /// before anything else touches libcrypto; false when it cannot be initialized.
  public static let isPrepared = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}

extension OpenSSL {
  /// The SHA-1 digest, for names only: it protects nothing. Nil where libcrypto has none.
  public static func sha1(_ bytes: [UInt8]) -> [UInt8]? {
    guard isPrepared else { return nil }
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var length: UInt32 = 0
    guard EVP_Digest(bytes, bytes.count, &digest, &length, EVP_sha1(), nil) == 1, length == 20 else { return nil }
    return Array(digest.prefix(20))
  }

  /// The SHA-256 digest of a text in hexadecimal digits. Nil where libcrypto has none.
  public static func hexSHA256(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: 32)
    guard isPrepared, EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1 else { return nil }
    return digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}

/// libcrypto keeps a list of errors for each thread, which the host's own use of it reads too: what we cause is taken
/// off it again, and what was there stays.
public struct CryptoErrors {
  public init() { ERR_set_mark() }
  public func forget() { ERR_pop_to_mark() }
}
