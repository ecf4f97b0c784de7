import KassaCore
import KassaJSON
import KassaPlatform

/// What `kassa_verify` answers: a payload that may be believed, or why not. docs/documents.md, "Verification".
public enum Verification {
  /// Anything that is no valid request is refused too, with the reason `invalid_request`.
  public static func document(for request: JSON) -> JSON {
    do throws(Refusal) {
      let request = try VerificationRequest(request)
      let verifier = try Verifiers.verifier(for: request)
      return verified(try verifier.check(request.text, request.expected, now: request.now), request)
    } catch { return refused(error) }
  }

  private static func verified(_ data: SignedDataVerifier.Verified, _ request: VerificationRequest) -> JSON {
    var transaction: JSON = .null
    var problem: JSON = .null
    if request.expected.kind == .transaction {
      do throws(Refusal) {
        transaction = try StoreTransaction(applePayload: data.payload, proof: "").document
      } catch { problem = JSON(error.message) }
    }
    return [
      "verified": true, "payload": data.payload, "transaction": transaction, "transaction_problem": problem,
      "root": JSON(data.root),
    ]
  }

  private static func refused(_ refusal: Refusal) -> JSON {
    ["verified": false, "reason": JSON(refusal.reason), "message": JSON(refusal.message)]
  }
}

/// The verifiers of the last few sets of roots, so that their chains stay known from call to call.
private enum Verifiers {
  private static let maximumCount = 8
  private static let kept = Locked<[(roots: [String], verifier: SignedDataVerifier)]>([])
  private static let apple = SignedDataVerifier(anchors: AppleRoots.anchors) { WallClock.milliseconds }
  private static let local = SignedDataVerifier(anchors: []) { WallClock.milliseconds }

  static func verifier(for request: VerificationRequest) throws(Refusal) -> SignedDataVerifier {
    guard let roots = request.roots else { return request.expected.isLocalOnly ? local : apple }
    if roots.isEmpty { return local }
    if let verifier = kept.with({ kept in kept.first { $0.roots == roots }?.verifier }) { return verifier }
    let verifier = SignedDataVerifier(anchors: try anchors(roots)) { WallClock.milliseconds }
    kept.with { kept in
      if kept.count >= maximumCount { kept.removeFirst() }
      kept.append((roots, verifier))
    }
    return verifier
  }

  private static func anchors(_ roots: [String]) throws(Refusal) -> [TrustAnchor] {
    var anchors: [TrustAnchor] = []
    for (index, text) in roots.enumerated() {
      let place = "roots[\(index)]"
      guard let der = StrictBase64.decode(text.utf8, .standard) else {
        throw Refusal(.invalidRequest, "request: \(place) must be a certificate in DER, in padded base64")
      }
      do throws(Refusal) {
        anchors.append(try TrustAnchor(der: der, place: place))
      } catch { throw Refusal(.invalidRequest, "request: \(error.message)") }
    }
    return anchors
  }
}
