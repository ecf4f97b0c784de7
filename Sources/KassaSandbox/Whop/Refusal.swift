import KassaCore
import KassaJSON

/// An error of the service: the HTTP status and what its envelope says.
struct Refusal: Error {
  var status: Int
  var type: String
  var message: String
  var code: String?
  /// The parameter that is at fault.
  var param: String?
  /// Where money can be paid in, with status 402 only.
  var depositURL: String?

  init(_ status: Int, _ message: String, code: String? = nil, param: String? = nil) {
    self.status = status
    self.type = Self.type(of: status)
    self.message = message
    self.code = code
    self.param = param
    depositURL = status == 402 ? "https://whop.com/dashboard" : nil
  }

  static func invalid(_ param: String, _ problem: String) -> Refusal {
    Refusal(400, "\(param) \(problem)", code: "parameter_invalid", param: param)
  }

  static func missing(_ param: String) -> Refusal {
    Refusal(400, "Missing required parameter: \(param)", code: "parameter_missing", param: param)
  }

  static func notFound(_ what: String) -> Refusal { Refusal(404, "No such \(what)") }

  static func noRoute(_ request: APIRequest) -> Refusal {
    Refusal(404, "There is no \(request.method) \(request.target.prefix { $0 != "?" })")
  }

  init(_ error: JSONShapeError) {
    self = .invalid(error.path.isEmpty ? "body" : error.path, error.problem)
  }

  /// Whop publishes no list; 402, 410 and 429 are named in its documentation and SDK.
  private static func type(of status: Int) -> String {
    switch status {
    case 401: "unauthorized"
    case 402: "payment_required"
    case 403: "forbidden"
    case 404: "not_found"
    case 409: "conflict"
    case 410: "gone"
    case 422: "unprocessable_entity"
    case 429: "rate_limit_exceeded"
    case 503: "service_unavailable"
    case 500...: "internal_server_error"
    default: "invalid_request_error"
    }
  }

  var document: JSON {
    var error: [(String, JSON)] = [("type", JSON(type)), ("message", JSON(message))]
    if let code { error.append(("code", JSON(code))) }
    if let param { error.append(("param", JSON(param))) }
    if let depositURL { error.append(("deposit_url", JSON(depositURL))) }
    return ["error": .object(error)]
  }
}
