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
      let result: Result<SignedDataVerifier.Verified, Refusal>? = request.text.withStringBytes { text in
        do throws(Refusal) {
          return .success(try verifier.check(UnsafeRawBufferPointer(text), request.expected, now: request.now))
        } catch { return .failure(error) }
      }
      guard let result else { throw Refusal(.invalidRequest, "request: text must be a string") }
      return verified(try result.get(), request)
    } catch { return refused(error) }
  }

  private static func verified(_ data: SignedDataVerifier.Verified, _ request: VerificationRequest) -> JSON {
    let reply = ObjectBuilder()
    reply.add("verified", true)
    reply.add("payload", data.payload)
    reply.add("root", data.root)
    if request.readsTransaction, request.expected.kind == .transaction {
      do throws(Refusal) {
        reply.add("transaction", try StoreTransaction(applePayload: data.payload, proof: "").document)
      } catch { reply.add("transaction_problem", error.message) }
    }
    return reply.build()
  }

  private static func refused(_ refusal: Refusal) -> JSON {
    ["verified": false, "reason": JSON(refusal.reason), "message": JSON(refusal.message)]
  }
}

/// The verifiers of the last few sets of roots, so that their chains stay known from call to call.
private enum Verifiers {
  private static let maximumCount = 8
  /// More roots than anybody has.
  private static let maximumRoots = 16
  private static let kept = Locked<[(roots: JSON, verifier: SignedDataVerifier)]>([])
  private static let apple = SignedDataVerifier(anchors: AppleRoots.anchors) { WallClock.milliseconds }
  private static let local = SignedDataVerifier(anchors: []) { WallClock.milliseconds }

  static func verifier(for request: VerificationRequest) throws(Refusal) -> SignedDataVerifier {
    guard let roots = request.roots else { return request.expected.isLocalOnly ? local : apple }
    if let verifier = kept.with({ kept in kept.last { $0.roots == roots }?.verifier }) { return verifier }
    let texts = roots.elements.map(\.string)
    let verifier = SignedDataVerifier(anchors: try anchors(texts)) { WallClock.milliseconds }
    // The host may change its document later.
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
      guard let text, let der = StrictBase64.decode(text, .standard) else {
        throw Refusal(.invalidRequest, "request: \(place) must be a string: a certificate, its DER in padded base64")
      }
      do throws(Refusal) {
        anchors.append(try TrustAnchor(der: der, place: place))
      } catch { throw Refusal(.invalidRequest, "request: \(error.message)") }
    }
    return anchors
  }
}
