import COpenSSL
import KassaPlatform

/// A private key with its certificate.
final class Identity {
  let key: OpaquePointer
  let x509: OpaquePointer

  /// Takes over one reference of each.
  init(takingKey key: OpaquePointer, x509: OpaquePointer) {
    self.key = key
    self.x509 = x509
  }

  deinit {
    EVP_PKEY_free(key)
    X509_free(x509)
  }

  var der: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: max(0, Int(i2d_X509(x509, nil)))) { bytes, count in
      var position = bytes.baseAddress
      count = bytes.isEmpty ? 0 : max(0, Int(i2d_X509(x509, &position)))
    }
  }

  var privateKeyDER: [UInt8] {
    [UInt8](unsafeUninitializedCapacity: max(0, Int(i2d_PrivateKey(key, nil)))) { bytes, count in
      var position = bytes.baseAddress
      count = bytes.isEmpty ? 0 : max(0, Int(i2d_PrivateKey(key, &position)))
    }
  }
}

/// What a certificate is to say.
struct CertificatePlan {
  var name: String
  var curve = Curves.p256
  /// In seconds since 1970.
  var firstSecond: Int64
  var lastSecond: Int64
  /// Extensions in libcrypto's words (x509v3_config(5)), in order.
  var extensions: [(nid: Int32, value: String)]
  /// An extension of Apple's that holds an ASN.1 NULL.
  var marker: String?

  static func root(_ name: String, _ first: Int64, _ last: Int64) -> CertificatePlan {
    CertificatePlan(
      name: name, firstSecond: first, lastSecond: last,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"),
      ])
  }

  static func intermediate(_ name: String, _ first: Int64, _ last: Int64) -> CertificatePlan {
    CertificatePlan(
      name: name, firstSecond: first, lastSecond: last,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
      ],
      marker: Certificate.Marker.intermediate.text)
  }

  static func leaf(_ name: String, _ first: Int64, _ last: Int64) -> CertificatePlan {
    CertificatePlan(
      name: name, firstSecond: first, lastSecond: last,
      extensions: [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
      ],
      marker: Certificate.Marker.leaf.text)
  }

  /// Makes a certificate, signed by that issuer, or by itself. It holds that key, or a new one on the plan's curve.
  func make(
    issuer: Identity?, key given: OpaquePointer? = nil, hash: OpaquePointer? = EVP_sha256()
  ) throws(Refusal) -> Identity {
    guard OpenSSL.isPrepared, let x509 = X509_new() else { throw Refusal.outOfMemory }
    guard let key = given ?? Self.makeKey(curve) else {
      X509_free(x509)
      throw Refusal.outOfMemory
    }
    let identity = Identity(takingKey: key, x509: x509)
    var serial = [UInt8](repeating: 0, count: 8)
    RAND_bytes(&serial, Int32(serial.count))
    // Serial numbers are positive (RFC 5280, section 4.1.2.2).
    let number = serial.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1 | 1
    let issuerX509 = issuer?.x509 ?? x509
    let subject = X509_get_subject_name(x509)
    guard X509_set_version(x509, 2) == 1, ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), number) == 1,
      ASN1_TIME_set(X509_getm_notBefore(x509), time_t(firstSecond)) != nil,
      ASN1_TIME_set(X509_getm_notAfter(x509), time_t(lastSecond)) != nil,
      Self.add("CN", name, to: subject), Self.add("O", "Kassa", to: subject),
      X509_set_issuer_name(x509, X509_get_subject_name(issuerX509)) == 1, X509_set_pubkey(x509, key) == 1,
      addExtensions(to: x509, issuer: issuerX509), addMarker(to: x509),
      X509_sign(x509, issuer?.key ?? key, hash) > 0
    else { throw Refusal.outOfMemory }
    return identity
  }

  private static func makeKey(_ curve: String) -> OpaquePointer? {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, curve) == 1,
      EVP_PKEY_keygen(context, &key) == 1
    else { return nil }
    return key
  }

  private static func add(_ field: String, _ text: String, to name: OpaquePointer?) -> Bool {
    // MBSTRING_UTF8, a macro that Swift does not see.
    let utf8: Int32 = 0x1000
    let bytes = Array(text.utf8)
    return X509_NAME_add_entry_by_txt(name, field, utf8, bytes, Int32(bytes.count), -1, 0) == 1
  }

  private func addExtensions(to x509: OpaquePointer, issuer: OpaquePointer) -> Bool {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer, x509, nil, nil, 0)
    for (nid, value) in extensions {
      guard let made = X509V3_EXT_conf_nid(nil, &context, nid, value) else { return false }
      defer { X509_EXTENSION_free(made) }
      guard X509_add_ext(x509, made, -1) == 1 else { return false }
    }
    return true
  }

  private func addMarker(to x509: OpaquePointer) -> Bool {
    guard let marker else { return true }
    guard let identifier = OBJ_txt2obj(marker, 1), let value = ASN1_OCTET_STRING_new() else { return false }
    defer {
      ASN1_OBJECT_free(identifier)
      ASN1_OCTET_STRING_free(value)
    }
    let null: [UInt8] = [5, 0]
    guard ASN1_OCTET_STRING_set(value, null, Int32(null.count)) == 1,
      let made = X509_EXTENSION_create_by_OBJ(nil, identifier, 0, value)
    else { return false }
    defer { X509_EXTENSION_free(made) }
    return X509_add_ext(x509, made, -1) == 1
  }
}
