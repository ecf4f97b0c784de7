import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

/// One request and its answer: what counts as the service, what is tried again, and when.
@Suite struct WhopAPITests {
  private func plansError(_ bench: Bench) async throws -> KassaError {
    try await bench.error { try await $0.plans() }
  }

  // MARK: Requests

  @Test("Every request names the version, and carries the key") func headers() async throws {
    let bench = try Bench([("api_version", "2026-01-02"), ("base_url", "https://broker.example/x/")]) { _, _ in
      .rows([])
    }
    _ = try await bench.backend.memberships(of: Identity(deviceID: "d"))
    let request = try #require(bench.requests.first)
    #expect(request.method == "GET")
    #expect(request.url.hasPrefix("https://broker.example/x/api/v1/memberships?"))
    #expect(request.header("Api-Version-Date") == "2026-01-02")
    #expect(request.header("Authorization") == "Bearer secret_key")
    #expect(request.header("Accept") == "application/json")
    #expect(request.header("Content-Type") == nil)
    #expect(request.header("Idempotency-Key") == nil)
    #expect(request.body.isEmpty)
  }

  // MARK: Answers

  @Test(
    "A refusal of the service has its code, its text, and its word",
    arguments: [
      (400, .serviceRefused), (401, .unauthorized), (402, .serviceRefused), (403, .permissionDenied), (404, .notFound),
      (409, .serviceRefused), (410, .notFound), (418, .serviceRefused), (422, .serviceRefused),
    ] as [(Int, ErrorCode)])
  func refusals(_ status: Int, _ code: ErrorCode) async throws {
    let bench = try Bench(.refusal(status, message: "The text"))
    let error = try await plansError(bench)
    #expect(error.code == code)
    #expect(error.message == "The text")
    #expect(error.reason == "code")
    #expect(error.status == status)
    #expect(!error.retryable)
    #expect(bench.requests.count == 1)
  }

  @Test(
    "What may pass is tried twice more",
    arguments: [
      (408, .timedOut), (429, .rateLimited), (500, .serviceUnavailable), (502, .serviceUnavailable),
      (503, .serviceUnavailable),
      (504, .serviceUnavailable), (529, .serviceUnavailable),
    ] as [(Int, ErrorCode)])
  func retried(_ status: Int, _ code: ErrorCode) async throws {
    let bench = try Bench(.refusal(status))
    let error = try await plansError(bench)
    #expect(error.code == code)
    #expect(error.status == status)
    #expect(error.retryable)
    #expect(bench.requests.count == 3)
  }

