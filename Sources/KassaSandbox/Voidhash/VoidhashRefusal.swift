import KassaCore
import KassaJSON

/// An error of Voidhash's SDK plane: `_tag` with `message`, or with `cause` where the service itself failed.
struct VoidhashRefusal: Error {
  var status: Int
  var tag: String
  var message: String
  /// What the error carries instead of a message.
  var members: [(String, JSON)] = []

  init(_ status: Int, _ tag: String, _ message: String) {
    self.status = status
    self.tag = tag
    self.message = message
  }

  /// A header or body that does not have its shape. How the server writes it is not published.
  static func undecodable(_ message: String) -> VoidhashRefusal { .init(400, "HttpApiDecodeError", message) }
  static func invalid(_ message: String) -> VoidhashRefusal { .init(400, "Api/SdkValidationError", message) }
  static func failed(_ cause: String) -> VoidhashRefusal { .init(500, "Api/SdkServiceError", cause) }
  static let personNotFound = VoidhashRefusal(404, "Api/SdkPersonNotFoundError", "Person not found")

  static let noPushDevices = VoidhashRefusal(
    403, "Api/ActionForbiddenError", "Push notifications are not enabled for this project.")

  static func alreadyIdentified(_ id: VoidhashDistinctID) -> VoidhashRefusal {
    var refusal = VoidhashRefusal(409, "Api/SdkPersonAlreadyIdentifiedError", "")
    refusal.members = [("distinctId", JSON(id.text))]
    return refusal
  }

  init(_ error: JSONShapeError) { self = .undecodable(error.description) }

  /// What the service says with that status, when a fault asks for it.
  init(status: Int, _ message: String) {
    let tag =
      switch status {
      case 400: "Api/SdkValidationError"
      case 401: "Api/AuthenticationError"
      case 403: "Api/ActionForbiddenError"
      case 404: "Api/SdkPersonNotFoundError"
      case 409: "Api/SdkPersonAlreadyIdentifiedError"
      case 429: "Api/RateLimitError"
      case 500...: "Api/SdkServiceError"
      default: "Api/SdkError"
      }
    self.init(status, tag, message)
  }

  var document: JSON {
    let text: [(String, JSON)] = members.isEmpty ? [(status >= 500 ? "cause" : "message", JSON(message))] : members
    return .object([("_tag", JSON(tag))] + text)
  }
}

/// An error of the routes for events: flat, with a code.
struct VoidhashEventRefusal: Error {
  var status: Int
  var code: String
  var message: String

  init(_ status: Int, _ message: String) {
    self.status = status
    self.message = message
    code =
      switch status {
      case 400: "invalid_request"
      case 401: "unauthorized"
      case 413: "payload_too_large"
      case 429: "rate_limited"
      case 503: "dependency_unavailable"
      case 500...: "internal_error"
      default: "error"
      }
  }

  var document: JSON { ["error": JSON(message), "code": JSON(code)] }
}

/// An answer of Voidhash's routes.
struct VoidhashAnswer {
  var status = 200
  /// Nil: no body at all.
  var document: JSON?
  var headers: [HTTPHeader] = []

  init(_ document: JSON?, status: Int = 200, headers: [HTTPHeader] = []) {
    self.document = document
    self.status = status
    self.headers = headers
  }

  init(_ refusal: VoidhashRefusal) { self.init(refusal.document, status: refusal.status) }
}
