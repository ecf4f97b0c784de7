import KassaCore
import KassaJSON

/// Voidhash's SDK interface as one function: a request goes out once, unless breaker or gate hold it back, and comes
/// back as a value that is certainly the service's own, or as an error.
final class VoidhashAPI {
  private let configuration: VoidhashConfiguration
  private let headers: VoidhashHeaders
  private let transport: any HTTPTransport
  private let time: any TimeSource
  private let random: any RandomSource
  private let serverTime: (Int64) -> Void
  private let report: (String, String, JSON) -> Void
  private var breaker = CircuitBreaker()
  private var gate = AuthenticationGate()

  init(
    _ configuration: VoidhashConfiguration, facts: VoidhashClientFacts, transport: any HTTPTransport,
    time: any TimeSource, random: any RandomSource, serverTime: @escaping (Int64) -> Void,
    report: @escaping (String, String, JSON) -> Void
  ) {
    self.configuration = configuration
    headers = VoidhashHeaders(configuration: configuration, facts: facts)
    self.transport = transport
    self.time = time
    self.random = random
    self.serverTime = serverTime
    self.report = report
  }

  struct Call {
    var method = "GET"
    /// Below `/api/v1/sdk`.
    var path: String
    var person: DistinctID
    var body: JSON?
    /// The version that is known, for which the service may answer that it still is the one.
    var knownVersion: String?
    var isIdentify = false
    /// Reads the person: the one call that may find out whether a refused key works again.
    var isPersonRead = false
  }

  struct Failure: Error {
    var error: KassaError
    /// The service's own words, where it is its own.
    var envelope: VoidhashEnvelope?
  }

  // MARK: Sending

  /// `read` makes the value of an answer with status 2xx; nil is given for 304.
  func send<Value>(
    _ call: Call, _ read: (Fields) throws(JSONShapeError) -> Value
  ) async throws(Failure) -> Value? {
    try await send(prepare(call), read)
  }

  struct PreparedCall {
    let call: Call
    fileprivate let send: PreparedRequest
  }

  /// Breaker and gate are asked when it is sent.
  func prepare(_ call: Call) -> PreparedCall { PreparedCall(call: call, send: transport.prepare(request(call))) }

  func send<Value>(
    _ prepared: PreparedCall, _ read: (Fields) throws(JSONShapeError) -> Value
  ) async throws(Failure) -> Value? {
    let call = prepared.call
    do throws(KassaError) { try call.person.check() } catch { throw Failure(error: error) }
    let permit = try permit(for: call)
    let response: HTTPResponse
    do throws(TransportError) {
      response = try await prepared.send()
    } catch {
      ended(permit, error)
      throw Failure(error: KassaError(error))
    }
    let answer = VoidhashAnswer(response, isConditional: call.knownVersion != nil)
    switch answer.meaning {
    case .content(let body):
      do throws(JSONShapeError) {
        let value = try read(Fields(body))
        succeeded(permit, response)
        return value
      } catch {
        neutral(permit)
        throw Failure(
          error: .notTheService("an answer of a wrong shape: \(error)", status: response.status))
      }
    case .notModified:
      // Without its tag it may be anybody's; it changes nothing, but its clock is not believed.
      succeeded(permit, response, isDated: response.header("ETag") == call.knownVersion.map(Self.quoted))
      return nil
    case .keyRefused, .failed, .strange:
      failed(permit, answer)
      let now = response.date ?? time.wallMilliseconds
      let wait = answer.retryAfter(now: now, date: transport.milliseconds(ofHTTPDate:))
      let secrets = [configuration.publishableKey, call.person.text]
      throw Failure(
        error: answer.error(retryAfter: wait, isIdentify: call.isIdentify, secrets: secrets), envelope: answer.envelope)
    }
  }