  @Test(
    "Every form of the error envelope is read",
    arguments: [
      (#"{"error":{"type":"t","code":"c","message":"m","param":"p","new":1}}"#, "m", "c"),
      (#"{"error":{"type":"t","message":"m"}}"#, "m", "t"),
      (#"{"error":{}}"#, "the service answered with status 400", nil),
      (#"{"error":{"type":null,"code":5,"message":["m"]}}"#, "the service answered with status 400", nil),
      (#"{"error":"invalid_grant","error_description":"m"}"#, "m", "invalid_grant"),
      (#"{"error":"invalid_grant"}"#, "invalid_grant", "invalid_grant"),
    ] as [(String, String, String?)])
  func envelopes(_ body: String, _ message: String, _ reason: String?) async throws {
    let error = try await plansError(try Bench(.json(400, body)))
    #expect(error.code == .serviceRefused)
    #expect(error.message == message)
    #expect(error.reason == reason)
  }

  @Test(
    "The documented envelopes are read", .enabled(if: Samples.areHere, Samples.comment),
    arguments: [
      ("error-400.json", 400, .serviceRefused, "parameter_missing"),
      ("error-401.json", 401, .unauthorized, "unauthorized"),
      ("error-402.json", 402, .serviceRefused, "payment_required"),
      ("error-v1.json", 400, .serviceRefused, "bank_warning_not_acknowledged"),
    ] as [(String, Int, ErrorCode, String)])
  func sampleEnvelopes(_ file: String, _ status: Int, _ code: ErrorCode, _ reason: String) async throws {
    let sample = try Samples.document(file)
    let error = try await plansError(try Bench(.json(status, sample.text())))
    #expect(error.code == code)
    #expect(error.reason == reason)
    #expect(error.message == sample["error"]?["message"]?.string)
  }

  @Test(
    "S105 what is not the service's own answer is called that, and not asked again",
    arguments: [
      .html(200), .json(200, ""), .json(200, "null"), .json(200, "[]"), .json(200, "5"), .json(200, #""text""#),
      .json(200, #"{"data":[{"id":"mem"#), .json(204, ""), .json(204, "{}x"), .html(302), .json(301, "{}"), .html(304),
      .html(511),
      .json(511, #"{"error":{"message":"sign in"}}"#), .html(400), .html(401), .html(403), .html(407), .html(409),
      .html(422),
      .html(451), .json(403, "{}"), .json(403, #"{"message":"blocked"}"#), .json(403, #"{"error":null}"#),
      .json(403, #"{"error":7}"#),
      .failure(.malformed("text")), .failure(.insecure("text")),
    ] as [Reply])
  func strangers(_ reply: Reply) async throws {
    let bench = try Bench(reply)
    let error = try await plansError(bench)
    #expect(error.code == .notServiceAnswer)
    #expect(error.retryable)
    #expect(bench.requests.count == 1)
    #expect(bench.serverTimes.isEmpty)
  }

  @Test("Gateways answer 5xx with pages, and 404 needs no envelope") func pages() async throws {
    #expect(try await plansError(try Bench(.html(502))).code == .serviceUnavailable)
    #expect(try await plansError(try Bench(.html(404))).code == .notFound)
    #expect(try await plansError(try Bench(.html(429))).code == .rateLimited)
  }

  @Test(
    "Where there is no answer, the reason decides what is said and whether it is tried again",
    arguments: [
      (.offline("text"), .offline, true, 1), (.timedOut, .timedOut, true, 3), (.cancelled, .cancelled, false, 1),
      (.unavailable("text"), .unsupported, false, 1),
    ] as [(TransportError, ErrorCode, Bool, Int)])
  func noAnswer(_ failure: TransportError, _ code: ErrorCode, _ retryable: Bool, _ requests: Int) async throws {
    let bench = try Bench(.failure(failure))
    let error = try await plansError(bench)
    #expect(error.code == code)
    #expect(error.retryable == retryable)
    #expect(error.status == nil)
    #expect(bench.requests.count == requests)
  }

  @Test("The service's time is told with its answers, and only with those") func serverTime() async throws {
    let page: JSON = ["data": []]
    let bench = try Bench(
      .json(500, "{}", date: 1), .json(429, "{}", date: 2), .ok(page, date: moment + 5), .ok(page),
      .json(200, "[]", date: 3))
    _ = try await bench.backend.plans()
    _ = try await bench.backend.plans()
    _ = try await plansError(bench)
    #expect(bench.serverTimes == [moment + 5])
  }

  @Test(
    "No message holds the key",
    arguments: [.refusal(401), .html(200), .failure(.offline("x")), .refusal(503)] as [Reply])
  func secrecy(_ reply: Reply) async throws {
    #expect(try await !plansError(try Bench(reply)).document.text().contains("secret_key"))
  }

  // MARK: Waits

  @Test("Waits double from one second, with up to a quarter more") func backoff() async throws {
    let bench = try Bench(.refusal(500), .refusal(503), .rows([]))
    #expect(try await bench.backend.plans().isEmpty)
    #expect(bench.requests.count == 3)
    let waits = bench.time.waits
    #expect(waits.count == 2)
    #expect(1_000..<1_250 ~= waits.first ?? 0)
    #expect(2_000..<2_500 ~= waits.last ?? 0)
  }

  @Test(
    "S101 S102 S103 the service's own wait counts, in the order of the official SDK",
    arguments: [
      ([("Retry-After", "2")], "no", 2_000), ([("Retry-After", "0")], "no", 0),
      ([("Retry-After", "1.0001")], "no", 1_001),
      ([("Retry-After", " 3 ")], "no", 3_000), ([("retry-after-ms", "1500"), ("Retry-After", "9")], "no", 1_500),
      ([("retry-after-ms", "junk"), ("Retry-After", "4")], "no", 4_000),
      ([("retry-after-ms", "-1"), ("Retry-After", "4")], "no", 4_000),
      ([("Retry-After", "2"), ("Retry-After", "9")], "no", 2_000),
      ([("Retry-After", "Tue, 20 Oct 2026 10:00:05 GMT")], "no", 5_000),
      ([("Retry-After", "Tuesday, 20-Oct-26 10:00:05 GMT")], "no", 5_000),
      ([("Retry-After", "Tue Oct 20 10:00:05 2026")], "no", 5_000),
      ([("Retry-After", "Tue, 20 Oct 2026 09:00:00 GMT")], "no", 0), ([("Retry-After", "2")], "Wait 7 seconds", 2_000),
      ([("Retry-After", "2junk")], "Wait 7 seconds", 7_000),
      ([], "Rate limit exceeded. Try again in 7 seconds.", 7_000),
    ] as [([(String, String)], String, Int64)])
  func retryAfter(_ headers: [(String, String)], _ message: String, _ expected: Int64) async throws {
    let bench = try Bench(.refusal(429, message: message, headers: headers.map { HTTPHeader($0.0, $0.1) }), .rows([]))
    #expect(try await bench.backend.plans().isEmpty)
    #expect(bench.time.waits == [expected])
  }

  @Test("S101 a wait that is none leaves the usual one", arguments: ["120junk", "-5", "soon", ""])
  func noRetryAfter(_ text: String) async throws {
    let bench = try Bench(.refusal(429, headers: [HTTPHeader("Retry-After", text)]), .rows([]))
    _ = try await bench.backend.plans()
    #expect(1_000..<1_250 ~= bench.time.waits.first ?? 0)
  }

  @Test("S103 a date is measured on the service's own clock, where it gave the time") func serverClock() async throws {
    let date = HTTPHeader("Retry-After", "Tue, 20 Oct 2026 10:00:05 GMT")
    let bench = try Bench(.json(503, "{}", headers: [date], date: moment + 2_000), .rows([]))
    _ = try await bench.backend.plans()
    #expect(bench.time.waits == [3_000])
  }

  @Test(
    "S101 a wait beyond 30 s is told, not waited for",
    arguments: [
      ("31", 31_000), ("120", 120_000), ("Wed, 20 Oct 2027 10:00:00 GMT", 365 * 86_400_000),
    ] as [(String, Int64)])
  func longWait(_ text: String, _ expected: Int64) async throws {
    let bench = try Bench(.refusal(429, headers: [HTTPHeader("Retry-After", text)]))
    let error = try await plansError(bench)
    #expect(error.code == .rateLimited)
    #expect(error.retryAfterMilliseconds == expected)
    #expect(bench.requests.count == 1)
    #expect(bench.time.waits.isEmpty)
  }

  @Test(
    "S101 a number in the message is believed up to a day",
    arguments: [("86400", 86_400_000), ("86401", nil)] as [(String, Int64?)])
  func waitInMessage(_ seconds: String, _ expected: Int64?) async throws {
    let error = try await plansError(try Bench(.refusal(429, message: "Retry in \(seconds) s")))
    #expect(error.retryAfterMilliseconds == expected)
  }

  @Test("No try is begun that could not end within 30 s of the first") func wholeRequest() async throws {
    let quick = try Bench(.refusal(503, headers: [HTTPHeader("Retry-After", "10")]))
    _ = try await plansError(quick)
    #expect(quick.time.waits == [10_000, 10_000])
    let patient = try Bench(.refusal(503, headers: [HTTPHeader("Retry-After", "14")]))
    _ = try await plansError(patient)
    #expect(patient.time.waits == [14_000])
    let slow = try Bench(.refusal(503, headers: [HTTPHeader("Retry-After", "20")]))
    _ = try await plansError(slow)
    #expect(slow.time.waits == [20_000])
    #expect(slow.requests.count == 2)
    let late = try Bench(.late(29_500, .refusal(503)))
    _ = try await plansError(late)
    #expect(late.requests.count == 1)
  }

  @Test("Cancelling ends the wait between two tries") func cancelled() async throws {
    let bench = try Bench { _, _ in
      withUnsafeCurrentTask { $0?.cancel() }
      return .refusal(503)
    }
    let transport = bench.transport
    // A task of its own, so that the test is not cancelled.
    let code = await Task { try? await plansError(bench).code }.value
    #expect(code == .cancelled)
    #expect(transport.requests.count == 1)
  }

  // MARK: Circuit breaker

  @Test(
    "Five failures in a row open the breaker; after 30 s one request probes",
    arguments: [.refusal(503), .failure(.timedOut)] as [Reply])
  func breaker(_ failure: Reply) async throws {
    let bench = try Bench { _, number in number < 5 ? failure : .rows([]) }
    _ = try await plansError(bench)
    let opened = try await plansError(bench)
    #expect(opened.code == .serviceUnavailable)
    #expect(bench.requests.count == 5)
    let refused = try await plansError(bench)
    #expect(refused.code == .serviceUnavailable)
    #expect(refused.retryable)
    #expect(bench.requests.count == 5)
    bench.time.clocks.advance(milliseconds: try #require(refused.retryAfterMilliseconds) - 1)
    _ = try await plansError(bench)
    #expect(bench.requests.count == 5)
    bench.time.clocks.advance(milliseconds: 1)
    _ = try await bench.backend.plans()
    _ = try await bench.backend.plans()
    #expect(bench.requests.count == 7)
  }

  @Test("Without a connection nothing is tried again, and the breaker opens too") func breakerOffline() async throws {
    let bench = try Bench(.failure(.offline("text")))
    for _ in 0..<5 { #expect(try await plansError(bench).code == .offline) }
    #expect(try await plansError(bench).code == .serviceUnavailable)
    #expect(bench.requests.count == 5)
  }

  @Test(
    "Refusals and strangers are no failures of the service",
    arguments: [.refusal(401), .html(200), .html(511), .html(302)] as [Reply])
  func noFailures(_ reply: Reply) async throws {
    let bench = try Bench(reply)
    for _ in 0..<10 { _ = try await plansError(bench) }
    #expect(bench.requests.count == 10)
  }

  // MARK: Access tokens

  @Test("A refused token is replaced exactly once") func refresh() async throws {
    let tokens = Tokens()
    let bench = try Bench(.refusal(401), .rows([]), .refusal(401), tokens: tokens)
    _ = try await bench.backend.plans()
    #expect(bench.requests.map { $0.header("Authorization") } == ["Bearer token1", "Bearer token2"])
    #expect(tokens.refused == [nil, "token1"])
    #expect(try await plansError(bench).code == .unauthorized)
    #expect(bench.requests.count == 4)
    #expect(tokens.refused == [nil, "token1", nil, "token3"])
  }

  @Test("A key, and a page of a firewall, are not replaced") func noRefresh() async throws {
    let key = try Bench(.refusal(401))
    _ = try await plansError(key)
    #expect(key.requests.count == 1)
    let tokens = Tokens()
    let firewall = try Bench(.html(401), tokens: tokens)
    #expect(try await plansError(firewall).code == .notServiceAnswer)
    #expect(tokens.refused == [nil])
  }

  @Test("Without a token nothing is sent") func noToken() async throws {
    struct NoTokens: AccessTokenSource {
      func token(refused: String?) async throws(KassaError) -> String { throw KassaError(.tokenUnavailable, "none") }
    }
    let bench = try Bench(.rows([]), tokens: NoTokens())
    #expect(try await plansError(bench).code == .tokenUnavailable)
    #expect(bench.requests.isEmpty)
  }
}
