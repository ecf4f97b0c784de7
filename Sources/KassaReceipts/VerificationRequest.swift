import KassaCore
import KassaJSON

/// What `kassa_verify` is asked: a signed text, and what is expected of it. docs/documents.md, "Verification".
struct VerificationRequest: Sendable {
  /// The text, where it lies in the request.
  let text: JSON
  let expected: SignedDataExpectation
  /// Root certificates in base64, where they lie in the request; nil for Apple's own.
  let roots: JSON?
  /// Whether the payload of a transaction is to be read as well.
  let readsTransaction: Bool
  /// Stands for the present time, in tests.
  let now: Int64?

  init(_ json: JSON) throws(Refusal) {
    do throws(JSONShapeError) {
      let fields = try Fields(json)
      try fields.allowOnly(Self.keys)
      text = try fields.required(fields.optionalValue("text", "a string", where: \.isString), "text")
      let age = try fields.optionalInteger("max_age_s")
      if let age, age < 0 { throw JSONShapeError(path: "max_age_s", problem: "must be 0 or more (got \(age))") }
      expected = SignedDataExpectation(
        try fields.required(Self.word("kind", fields.optionalString("kind")), "kind"),
        bundleID: try fields.optionalString("bundle_id"), appAppleID: try fields.optionalInteger("app_apple_id"),
        environments: try Self.environments(fields),
        maximumAgeMilliseconds: age.map { $0.multipliedReportingOverflow(by: 1000) }.map {
          $0.overflow ? .max : $0.partialValue
        })
      roots = try fields.optionalValue("roots", "an array", where: \.isArray)
      readsTransaction = try fields.optionalBool("read_transaction") ?? false
      now = try fields.optionalInteger("now")
    } catch { throw Refusal(.invalidRequest, "request: \(error)") }
  }

  private static let keys = [
    "text", "kind", "bundle_id", "app_apple_id", "environments", "roots", "now", "max_age_s", "read_transaction",
  ]

  private static func environments(_ fields: Fields) throws(JSONShapeError) -> [StoreTransaction.Environment] {
    guard let words = try fields.strings("environments") else { return [.production] }
    guard !words.isEmpty else { throw JSONShapeError(path: "environments", problem: "must name at least one") }
    var environments: [StoreTransaction.Environment] = []
    for (index, text) in words.enumerated() {
      if let environment: StoreTransaction.Environment = try word("environments[\(index)]", text) {
        environments.append(environment)
      }
    }
    return environments
  }

  private static func word<Word: RawRepresentable<String> & CaseIterable>(
    _ place: @autoclosure () -> String, _ text: String?
  ) throws(JSONShapeError) -> Word? {
    guard let text else { return nil }
    guard let word = Word(rawValue: text) else {
      let known = Word.allCases.map(\.rawValue).joined(separator: ", ")
      throw JSONShapeError(path: place(), problem: "must be one of \(known) (got \"\(text.prefix(40))\")")
    }
    return word
  }
}
