import KassaCore

/// UUIDs that a name always has (RFC 9562, section 5.5: version 5).
public struct NameUUID: Sendable {
  private let namespace: [UInt8]

  /// Nil for what is no UUID.
  public init?(namespace: String) {
    guard let bytes = uuidBytes(namespace) else { return nil }
    self.namespace = bytes
  }

  /// In lower case; nil where libcrypto has no SHA-1. The name's bytes count as they are: no two spellings are the same.
  /// The first use opens libcrypto, which takes some milliseconds.
  public func uuid(of name: String) -> String? {
    OpenSSL.sha1(namespace + Array(name.utf8)).flatMap { uuidText($0.prefix(16), version: 5) }
  }
}
