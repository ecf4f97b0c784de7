import KassaCore
import KassaJSON

/// Whop's REST interface as one function: a request goes out with credential, version and retries, and comes back as
/// JSON that is certainly the service's own, or as a `KassaError`.
final class WhopAPI {
  private let configuration: WhopConfiguration
  private let transport: any HTTPTransport
  private let tokens: (any AccessTokenSource)?
  private let time: any TimeSource
  private let random: any RandomSource
  /// Told of the time by the service's clock, with every answer that is its own.
  private let serverTime: (Int64) -> Void
  private var breaker = CircuitBreaker()

  init(
    _ configuration: WhopConfiguration, transport: any HTTPTransport, tokens: (any AccessTokenSource)?,
    time: any TimeSource, random: any RandomSource, serverTime: @escaping (Int64) -> Void
  ) {
    self.configuration = configuration
    self.transport = transport
    self.tokens = tokens
    self.time = time
    self.random = random
    self.serverTime = serverTime
  }

  struct Call {
    var method = "GET"
    var path: String
    var query: [(String, String)] = []
    var body: JSON?
    /// Sent on POST, so that a retry cannot do it twice.
    var idempotencyKey: String?
    var needsCredential = true
  }

  /// The service's answer with status 2xx.
  func send(_ call: Call) async throws(KassaError) -> JSON {
    let deadline = bootMilliseconds.adding(Constants.wholeRequestMilliseconds)
    var refusedToken: String?
    var retries = 0
    while true {
      if let wait = breaker.wait(now: bootMilliseconds) {
        throw KassaError(
          .serviceUnavailable, "the service failed several times in a row; not asked again for now", retryable: true,
          retryAfterMilliseconds: wait)
      }
      let credential = try await self.credential(for: call, refused: refusedToken)
      let failure: Failure
      do throws(Failure) {
        return try await attempt(call, credential: credential)
      } catch {
        failure = error
      }
      if failure.error.code == .unauthorized, tokens != nil, call.needsCredential, refusedToken == nil {
        refusedToken = credential
        continue
      }
      guard failure.mayRetry, retries < Constants.maximumRetries else { throw failure.error }
      retries += 1
      let delay =
        failure.error.retryAfterMilliseconds
        ?? RetryPolicy.interactive.delay(retry: retries, jitter: random.fraction())
      // A try that could not end in time is not begun.
      guard bootMilliseconds.adding(delay).adding(Constants.requestMilliseconds) <= deadline else {
        throw failure.error
      }
      do throws(CancellationError) { try await time.sleep(milliseconds: delay) } catch {
        throw KassaError(.cancelled, "the operation was cancelled")
      }
    }
  }

  private var bootMilliseconds: Int64 { time.bootNanoseconds / 1_000_000 }

  private func credential(for call: Call, refused: String?) async throws(KassaError) -> String? {
    guard call.needsCredential else { return nil }
    switch configuration.credential {
    case .key(let key): return key
    case .host:
      guard let tokens else { throw KassaError(.tokenUnavailable, "the host provides no access tokens") }
      return try await tokens.token(refused: refused)
    }
  }

  private struct Failure: Error {
    var error: KassaError
    var mayRetry: Bool
  }

  private func attempt(_ call: Call, credential: String?) async throws(Failure) -> JSON {
    var headers = [
      HTTPHeader("Accept", "application/json"), HTTPHeader("Api-Version-Date", configuration.apiVersionDate),
    ]
    if let credential { headers.append(HTTPHeader("Authorization", "Bearer \(credential)")) }
    if call.body != nil { headers.append(HTTPHeader("Content-Type", "application/json")) }
    if let key = call.idempotencyKey { headers.append(HTTPHeader("Idempotency-Key", key)) }
    var url = configuration.baseURL + WhopConstants.apiPath + call.path
    if !call.query.isEmpty { url += "?" + URLText.query(call.query) }
    let response: HTTPResponse
    do throws(TransportError) {
      response = try await transport.send(
        HTTPRequest(call.method, url, headers: headers, body: call.body?.bytes() ?? []))
    } catch {
      throw transportFailure(error)
    }
    return try read(response)
  }

