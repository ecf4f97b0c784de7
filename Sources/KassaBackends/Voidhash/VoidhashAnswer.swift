import KassaCore
import KassaJSON

/// The service's error envelope: a `_tag`, and `message` or `cause`. What has no `_tag` is no envelope, so a gateway's
/// `{"message":"Forbidden"}` is not taken for the service's word.
struct VoidhashEnvelope: Sendable, Equatable {
  var tag: String
  var message: String?

  init?(_ body: JSON?) {
    guard let body, let tag = body["_tag"]?.string, !tag.isEmpty else { return nil }
    self.tag = tag
    message = [body["message"], body["cause"]].compactMap { $0?.string }.first { !$0.isEmpty }
  }

  /// There is no such route: the address is wrong, and nothing is said about who or what was asked for.
  var isAboutRoute: Bool { tag.hasSuffix("RouteNotFound") || tag.hasSuffix("RouteNotFoundError") }

  init(tag: String, message: String? = nil) {
    self.tag = tag
    self.message = message
  }
}

/// One answer, and what it means before anybody looks at its content.
struct VoidhashAnswer {
  enum Meaning {
    /// 2xx and an object, whose shape is still to be read.
    case content(JSON)
    /// 304 to a request with `If-None-Match`.
    case notModified
    /// The service refused the key.
    case keyRefused
    /// Any other answer that says that it failed.
    case failed
    /// Not the service's own: nothing may be concluded from it.
    case strange
  }

  let response: HTTPResponse
  let envelope: VoidhashEnvelope?
  let meaning: Meaning
  private let isObject: Bool

  init(_ response: HTTPResponse, isConditional: Bool) {
    self.response = response
    let body = try? JSON.parse(response.body)
    envelope = VoidhashEnvelope(body)
    isObject = body?.isObject == true
    meaning = Self.meaning(response.status, body, envelope, isConditional)
  }

  private static func meaning(
    _ status: Int, _ body: JSON?, _ envelope: VoidhashEnvelope?, _ isConditional: Bool
  ) -> Meaning {
    switch status {
    case 200..<300:
      guard let body, body.isObject else { return .strange }
      return .content(body)
    case 304 where isConditional: return .notModified
    case 401, 403: return envelope == nil ? .strange : .keyRefused
    // An older server's way of refusing a key.
    case 500 where envelope?.tag == VoidhashConstants.Tag.authentication: return .keyRefused
    // A network that wants a login says so with 511 (RFC 6585, section 6).
    case 511: return .strange
    // Gateways in front of the service say these with pages of their own, and mean the same.
    case let status where VoidhashConstants.isRetryable(status): return .failed
    case 400...: return envelope.map { !$0.isAboutRoute } == true ? .failed : .strange
    default: return .strange
    }
  }

  /// Whether the service itself has spoken.
  var isServicesOwn: Bool {
    switch meaning {
    case .content, .notModified, .keyRefused: true
    case .failed: envelope != nil
    case .strange: false
    }
  }

  /// The error of an answer that is no success. The service's text is left out if it repeats one of `secrets`.
  func error(retryAfter: Int64?, isIdentify: Bool, secrets: [String] = []) -> KassaError {
    func error(_ code: ErrorCode, isRetryable: Bool = false) -> KassaError {
      self.error(code, isRetryable: isRetryable, secrets: secrets)
    }
    let status = response.status
    switch meaning {
    case .strange, .content, .notModified:
      let text = (200..<400).contains(status) || status == 511 ? "" : "status \(status) with "
      let own = envelope?.isAboutRoute == true ? "no such route" : "an object that is not the service's own"
      let what = isObject ? own : response.strangeness
      return .notTheService(text + what, status: status)
    case .keyRefused: return error(.unauthorized)
    case .failed: break
    }
    var failure: KassaError
    switch status {
    case 404: failure = error(.notFound)
    case 408: failure = error(.timedOut, isRetryable: true)
    case 409 where isIdentify || envelope?.tag == VoidhashConstants.Tag.alreadyIdentified:
      failure = error(.alreadyIdentified)
    case 429: failure = error(.rateLimited, isRetryable: true)
    case 500... where VoidhashConstants.isRetryable(status): failure = error(.serviceUnavailable, isRetryable: true)
    default: failure = error(.serviceRefused)
    }
    failure.retryAfterMilliseconds = retryAfter
    return failure
  }

  private func error(_ code: ErrorCode, isRetryable: Bool, secrets: [String]) -> KassaError {
    let tag = envelope.map { " (\($0.tag.quoted))" } ?? ""
    let own = envelope?.message.flatMap { text in secrets.contains { text.repeats($0) } ? nil : Self.shortened(text) }
    let message = own ?? "the service answered with status \(response.status)\(tag)"
    return KassaError(
      code, message, reason: envelope.map { Self.shortened($0.tag) }, retryable: isRetryable, status: response.status)
  }

  private static func shortened(_ text: String) -> String { String(text.prefix(500)) }
}

extension VoidhashAnswer {
  /// How long the service asks to wait: by the header, else by the body's `retry_after_ms`; at most an hour.
  func retryAfter(now: Int64, date: (String) -> Int64?) -> Int64? {
    let headers = response.headers.filter { $0.isNamed("retry-after") }
    let wait = headers.compactMap { retryAfterMilliseconds($0.value, now: now, date: date) }.first
    return (wait ?? bodyWait).map { min($0, Constants.longestRetryAfterMilliseconds) }
  }

  /// Rounded up to a millisecond.
  private var bodyWait: Int64? {
    guard let number = (try? JSON.parse(response.body))?["retry_after_ms"]?.double, number >= 0 else { return nil }
    return Int64(min(number, Double(Constants.longestRetryAfterMilliseconds)).rounded(.up))
  }
}

extension String {
  /// Whether the other text stands in this one, byte for byte; short ones may do so by chance.
  fileprivate func repeats(_ other: String) -> Bool {
    guard other.utf8.count >= 6 else { return false }
    var rest = Substring(self).utf8
    while !rest.isEmpty {
      if rest.starts(with: other.utf8) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}

/// What an answer to a receipt means (reference, open question 4: no document says which refusal is for good).
enum VoidhashVerdict: Equatable {
  case accepted
  /// The service's own no: `accepted` false, or a status of 4xx that trying again does not change.
  case refused
  /// Anything else, such as an outage, a refused key, a stranger's page, or a success without the word.
  case again

  init(status: Int, envelope: VoidhashEnvelope?, accepted: Bool?) {
    switch status {
    case 200..<300: self = accepted.map { $0 ? .accepted : .refused } ?? .again
    case 401, 403, 408, 429: self = .again
    case 400..<500: self = envelope.map { !$0.isAboutRoute } == true ? .refused : .again
    default: self = .again
    }
  }
}