  private func request(_ call: Call) -> HTTPRequest {
    var headers = headers.headers(as: call.person, nonce: random.uuid())
    headers.append(HTTPHeader("accept", "application/json"))
    if call.body != nil { headers.append(HTTPHeader("content-type", "application/json")) }
    if let version = call.knownVersion { headers.append(HTTPHeader("if-none-match", Self.quoted(version))) }
    return HTTPRequest(
      call.method, configuration.baseURL + VoidhashConstants.apiPath + call.path, headers: headers,
      body: call.body?.bytes() ?? [])
  }

  private static func quoted(_ version: String) -> String { "\"\(version)\"" }

  private var bootMilliseconds: Int64 { time.bootNanoseconds / 1_000_000 }

  // MARK: Breaker and gate

  /// Why nothing would be sent now.
  var pause: BackendPause? {
    if gate.isPaused { return .unauthorized }
    return breaker.remaining(now: bootMilliseconds).map { .failing(milliseconds: $0) }
  }

  func conditionsImproved() -> Bool {
    breaker.conditionsImproved(now: bootMilliseconds)
    return gate.conditionsImproved(now: bootMilliseconds)
  }

  private struct Permit {
    var passage: AuthenticationGate.Passage
    /// The one request that an open breaker lets through.
    var isBreakerProbe: Bool
  }

  private func permit(for call: Call) throws(Failure) -> Permit {
    let passage = gate.passage(mayProbe: call.isPersonRead)
    guard passage != .refused else {
      throw Failure(
        error: KassaError(
          .outboundPaused, "the service refused the key: nothing is sent until a probe succeeds. Check publishable_key",
          retryable: true))
    }
    if let wait = breaker.wait(now: bootMilliseconds) {
      _ = gate.ended(passage, .none, now: bootMilliseconds)
      throw Failure(
        error: KassaError(
          .circuitOpen, "the service failed several times in a row; not asked again for now", retryable: true,
          retryAfterMilliseconds: wait))
    }
    return Permit(passage: passage, isBreakerProbe: !breaker.isClosed)
  }

  private func succeeded(_ permit: Permit, _ response: HTTPResponse, isDated: Bool = true) {
    if breaker.succeeded() { report("circuit_closed", "the service answers again", [:]) }
    ended(permit, .known, nil)
    if isDated, let date = response.date { serverTime(date) }
  }

  private func neutral(_ permit: Permit) {
    breaker.abandoned(isProbe: permit.isBreakerProbe)
    ended(permit, .none, nil)
  }

  private func failed(_ permit: Permit, _ answer: VoidhashAnswer) {
    let status = answer.response.status
    if case .failed = answer.meaning, VoidhashConstants.isFailure(status) {
      breakerFailed(permit)
    } else {
      breaker.abandoned(isProbe: permit.isBreakerProbe)
    }
    if case .keyRefused = answer.meaning {
      ended(permit, .refused, answer)
    } else {
      ended(permit, answer.isServicesOwn ? .known : .none, nil)
    }
  }

  private func ended(_ permit: Permit, _ failure: TransportError) {
    switch failure {
    case .offline, .timedOut, .insecure:
      breakerFailed(permit)
      ended(permit, .none, nil)
    case .cancelled, .malformed, .unavailable: neutral(permit)
    }
  }

  private func breakerFailed(_ permit: Permit) {
    guard breaker.failed(now: bootMilliseconds, isProbe: permit.isBreakerProbe) else { return }
    report(
      "circuit_open", "the service failed several times in a row: nothing is sent for a while",
      ["retryable": true, "retry_after_ms": JSON(breaker.remaining(now: bootMilliseconds))])
  }

  private func ended(_ permit: Permit, _ verdict: AuthenticationGate.Verdict, _ answer: VoidhashAnswer?) {
    switch gate.ended(permit.passage, verdict, now: bootMilliseconds) {
    case .paused:
      report(
        "authentication_failed", "the service refused the key: nothing is sent until it is accepted again",
        ["retryable": false, "status": JSON(answer?.response.status), "reason": JSON(answer?.envelope?.tag)])
    case .recovered: report("authentication_recovered", "the service accepts the key again", [:])
    case nil: break
    }
  }
}
