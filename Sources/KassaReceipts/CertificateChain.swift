import COpenSSL

/// Three certificates that hold together and end in a trusted root: what they sign is believed, within their dates.
struct CertificateChain: Sendable {
  let leaf: Certificate
  let intermediate: Certificate
  /// Trusted roots with the key that issued the intermediate: more than one where a root was reissued.
  let roots: [Certificate]

  /// The rules, in order: three certificates; each can be read; the last is a trusted root, by its key; each is issued
  /// by the next; the upper ones are authorities; key usage fits; Apple's marks are there.
  ///
  /// Dates are judged later, at the time when the text says it was signed (`requireValid`). There is no look-up for
  /// revoked certificates.
  init(_ certificates: [[UInt8]], anchors: [TrustAnchor]) throws(Refusal) {
    guard certificates.count == 3 else {
      let isShort = certificates.count < 3
      throw Refusal(
        isShort ? .chainTooShort : .chainTooLong,
        "header.x5c has \(certificates.count) certificates; signer, intermediate and root are 3")
    }
    leaf = try Certificate(der: certificates[0], place: "x5c[0]")
    intermediate = try Certificate(der: certificates[1], place: "x5c[1]")
    roots = try Self.trusted(certificates[2], anchors)
    try requireKeys()
    try requireIssued()
    try requireUses()
  }

  /// The anchors that hold the same key as the certificate. One that is an anchor, byte for byte, need not be parsed.
  private static func trusted(_ der: [UInt8], _ anchors: [TrustAnchor]) throws(Refusal) -> [Certificate] {
    let key: [UInt8]
    let name: String
    if let anchor = anchors.first(where: { $0.der == der }) {
      (key, name) = (anchor.publicKey, anchor.name)
    } else {
      let certificate = try Certificate(der: der, place: "x5c[2]")
      (key, name) = (certificate.publicKeyDER, certificate.subject)
    }
    let roots = anchors.filter { !key.isEmpty && $0.publicKey == key }
    guard !roots.isEmpty else {
      let trusted = anchors.map(\.name).joined(separator: ", ")
      throw Refusal(
        .untrustedRoot,
        "the chain ends in \(name), whose key is that of no trusted root (\(trusted.isEmpty ? "none" : trusted))")
    }
    return roots.map(\.certificate)
  }

  private func requireKeys() throws(Refusal) {
    try leaf.requireKey(of: .signer)
    try intermediate.requireKey(of: .issuer)
  }

  private func requireIssued() throws(Refusal) {
    try leaf.requireIssued(by: intermediate)
    // Roots with one key differ in their dates, seldom in their name.
    var problem: Refusal?
    for root in roots {
      do throws(Refusal) {
        try intermediate.requireIssued(by: root)
        return
      } catch { problem = error }
    }
    if let problem { throw problem }
  }

  private func requireUses() throws(Refusal) {
    for certificate in [leaf, intermediate] {
      if let identifier = certificate.unknownCriticalExtension {
        throw Refusal(
          .criticalExtension, "\(certificate.place) has an extension that must be understood and is not: \(identifier)")
      }
    }
    guard intermediate.saysAuthority else {
      throw Refusal(.notAnAuthority, "x5c[1] is no certificate authority (basic constraints)")
    }
    guard !leaf.isAuthority else {
      throw Refusal(.wrongKeyUsage, "x5c[0] is a certificate authority; the signer must not be one")
    }
    for root in roots {
      if let limit = root.pathLength, limit < 1 {
        throw Refusal(.notAnAuthority, "\(root.place) allows no authority below it (path length \(limit))")
      }
    }
    guard intermediate.mayBeUsed(for: KeyUsage.certificateSigning) else {
      throw Refusal(.wrongKeyUsage, "x5c[1] may not sign certificates (key usage)")
    }
    guard leaf.mayBeUsed(for: KeyUsage.signing) else {
      throw Refusal(.wrongKeyUsage, "x5c[0] may not sign data (key usage)")
    }
    for (certificate, marker) in [(leaf, Certificate.Marker.leaf), (intermediate, .intermediate)] {
      guard certificate.has(marker) else {
        throw Refusal(
          .missingMarker, "\(certificate.place) lacks Apple's mark \(marker.text): it was issued for another purpose")
      }
    }
  }

  /// Throws unless all three hold at that time, in milliseconds since 1970.
  func requireValid(at milliseconds: Int64) throws(Refusal) {
    try leaf.requireValid(at: milliseconds)
    try intermediate.requireValid(at: milliseconds)
    var problem: Refusal?
    for root in roots {
      do throws(Refusal) {
        try root.requireValid(at: milliseconds)
        return
      } catch { problem = error }
    }
    if let problem { throw problem }
  }
}
