import KassaCore
import KassaJSON

/// Something that goes wrong with the next requests, as the action `fault` asked.
struct Fault {
  enum Kind: String, CaseIterable {
    case rateLimited = "rate_limited"
    case status
    case html
    case body
    case empty
    case truncated
    case wrongShape = "wrong_shape"
    case brokenEncoding = "broken_encoding"
    case repeatedCursor = "repeated_cursor"
    case redirect
    case reset
    case slow
    case delay
  }

  /// Where a 429 says how long to wait. Whop documents the message only; Voidhash's clients know the header and
  /// `retry_after_ms` in the body.
  enum RetryForm: String, CaseIterable { case message, seconds, date, body }

  /// Whose errors the request would get.
  enum Service {
    case whop, voidhash, voidhashEvents

    init(path: some StringProtocol) {
      if path.hasPrefix(VoidhashService.sdkPath) {
        self = .voidhash
      } else {
        self = path.hasPrefix(VoidhashService.eventPath) ? .voidhashEvents : .whop
      }
    }
  }

  static let keys = [
    "kind", "route", "method", "times", "status", "retry_after", "retry_form", "body", "content_type", "location",
    "bytes_per_second", "ms", "executes",
  ]

  var kind: Kind
  /// The beginning of the path, with or without `/api/v1`.
  var route: String?
  var method: String?
  /// How many requests it still meets.
  var times: Int64
  /// Whether the request is carried out although its answer is lost.
  var executes: Bool
  var status: Int
  var retryAfter: Int64
  var retryForm: RetryForm
  var body: String
  var contentType: String
  var location: String
  var bytesPerSecond: Int
  var milliseconds: Int64

  init(_ fields: Fields) throws(JSONShapeError) {
    let kinds = Kind.allCases.map(\.rawValue), forms = RetryForm.allCases.map(\.rawValue)
    let kind = try fields.required(fields.word("kind", among: kinds).flatMap(Kind.init), "kind")
    self.kind = kind
    route = try fields.optionalString("route")
    method = try fields.optionalString("method")?.uppercased()
    times = try fields.number("times", 1...1_000_000) ?? 1
    executes = try fields.optionalBool("executes") ?? false
    status = Int(try fields.number("status", 200...599) ?? (kind == .status ? 500 : kind == .redirect ? 302 : 200))
    retryAfter = try fields.number("retry_after", 0...86_400) ?? 1
    retryForm = try fields.word("retry_form", among: forms).flatMap(RetryForm.init) ?? .message
    body = try fields.optionalString("body") ?? ""
    contentType = try fields.optionalString("content_type") ?? "application/json"
    location = try fields.optionalString("location") ?? "http://portal.example.com/login"
    bytesPerSecond = Int(try fields.number("bytes_per_second", 1...1_000_000_000) ?? 100)
    milliseconds = try fields.number("ms", 0...3_600_000) ?? 1_000
  }

  func meets(_ request: HTTPRequest, path: Substring) -> Bool {
    guard method == nil || method == request.method else { return false }
    guard let route else { return true }
    return path.hasPrefix(route) || path.hasPrefix(WhopService.apiPath + route)
  }

  /// Whether the request is carried out at all.
  var needsAnswer: Bool {
    switch kind {
    case .truncated, .repeatedCursor, .slow, .delay, .brokenEncoding: true
    default: executes
    }
  }

  /// - Parameter answer: what the service said, if it was asked.
  func spoil(_ answer: HTTPResponse?, of service: Service, now: Int64) -> SandboxAnswer {
    let answer = answer ?? HTTPResponse(status: 200)
    switch kind {
    case .rateLimited: return .response(rateLimit(service, now: now))
    case .status: return .response(refusal(service, "The sandbox was told to answer \(status).", status))
    case .html:
      return .response(page("<!doctype html><title>Sign in</title><p>Please sign in to the network.", "text/html"))
    case .body: return .response(page(body, contentType))
    case .empty: return .response(HTTPResponse(status: status))
    case .truncated:
      var answer = answer
      answer.body.removeLast(answer.body.count - answer.body.count / 2)
      return .response(answer)
    case .wrongShape: return .response(page(#"{"data":{"unexpected":true},"id":42}"#, "application/json"))
    case .brokenEncoding:
      var answer = answer
      answer.headers.append(HTTPHeader("Content-Encoding", "gzip"))
      return .response(answer)
    case .repeatedCursor: return .response(repeatingCursor(answer))
    case .redirect: return .response(HTTPResponse(status: status, headers: [HTTPHeader("Location", location)]))
    case .reset: return .reset
    case .slow: return .slow(answer, bytesPerSecond: bytesPerSecond)
    case .delay: return .delayed(answer, milliseconds: milliseconds)
    }
  }

  private func rateLimit(_ service: Service, now: Int64) -> HTTPResponse {
    let seconds = "Try again in \(retryAfter) seconds."
    let more: [(String, JSON)] = retryForm == .body ? [("retry_after_ms", JSON(retryAfter * 1_000))] : []
    var response = refusal(service, retryForm == .message ? seconds : "Too many requests.", 429, more)
    switch retryForm {
    case .message, .body: break
    case .seconds: response.headers.append(HTTPHeader("Retry-After", String(retryAfter)))
    case .date:
      response.headers.append(HTTPHeader("Retry-After", Timestamp.httpDate(now + retryAfter * 1_000)))
    }
    return response
  }

  private func refusal(
    _ service: Service, _ message: String, _ status: Int, _ more: [(String, JSON)] = []
  ) -> HTTPResponse {
    let document =
      switch service {
      case .whop: Refusal(status, message).document
      case .voidhash: VoidhashRefusal(status: status, message).document
      case .voidhashEvents: VoidhashEventRefusal(status, message).document
      }
    return HTTPResponse(
      status: status, headers: [HTTPHeader("Content-Type", "application/json")],
      body: document.merging(more).bytes())
  }

  private func page(_ body: String, _ type: String) -> HTTPResponse {
    HTTPResponse(status: status, headers: [HTTPHeader("Content-Type", type)], body: Array(body.utf8))
  }

  private func repeatingCursor(_ answer: HTTPResponse) -> HTTPResponse {
    guard let document = try? JSON.parse(answer.body), let info = document["page_info"] else { return answer }
    let endless = info.merging([("has_next_page", true), ("end_cursor", JSON("again"))])
    var answer = answer
    answer.body = document.merging([("page_info", endless)]).bytes()
    return answer
  }
}

extension Fields {
  func number(_ key: String, _ range: ClosedRange<Int64>) throws(JSONShapeError) -> Int64? {
    try value(key, "a whole number from \(range.lowerBound) to \(range.upperBound)") { json in
      json.integer.flatMap { range.contains($0) ? $0 : nil }
    }
  }
}
