import KassaCore
import KassaJSON
import KassaPlatform

/// What `kassa_verify` is asked besides the text: what is expected of it, and under which roots it must stand.
/// docs/documents.md, "Verification".
final class VerificationTerms: Sendable {
  /// Whether the payload of a transaction is to be read as well.
  let readsTransaction: Bool
  private let expected: SignedDataExpectation
  private let verifier: SignedDataVerifier
  /// Stands for the present time, in tests.
  private let now: Int64?

  private init(_ request: JSON) throws(Refusal) {
    let roots: JSON?
    do throws(JSONShapeError) {
      let fields = try Fields(request)
      try fields.allowOnly(Self.keys)
      expected = SignedDataExpectation(
        try fields.required(fields.kind("kind"), "kind"),
        bundleID: try fields.optionalString("bundle_id"), appAppleID: try fields.optionalInteger("app_apple_id"),
        environments: try fields.environments("environments") ?? [.production],
        maximumAgeMilliseconds: try fields.milliseconds("max_age_s"))
      roots = try fields.optionalValue("roots", "an array", where: \.isArray)
      readsTransaction = try fields.optionalBool("read_transaction") ?? false && expected.kind == .transaction
      now = try fields.moment("now")
    } catch { throw Refusal(.invalidRequest, error) }
    verifier = try Verifiers.verifier(roots, expected)
  }

  func check(_ text: UnsafeRawBufferPointer) throws(Refusal) -> SignedDataVerifier.Verified {
    try verifier.check(text, expected, now: now)
  }

  /// Where it lies in the request.
  static func text(of request: JSON) throws(Refusal) -> UnsafeRawBufferPointer {
    do throws(JSONShapeError) { return try Fields(request).stringBytes(textKey) } catch {
      throw Refusal(.invalidRequest, error)
    }
  }

  private static let textKey = "text"
  private static let keys = [
    textKey, "kind", "bundle_id", "app_apple_id", "environments", "roots", "now", "max_age_s", "read_transaction",
  ]
}

// MARK: - Keeping them

extension VerificationTerms {
  private static let maximumCount = 8
  private static let known = Locked<[(members: JSON, terms: VerificationTerms)]>([])

  /// Whoever verifies expects the same of one text after the other: the last few terms are read once.
  static func of(_ request: JSON) throws(Refusal) -> VerificationTerms {
    let same = known.with { known in known.last { request.equals($0.members, butFor: textKey) } }
    if let same { return same.terms }
    let terms = try VerificationTerms(request)
    // The host may change its document later.
    let members = request.deepCopy(without: textKey)
    known.with { known in
      if known.count >= maximumCount { known.removeFirst() }
      known.append((members, terms))
    }
    return terms
  }
}

extension Fields {
  fileprivate func kind(_ key: String) throws(JSONShapeError) -> SignedDataExpectation.Kind? {
    guard let word = try optionalString(key) else { return nil }
    guard let kind = SignedDataExpectation.Kind(rawValue: word) else {
      let known = SignedDataExpectation.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw JSONShapeError(path: place(of: key), problem: "must be one of \(known) (got \"\(word.prefix(40))\")")
    }
    return kind
  }

  /// Milliseconds since 1970, of years up to 9999 either way.
  fileprivate func moment(_ key: String) throws(JSONShapeError) -> Int64? {
    guard let moment = try optionalInteger(key) else { return nil }
    let limit = Timestamp.range.upperBound
    guard -limit...limit ~= moment else {
      throw JSONShapeError(
        path: place(of: key), problem: "must be milliseconds since 1970, of the year 9999 at most (got \(moment))")
    }
    return moment
  }

  /// Of seconds.
  fileprivate func milliseconds(_ key: String) throws(JSONShapeError) -> Int64? {
    guard let seconds = try optionalInteger(key) else { return nil }
    guard seconds >= 0 else {
      throw JSONShapeError(path: place(of: key), problem: "must be 0 or more (got \(seconds))")
    }
    let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    return overflow ? .max : milliseconds
  }
}

extension Refusal {
  fileprivate init(_ reason: RefusalReason, _ error: JSONShapeError) { self.init(reason, "request: \(error)") }
}
