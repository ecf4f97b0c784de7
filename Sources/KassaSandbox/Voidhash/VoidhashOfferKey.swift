import COpenSSL
import KassaPlatform

/// A private key on P-256 that signs offers.
final class VoidhashOfferKey {
  private let key: OpaquePointer

  /// A new one.
  init?() {
    guard OpenSSL.isPrepared, let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "prime256v1") == 1,
      EVP_PKEY_keygen(context, &key) == 1, let key
    else { return nil }
    self.key = key
  }

  /// What `der` gave.
  init?(der: [UInt8]) {
    let key = der.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return OpenSSL.isPrepared ? d2i_AutoPrivateKey(nil, &start, buffer.count) : nil
    }
    guard let key else { return nil }
    self.key = key
  }

  deinit { EVP_PKEY_free(key) }

  var der: [UInt8] { encoded(i2d_PrivateKey) }
  /// SubjectPublicKeyInfo
  var publicDER: [UInt8] { encoded(i2d_PUBKEY) }

  private func encoded(
    _ encode: (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
  ) -> [UInt8] {
    let size = encode(key, nil)
    guard size > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
      var start = buffer.baseAddress
      count = max(0, Int(encode(key, &start)))
    }
  }

  /// ECDSA with SHA-256, in DER.
  func sign(_ text: String) -> [UInt8]? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    let bytes = Array(text.utf8)
    var size = 0
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      EVP_DigestSign(context, nil, &size, bytes, bytes.count) == 1
    else { return nil }
    var signature = [UInt8](repeating: 0, count: size)
    guard EVP_DigestSign(context, &signature, &size, bytes, bytes.count) == 1 else { return nil }
    return Array(signature.prefix(size))
  }
}
