import COpenSSL

/// The kind of key that a certificate holds.
enum CertificateKey: Equatable, CustomStringConvertible {
  /// On an elliptic curve, by libcrypto's name of it.
  case curve(String)
  /// For signatures of PKCS #1, which Apple's two older roots make.
  case rsa(bits: Int)
  case other

  /// What a certificate may hold, by its place in the chain.
  enum Role {
    /// ES256 is P-256 alone (RFC 7518, section 3.4).
    case signer
    case issuer

    func allows(_ key: CertificateKey) -> Bool {
      switch (self, key) {
      case (.signer, .curve(let name)): name == Curves.p256
      case (.issuer, .curve(let name)): name == Curves.p256 || name == Curves.p384
      // Shorter keys are broken, and longer ones cost whoever verifies too much.
      case (.issuer, .rsa(let bits)): (2048...4096).contains(bits)
      case (.signer, .rsa), (_, .other): false
      }
    }

    var rule: String {
      switch self {
      case .signer: Curves.p256
      case .issuer: "\(Curves.p256), \(Curves.p384) or RSA of 2048 to 4096 bits"
      }
    }
  }

  /// nil is the key of a certificate that libcrypto cannot use.
  init(_ key: OpaquePointer?) {
    var name = [CChar](repeating: 0, count: 32)
    var length = 0
    if let key, EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA {
      self = .rsa(bits: Int(EVP_PKEY_get_bits(key)))
    } else if let key, EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 {
      self = .curve(String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self))
    } else {
      self = .other
    }
  }

  var description: String {
    switch self {
    case .curve(let name): "a key on \(name)"
    case .rsa(let bits): "an RSA key of \(bits) bits"
    case .other: "a key that is neither RSA nor on a named curve"
    }
  }
}

extension Certificate {
  /// Throws unless the key is of a kind that is in use at this place of a chain.
  func requireKey(of role: CertificateKey.Role) throws(Refusal) {
    let key = CertificateKey(X509_get0_pubkey(x509))
    guard role.allows(key) else {
      throw Refusal(.unsupportedKey, "\(place) holds \(key); it must be \(role.rule)")
    }
  }
}
