import COpenSSL
import KassaPlatform

/// The key with which Google signs the purchases of one app.
///
/// Source: Play Billing, `Purchase.getSignature`: the signature of `Purchase.getOriginalJson` by RSA with SHA-1 and
/// PKCS #1 v1.5 padding, in base64; the Play Console shows the key as a SubjectPublicKeyInfo in base64.
public final class GooglePublicKey: Sendable {
  private nonisolated(unsafe) let key: OpaquePointer

  /// nil for what is no RSA key of at least 1,024 bits.
  public init?(base64 text: String) {
    guard OpenSSL.isPrepared, let der = StandardBase64.decode(text) else { return nil }
    defer { ERR_clear_error() }
    let (decoded, used) = der.withUnsafeBufferPointer { bytes -> (OpaquePointer?, Int) in
      var position = bytes.baseAddress
      let key = d2i_PUBKEY(nil, &position, bytes.count)
      return (key, position.flatMap { end in bytes.baseAddress.map { end - $0 } } ?? 0)
    }
    guard let decoded else { return nil }
    guard used == der.count, EVP_PKEY_is_a(decoded, "RSA") == 1, EVP_PKEY_get_bits(decoded) >= 1_024 else {
      EVP_PKEY_free(decoded)
      return nil
    }
    key = decoded
  }

  deinit { EVP_PKEY_free(key) }

  /// Whether Google signed exactly this text.
  public func verifies(_ text: String, signature: [UInt8]) -> Bool {
    guard let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    let bytes = Array(text.utf8)
    return EVP_DigestVerifyInit(context, nil, EVP_sha1(), nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }
}

/// Base64 as RFC 4648 has it in section 4: padded, no other character, unused bits zero.
enum StandardBase64 {
  static func decode(_ text: String) -> [UInt8]? {
    let characters = Array(text.utf8)
    guard characters.count % 4 == 0, characters.count <= 1 << 20 else { return nil }
    guard !characters.isEmpty else { return [] }
    let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    var decoded = [UInt8](repeating: 0, count: characters.count / 4 * 3)
    let count = Int(EVP_DecodeBlock(&decoded, characters, Int32(characters.count)))
    guard padding <= 2, count >= padding else { return nil }
    let bytes = Array(decoded.prefix(count - padding))
    // libcrypto skips white space and ignores unused bits; writing it again shows both.
    return encode(bytes) == characters ? bytes : nil
  }

  static func encode(_ bytes: [UInt8]) -> [UInt8] {
    var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let count = Int(EVP_EncodeBlock(&text, bytes, Int32(clamping: bytes.count)))
    return Array(text.prefix(max(0, count)))
  }
}

/// The SHA-256 of a text in hexadecimal digits; nil where libcrypto cannot.
func sha256(_ text: String) -> String? {
  guard OpenSSL.isPrepared else { return nil }
  let bytes = Array(text.utf8)
  var digest = [UInt8](repeating: 0, count: 32)
  guard EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1 else { return nil }
  return digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}