  private func transportFailure(_ error: TransportError) -> Failure {
    switch error {
    case .cancelled: breaker.abandoned()
    case .offline, .timedOut: breaker.failed(now: bootMilliseconds)
    case .insecure, .malformed, .unavailable: break
    }
    return Failure(error: KassaError(error), mayRetry: error == .timedOut)
  }

  private func read(_ response: HTTPResponse) throws(Failure) -> JSON {
    let body = try? JSON.parse(response.body)
    if (200..<300).contains(response.status), let body, body.isObject {
      // An object with 2xx is taken for the service until its shape says otherwise: see `WhopBackend`.
      breaker.succeeded()
      if let date = response.date { serverTime(date) }
      return body
    }
    if (200..<400).contains(response.status) || response.status == 511 {
      // Captive portals answer 200 with HTML, redirect, or ask to sign in (511; RFC 6585, section 6).
      breaker.abandoned()
      throw Failure(error: .notTheService(response.strangeness, status: response.status), mayRetry: false)
    }
    if response.status == 408 || response.status >= 500 {
      breaker.failed(now: bootMilliseconds)
    } else {
      breaker.succeeded()
    }
    let refusal = WhopRefusal(body)
    throw Failure(
      error: error(status: response.status, refusal: refusal, response: response),
      mayRetry: WhopConstants.isRetryable(response.status))
  }

  /// What a status of 4xx or 5xx means, with the service's own words where it gave any.
  private func error(status: Int, refusal: WhopRefusal?, response: HTTPResponse) -> KassaError {
    let message = refusal?.message ?? "the service answered with status \(status)"
    func error(_ code: ErrorCode, retryable: Bool = false) -> KassaError {
      KassaError(code, message, reason: refusal?.code ?? refusal?.type, retryable: retryable, status: status)
    }
    switch status {
    case _ where refusal == nil && status != 429 && status < 500 && status != 404:
      // A firewall's page, not a refusal of the service: nothing may be concluded from it.
      return .notTheService("status \(status) with \(response.strangeness)", status: status)
    case 401: return error(.unauthorized)
    case 403: return error(.permissionDenied)
    case 404, 410: return error(.notFound)
    case 408: return error(.timedOut, retryable: true)
    case 429:
      var limited = error(.rateLimited, retryable: true)
      limited.retryAfterMilliseconds = retryAfter(response, message: refusal?.message)
      return limited
    case 500...:
      var unavailable = error(.serviceUnavailable, retryable: true)
      unavailable.retryAfterMilliseconds = retryAfter(response, message: nil)
      return unavailable
    default: return error(.serviceRefused)
    }
  }

  /// The official SDK's order, then the number in the message, which is the only place that Whop documents.
  private func retryAfter(_ response: HTTPResponse, message: String?) -> Int64? {
    if let text = response.header("retry-after-ms"), let wait = Int64(text), wait >= 0 { return wait }
    if let text = response.header("Retry-After") {
      let now = response.date ?? time.wallMilliseconds
      if let wait = retryAfterMilliseconds(text, now: now, date: transport.milliseconds(ofHTTPDate:)) { return wait }
    }
    guard let message else { return nil }
    let digits = message.utf8.drop { !$0.isASCIIDigit }.prefix { $0.isASCIIDigit }
    return Int64(String(decoding: digits, as: UTF8.self)).flatMap {
      $0 <= Constants.longestRetryAfterSeconds ? $0 * 1_000 : nil
    }
  }
}

/// Whop's error envelope. Every field may be missing: pages and SDK disagree.
struct WhopRefusal {
  var type: String?
  var code: String?
  var message: String?
  var param: String?

  /// Nil if this is no envelope at all.
  init?(_ body: JSON?) {
    guard let error = body?["error"] else { return nil }
    if let word = error.string {
      // The form of the OAuth endpoints.
      type = word
      message = body?["error_description"]?.string ?? word
      return
    }
    guard error.isObject else { return nil }
    type = error["type"]?.string
    code = error["code"]?.string
    message = error["message"]?.string
    param = error["param"]?.string
  }
}
