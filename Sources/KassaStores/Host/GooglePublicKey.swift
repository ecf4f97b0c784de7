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
    guard OpenSSL.isPrepared, let der = Base64.decode(text, .standard) else { return nil }
    let errors = CryptoErrors()
    defer { errors.forget() }
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
    defer { EVP_MD_CTX_free(context) }
    let errors = CryptoErrors()
    defer { errors.forget() }
    let bytes = Array(text.utf8)
    return EVP_DigestVerifyInit(context, nil, EVP_sha1(), nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }
}
