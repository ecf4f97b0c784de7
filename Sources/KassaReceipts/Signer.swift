import COpenSSL
import Glibc
import KassaPlatform

/// The key of a header's certificate, ready to verify what comes under that header.
final class Signer: Sendable {
  /// The header as it is written: certificates and all else that was checked in it.
  let header: [UInt8]
  /// nil for a certificate under no root.
  let chain: CertificateChain?
  /// The name of its root.
  let root: String?
  private let key: P256Key
  private let hashed: HashedPrefix

  init(header: UnsafeRawBufferPointer, leaf: Certificate, chain: CertificateChain?) throws(Refusal) {
    self.header = Array(header)
    self.chain = chain
    root = chain?.roots.first?.subject
    guard let key = X509_get_pubkey(leaf.x509) else { throw Refusal.outOfMemory }
    self.key = P256Key(taking: key, for: .verifying)
    hashed = try HashedPrefix(header)
  }

  /// For data of the developer's own machine, which has one certificate or more.
  convenience init(header: UnsafeRawBufferPointer, local certificates: [[UInt8]]) throws(Refusal) {
    guard let der = certificates.first else { throw Refusal(.chainTooShort, "header.x5c has no certificate") }
    let leaf = try Certificate(der: der, place: "x5c[0]")
    try leaf.requireKey(of: .signer)
    try self.init(header: header, leaf: leaf, chain: nil)
  }

  func hasHeader(_ other: UnsafeRawBufferPointer) -> Bool {
    guard header.count == other.count, let start = other.baseAddress else { return false }
    return memcmp(header, start, header.count) == 0
  }

  /// Whether the signature was made for exactly this header and payload.
  func signed(_ jws: borrowing CompactJWS) throws(Refusal) -> Bool {
    try key.verifies(jws.signature, of: hashed.digest(followedBy: jws.encodedRest))
  }
}

/// The last few headers that signed something. Whoever does not hold a key of a trusted chain puts nothing in here.
final class KnownSigners: Sendable {
  /// Apple uses one or two keys at a time.
  static let maximumCount = 16

  /// The one used last is the last.
  private let signers = Locked<[Signer]>([])

  func signer(_ header: UnsafeRawBufferPointer) -> Signer? {
    signers.with { signers in
      guard let index = signers.lastIndex(where: { $0.hasHeader(header) }) else { return nil }
      let signer = signers[index]
      if index != signers.count - 1 {
        signers.remove(at: index)
        signers.append(signer)
      }
      return signer
    }
  }

  func keep(_ signer: Signer) {
    signers.with { signers in
      guard signers.last !== signer, !signers.contains(where: { $0 === signer || $0.header == signer.header }) else {
        return
      }
      if signers.count >= Self.maximumCount { signers.removeFirst() }
      signers.append(signer)
    }
  }

  var count: Int { signers.with { $0.count } }
}
