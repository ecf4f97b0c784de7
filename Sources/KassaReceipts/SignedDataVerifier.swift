import KassaCore
import KassaJSON
import KassaPlatform

/// Verifies App Store signed data: transactions, renewal info, app transactions and notifications in JWS compact form.
///
/// The rules are judged in this order, and the first that is broken is reported: the form of the text; its header; the
/// certificates and their chain to a trusted root; the signature; the payload's form; the certificates' dates, at the
/// time when the payload says it was signed (at the present time if it does not say); bundle id, app id, environment,
/// age. Nothing of the payload is read before the signature holds. There is no online look-up of revoked certificates.
///
/// A chain that signed something is kept, so the next text with the same header costs little but its own
/// signature. May be used from any thread.
public final class SignedDataVerifier: Sendable {
  private let anchors: [TrustAnchor]?
  private let now: @Sendable () -> Int64
  private let known = KnownSigners()

  /// Signed payloads nest to at most this many levels; Apple's have 4.
  public static let maximumDepth = 32

  /// With nil for anchors only data of the developer's own machine is believed; see `verify`. An empty list trusts none.
  public convenience init(anchors: [TrustAnchor]?, time: any TimeSource) {
    self.init(anchors: anchors) { time.wallMilliseconds }
  }

  public init(anchors: [TrustAnchor]?, now: @escaping @Sendable () -> Int64) {
    self.anchors = anchors
    self.now = now
  }

  /// The payload of a text that is what was expected.
  ///
  /// Data of Xcode and of local tests is signed by a certificate of the developer's own, under no root. It is accepted
  /// by a verifier with nil for anchors, and only if nothing but `xcode` and `localTesting` is expected: then the signature
  /// is checked with the certificate that the text itself names, which shows that the text is whole, and not who made
  /// it. `now`, in milliseconds since 1970, stands for the verifier's own clock.
  public func verify(
    _ text: String, _ expected: SignedDataExpectation, now: Int64? = nil
  ) throws(Refusal) -> JSON {
    try Array(text.utf8).lend { bytes throws(Refusal) in try check(bytes, expected, now: now).payload }
  }

  /// A payload, and the name of the root that it stands under; nil for data of the developer's own machine.
  struct Verified {
    let payload: JSON
    let root: String?
  }

  func check(
    _ text: UnsafeRawBufferPointer, _ expected: SignedDataExpectation, now: Int64?
  ) throws(Refusal) -> Verified {
    let errors = CryptoErrors()
    defer { errors.forget() }
    let jws = try CompactJWS(text)
    let signer = try signer(of: jws, expected)
    guard jws.signature.count == 64 else {
      throw Refusal(.wrongSignature, "the signature (third part) has \(jws.signature.count) bytes; ES256 makes 64")
    }
    guard try signer.signed(jws) else {
      throw Refusal(.wrongSignature, "the signature was not made for this header and payload by the key of x5c[0]")
    }
    if signer.chain != nil { known.keep(signer) }

    let payload = try JSON.parse(jws.payload, "payload", .malformedPayload, maximumDepth: Self.maximumDepth)
    let claims = try AppleClaims(payload, expected.kind)
    try signer.chain?.requireValid(at: claims.signedAt ?? now ?? self.now())
    try expected.requireMet(by: claims, now: { now ?? self.now() })
    return Verified(payload: payload, root: signer.root)
  }

  /// How many signers are known.
  var knownCount: Int { known.count }

  private func signer(of jws: borrowing CompactJWS, _ expected: SignedDataExpectation) throws(Refusal) -> Signer {
    if let signer = known.signer(jws.encodedHeader) { return signer }
    let header = try jws.header()
    if anchors == nil, expected.isLocalOnly {
      return try Signer(header: jws.encodedHeader, local: header.certificates)
    }
    let chain = try CertificateChain(header.certificates, anchors: anchors ?? [])
    return try Signer(header: jws.encodedHeader, leaf: chain.leaf, chain: chain)
  }
}

extension SignedDataExpectation {
  fileprivate func requireMet(by claims: AppleClaims, now: () -> Int64) throws(Refusal) {
    if let bundleID, kind != .renewalInfo, claims.bundleID != bundleID {
      throw Refusal(.wrongBundleID, "the data is for \(quoted(claims.bundleID)), not for \(quoted(bundleID))")
    }
    if let appAppleID, kind == .appTransaction || kind == .notification {
      let isRequired = claims.environment == StoreTransaction.Environment.production.appleName
      if claims.appAppleID != appAppleID, isRequired || claims.appAppleID != nil {
        let found = claims.appAppleID.map(String.init) ?? "none"
        throw Refusal(.wrongAppAppleID, "the data is for the app number \(found), not \(appAppleID)")
      }
    }
    guard let environment = claims.environment.flatMap({ StoreTransaction.Environment(appleName: $0) }),
      environments.contains(environment)
    else {
      let allowed = environments.map(\.appleName).sorted().joined(separator: ", ")
      throw Refusal(
        .wrongEnvironment,
        "the data comes from \(quoted(claims.environment)); allowed is \(allowed.isEmpty ? "nothing" : allowed)")
    }
    if let maximumAgeMilliseconds {
      guard let signedAt = claims.signedAt else {
        throw Refusal(.stale, "the data does not say when it was signed, and must not be older than a limit")
      }
      let age = now().subtracting(signedAt)
      guard age <= maximumAgeMilliseconds else {
        throw Refusal(.stale, "the data was signed \(age) ms ago; at most \(maximumAgeMilliseconds) are allowed")
      }
    }
  }

  /// A word from signed data or a request, for a message.
  private func quoted(_ word: String?) -> String {
    guard let word else { return "nothing it names" }
    return "\"\(word.prefix(80))\""
  }
}
