import KassaCore
import KassaPlatform

/// A root certificate that is trusted. It is known by its public key: a reissue with the same key is the same root.
///
/// Roots are compiled in (`AppleRoots`) or given by the program in code. None is ever read from a file or a setting
/// that a user of the program could change.
public struct TrustAnchor: Sendable {
  let certificate: Certificate
  let publicKey: [UInt8]

  /// One certificate in DER. Its key is on P-256 or P-384, or RSA of 2048 to 4096 bits, and it may issue others.
  public init(der: [UInt8]) throws(Refusal) {
    try self.init(der: der, place: "the root certificate")
  }

  init(der: [UInt8], place: String) throws(Refusal) {
    let errors = CryptoErrors()
    defer { errors.forget() }
    guard der.count <= JWSHeader.maximumCertificateBytes else {
      throw Refusal(
        .malformedCertificate, "\(place) has \(der.count) bytes; at most \(JWSHeader.maximumCertificateBytes) are read")
    }
    certificate = try Certificate(der: der, place: place)
    try certificate.requireKey(of: .issuer)
    guard certificate.isAuthority else {
      throw Refusal(.notAnAuthority, "\(place) is no certificate authority (basic constraints)")
    }
    guard certificate.mayBeUsed(for: KeyUsage.certificateSigning) else {
      throw Refusal(.wrongKeyUsage, "\(place) may not sign certificates (key usage)")
    }
    publicKey = certificate.publicKeyDER
  }

  /// The name in the certificate, for people.
  public var name: String { certificate.subject }
  public var der: [UInt8] { certificate.der }
}
