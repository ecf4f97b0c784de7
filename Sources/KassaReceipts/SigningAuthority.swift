import COpenSSL
import KassaCore
import KassaJSON
import KassaPlatform

/// What stands behind a simulated App Store: a root, an intermediate with Apple's mark and a signer with Apple's mark,
/// all made on this machine. Apple's own server libraries verify what it signs, given its root.
///
/// The keys of root and intermediate are thrown away once the chain is made. May be used from any thread.
public final class SigningAuthority: Sendable {
  private let certificates: [[UInt8]]
  private let privateKey: [UInt8]
  private let key: P256Key
  /// The first part of every text that it signs: the certificates are in it, some 3,000 bytes.
  public let header: String
  private let hashedHeader: HashedPrefix
  /// Hand it to a `SignedDataVerifier`, and trust it for this store alone.
  public let root: TrustAnchor

  public var rootDER: [UInt8] { root.der }

  /// Makes keys and certificates. They hold for `years` before and after that time (at the longest from 1970 to 9999),
  /// so that a store's clock may be moved.
  public convenience init(at milliseconds: Int64, years: Int = 100) throws(Refusal) {
    let errors = CryptoErrors()
    defer { errors.forget() }
    let second = milliseconds / 1000
    let span = Int64(max(1, min(years, 10_000))) * 365 * 86_400
    let first = min(max(0, second.subtracting(span)), Self.lastSecond - 1)
    let last = max(min(Self.lastSecond, second.adding(span)), first + 1)
    let root = try CertificatePlan.root("Kassa Simulated Root", first, last).make(issuer: nil)
    let intermediate = try CertificatePlan.intermediate("Kassa Simulated Intermediate", first, last).make(issuer: root)
    let leaf = try CertificatePlan.leaf("Kassa Simulated Store", first, last).make(issuer: intermediate)
    try self.init(certificates: [leaf.der, intermediate.der, root.der], privateKey: leaf.privateKeyDER)
  }

  /// 9999-12-31T23:59:59Z, which is also what certificates say for "no end".
  private static let lastSecond: Int64 = 253_402_300_799

  private init(certificates: [[UInt8]], privateKey: [UInt8]) throws(Refusal) {
    guard certificates.count == 3, let leaf = certificates.first, let root = certificates.last else {
      throw Refusal(.chainTooShort, "a signing authority has 3 certificates, not \(certificates.count)")
    }
    self.certificates = certificates
    self.privateKey = privateKey
    self.root = try TrustAnchor(der: root, place: "certificates[2]")
    key = try Self.signingKey(privateKey, of: Certificate(der: leaf, place: "certificates[0]"))
    let chain = certificates.map { JSON(Base64.encode($0)) }
    header = Base64.encodeURL((["alg": "ES256", "x5c": .array(chain)] as JSON).bytes())
    hashedHeader = try Array(header.utf8).lend(HashedPrefix.init)
  }

  private static func signingKey(_ der: [UInt8], of leaf: Certificate) throws(Refusal) -> P256Key {
    try leaf.requireKey(of: .signer)
    let key = der.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return d2i_AutoPrivateKey(nil, &position, bytes.count)
    }
    guard let key else { throw Refusal(.unsupportedKey, "the private key cannot be read") }
    let signing = P256Key(taking: key, for: .signing)
    guard X509_check_private_key(leaf.x509, key) == 1 else {
      throw Refusal(.unsupportedKey, "the private key is not that of certificates[0]")
    }
    return signing
  }

  /// A payload, which is an object, as JWS in compact form: ES256, with the three certificates in its header.
  public func sign(_ payload: JSON) throws(Refusal) -> String { try header + signedRest(payload) }

  /// The same without the header: the point behind it, and the two other parts.
  public func signedRest(_ payload: JSON) throws(Refusal) -> String {
    let errors = CryptoErrors()
    defer { errors.forget() }
    guard payload.isObject else {
      throw Refusal(.malformedPayload, "the payload is \(payload.kind); it must be an object")
    }
    let rest = "." + Base64.encodeURL(payload.bytes())
    let signature = try key.sign(Array(rest.utf8).lend(hashedHeader.digest))
    return rest + "." + Base64.encodeURL(signature)
  }
}

// MARK: - Keeping it

extension SigningAuthority {
  /// Everything, the private key included, as one text for the store's own storage.
  public var serialized: String {
    let document: JSON = [
      "private_key": Self.text(privateKey), "certificates": .array(certificates.map(Self.text)),
    ]
    return document.text()
  }

  public convenience init(serialized: String) throws(Refusal) {
    let errors = CryptoErrors()
    defer { errors.forget() }
    let parts: (certificates: [[UInt8]], key: [UInt8])
    do throws(JSONShapeError) {
      let fields = try Fields(Self.document(serialized))
      let key = try Self.bytes(fields.string("private_key"), fields.place(of: "private_key"))
      var certificates: [[UInt8]] = []
      for (index, text) in try fields.required(fields.strings("certificates"), "certificates").enumerated() {
        certificates.append(try Self.bytes(text, "certificates[\(index)]"))
      }
      parts = (certificates, key)
    } catch { throw Refusal(.invalidRequest, "the kept signing authority: \(error)") }
    try self.init(certificates: parts.certificates, privateKey: parts.key)
  }

  private static func document(_ text: String) throws(JSONShapeError) -> JSON {
    do throws(JSONSyntaxError) { return try JSON.parse(text) } catch {
      throw JSONShapeError(path: "", problem: "is not JSON: \(error.message)")
    }
  }

  private static func text(_ bytes: [UInt8]) -> JSON {
    JSON(Base64.encode(bytes))
  }

  private static func bytes(_ text: String, _ place: String) throws(JSONShapeError) -> [UInt8] {
    guard let bytes = Base64.decode(text, .standard) else {
      throw JSONShapeError(path: place, problem: "must be base64")
    }
    return bytes
  }
}
