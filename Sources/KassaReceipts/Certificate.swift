import COpenSSL
import Glibc
import KassaCore
import KassaPlatform

/// An X.509 certificate that was read whole. Nothing about it is believed yet.
final class Certificate: @unchecked Sendable {
  /// libcrypto's own object, never changed after `init`; libcrypto locks what it computes later.
  let x509: OpaquePointer
  let der: [UInt8]
  /// Where it stands in the text, for messages: `x5c[0]`.
  let place: String
  let validity: Validity

  /// The first and the last millisecond at which a certificate holds. It says so in seconds, of which both are included
  /// (RFC 5280, section 4.1.2.5), and of years that have four digits.
  struct Validity: Sendable {
    let first: Int64
    let last: Int64
  }

  /// An extension's identifier (OID).
  struct Marker: Sendable {
    let text: String
    /// "Mac App Store Receipt Signing" and the intermediate that signs for it: Apple's certificate policy names them.
    static let leaf = Marker(text: "1.2.840.113635.100.6.11.1")
    static let intermediate = Marker(text: "1.2.840.113635.100.6.2.1")
  }

  init(der: [UInt8], place: String) throws(Refusal) {
    guard OpenSSL.isPrepared else { throw Refusal(.cryptographyFailed, "libcrypto cannot be initialized") }
    var read = 0
    let parsed = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
      var position = bytes.baseAddress
      let parsed = d2i_X509(nil, &position, bytes.count)
      read = bytes.baseAddress.flatMap { start in position.map { $0 - start } } ?? 0
      return parsed
    }
    guard let parsed else { throw Refusal(.malformedCertificate, "\(place) is not an X.509 certificate in DER") }
    x509 = parsed
    self.der = der
    self.place = place
    let first = Self.seconds(X509_get0_notBefore(parsed)), last = Self.seconds(X509_get0_notAfter(parsed))
    validity = Validity(first: (first ?? 0) * 1000, last: (last ?? 0) * 1000 + 999)
    // From here on `deinit` frees it.
    guard read == der.count else {
      throw Refusal(.malformedCertificate, "\(place) has \(der.count - read) bytes after the certificate")
    }
    guard first != nil, last != nil else {
      throw Refusal(.malformedCertificate, "\(place) does not say from when to when it holds")
    }
    guard X509_get_extension_flags(parsed) & UInt32(EXFLAG_INVALID) == 0 else {
      throw Refusal(.malformedCertificate, "\(place) has an extension that cannot be read")
    }
  }

  deinit { X509_free(x509) }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    var moment = tm()
    guard let time, ASN1_TIME_to_tm(time, &moment) == 1 else { return nil }
    return Int64(timegm(&moment))
  }

  /// The name of its holder, for messages: printable ASCII, cut off if long.
  var subject: String { Self.text(X509_get_subject_name(x509)) }
  var issuer: String { Self.text(X509_get_issuer_name(x509)) }

  private static func text(_ name: OpaquePointer?) -> String {
    guard let name, let text = X509_NAME_oneline(name, nil, 0) else { return "(no name)" }
    defer { CRYPTO_free(text, nil, 0) }
    return String(String(cString: text).prefix(120))
  }
}

// MARK: - What it may be used for

extension Certificate {
  /// Whether basic constraints say that it may issue others.
  var saysAuthority: Bool { X509_get_extension_flags(x509) & UInt32(EXFLAG_CA) != 0 }
  /// The same, or said by what stood in for basic constraints in older certificates.
  var isAuthority: Bool { saysAuthority || X509_check_ca(x509) != 0 }

  /// How many authorities may stand between it and a signer; nil for any number.
  var pathLength: Int? {
    let length = X509_get_pathlen(x509)
    return length < 0 ? nil : length
  }

  /// A certificate without key usage may be used for everything.
  func mayBeUsed(for usage: Int32) -> Bool { X509_get_key_usage(x509) & UInt32(usage) != 0 }

  func has(_ marker: Marker) -> Bool {
    guard let identifier = OBJ_txt2obj(marker.text, 1) else { return false }
    defer { ASN1_OBJECT_free(identifier) }
    return X509_get_ext_by_OBJ(x509, identifier, -1) >= 0
  }

  /// The identifier of an extension that must be understood and is not (RFC 5280, section 4.2).
  var unknownCriticalExtension: String? {
    for index in 0..<X509_get_ext_count(x509) {
      guard let found = X509_get_ext(x509, index), X509_EXTENSION_get_critical(found) != 0 else { continue }
      let identifier = X509_EXTENSION_get_object(found)
      switch OBJ_obj2nid(identifier) {
      case NID_basic_constraints, NID_key_usage: continue
      default:
        var text = [CChar](repeating: 0, count: 80)
        OBJ_obj2txt(&text, Int32(text.count), identifier, 1)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      }
    }
    return nil
  }
}

// MARK: - Who issued it

extension Certificate {
  /// The key as it is written, with its algorithm: certificates with the same bytes here hold the same key.
  var publicKeyDER: [UInt8] {
    guard let key = X509_get_X509_PUBKEY(x509) else { return [] }
    var length = i2d_X509_PUBKEY(key, nil)
    guard length > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Int(length)) { bytes, count in
      var position = bytes.baseAddress
      length = i2d_X509_PUBKEY(key, &position)
      count = max(0, Int(length))
    }
  }

  /// Throws unless this certificate was issued by that one: by name, by key identifiers where both have them, and by
  /// its signature, which is made with SHA-256 or SHA-384: by ECDSA, or by RSA as PKCS #1 has it.
  func requireIssued(by issuer: Certificate) throws(Refusal) {
    switch X509_get_signature_nid(x509) {
    case NID_ecdsa_with_SHA256, NID_ecdsa_with_SHA384, NID_sha256WithRSAEncryption, NID_sha384WithRSAEncryption: break
    default:
      throw Refusal(
        .unsupportedCertificateSignature, "\(place) is not signed by ECDSA or RSA (PKCS #1) with SHA-256 or SHA-384")
    }
    let match = X509_check_issued(issuer.x509, x509)
    guard match == X509_V_OK || match == X509_V_ERR_KEYUSAGE_NO_CERTSIGN else {
      throw Refusal(
        .brokenChain,
        "\(place) names \(self.issuer) as its issuer; \(issuer.place) is \(issuer.subject), or another key")
    }
    guard X509_verify(x509, X509_get0_pubkey(issuer.x509)) == 1 else {
      throw Refusal(.brokenChain, "the signature of \(place) was not made with the key of \(issuer.place)")
    }
  }

  func requireValid(at milliseconds: Int64) throws(Refusal) {
    if milliseconds < validity.first {
      throw Refusal(
        .notYetValidCertificate,
        "\(place) holds from \(Timestamp.iso8601(validity.first)) on; the text is of "
          + Timestamp.iso8601(milliseconds))
    }
    if milliseconds > validity.last {
      throw Refusal(
        .expiredCertificate,
        "\(place) held until \(Timestamp.iso8601(validity.last)); the text is of "
          + Timestamp.iso8601(milliseconds))
    }
  }
}
