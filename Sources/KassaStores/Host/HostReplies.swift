import KassaCore
import KassaJSON

/// A reply of the host to one request of the service `store`.
struct HostReply {
  let method: String
  let fields: Fields

  /// Throws what the host says instead of an answer: `{"error":{"code":"offline","message":"..."}}`.
  init(_ json: JSON, to method: String) throws(KassaError) {
    self.method = method
    if let error = json["error"], !error.isNull { throw Self.failure(error) }
    do throws(JSONShapeError) { fields = try Fields(json) } catch { throw Self.invalid(error, method) }
  }

  func read<Value>(_ body: (Fields) throws(JSONShapeError) -> Value) throws(KassaError) -> Value {
    do throws(JSONShapeError) { return try body(fields) } catch { throw Self.invalid(error, method) }
  }

  private static func invalid(_ error: JSONShapeError, _ method: String) -> KassaError {
    KassaError(
      .storeFailed, "the host's reply to store/\(method) is wrong: \(error.description)", reason: "invalid_reply")
  }

  /// Codes that mean the same here as elsewhere keep their meaning; any other word becomes the reason.
  private static func failure(_ error: JSON) -> KassaError {
    let message = error["message"]?.string ?? error.string ?? "the host gave no reason"
    let word = error["code"]?.string
    switch word.flatMap(ErrorCode.init(rawValue:)) {
    case let code? where [.offline, .timedOut, .serviceUnavailable].contains(code):
      return KassaError(code, message, retryable: true)
    case let code? where [.unsupported, .paymentFailed, .permissionDenied, .notFound].contains(code):
      return KassaError(code, message)
    default:
      return KassaError(.storeFailed, message, reason: word.map(\.quoted))
    }
  }
}

/// How a sheet ended that buys nothing.
enum SheetOutcome: String, CaseIterable { case completed, cancelled }
enum RefundOutcome: String, CaseIterable { case success, cancelled }
enum PurchaseOutcome: String, CaseIterable { case purchased, pending, cancelled }
