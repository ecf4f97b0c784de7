import KassaJSON
import KassaPlatform

/// The verifiers of the last few sets of roots, so that their chains stay known from call to call.
enum Verifiers {
  private static let maximumCount = 8
  /// More roots than anybody has.
  private static let maximumRoots = 16
  private static let kept = Locked<[(roots: JSON, verifier: SignedDataVerifier)]>([])
  private static let apple = SignedDataVerifier(anchors: AppleRoots.anchors) { WallClock.milliseconds }
  private static let local = SignedDataVerifier(anchors: nil) { WallClock.milliseconds }

  /// `roots` are certificates in base64; nil for Apple's own.
  static func verifier(
    _ roots: JSON?, _ expected: SignedDataExpectation
  ) throws(Refusal) -> SignedDataVerifier {
    guard let roots else { return expected.isLocalOnly ? local : apple }
    if let verifier = kept.with({ kept in kept.last { $0.roots == roots }?.verifier }) { return verifier }
    let texts = roots.elements.map(\.string)
    let verifier = SignedDataVerifier(anchors: try anchors(texts)) { WallClock.milliseconds }
    let own = JSON.array(texts.map { JSON($0) })
    kept.with { kept in
      if kept.count >= maximumCount { kept.removeFirst() }
      kept.append((own, verifier))
    }
    return verifier
  }

  private static func anchors(_ roots: [String?]) throws(Refusal) -> [TrustAnchor] {
    guard roots.count <= maximumRoots else {
      throw Refusal(.invalidRequest, "request: roots has \(roots.count) certificates; at most \(maximumRoots) are read")
    }
    var anchors: [TrustAnchor] = []
    for (index, text) in roots.enumerated() {
      let place = "roots[\(index)]"
      guard let text, let der = Base64.decode(text, .standard) else {
        throw Refusal(.invalidRequest, "request: \(place) must be a string: a certificate, its DER in padded base64")
      }
      do throws(Refusal) {
        anchors.append(try TrustAnchor(der: der, place: place))
      } catch { throw Refusal(.invalidRequest, "request: \(error.message)") }
    }
    return anchors
  }
}
