import Foundation
import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

/// One request and its answer: headers, what counts as the service, and which code a failure has.
@Suite struct VoidhashAPITests {
  private func personError(_ reply: Reply) async throws -> (KassaError, VoidhashBench) {
    let bench = try VoidhashBench(reply)
    return (try await bench.error { try await $0.person(user) }, bench)
  }

  // MARK: Headers

  @Test(
    "The full header set is the documented one", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment))
  func sampleHeaders() throws {
    let sample = try VoidhashSamples.document("headers.json")
    // Their tests' key has no prefix, ours has to have one.
    let configuration = try VoidhashConfiguration(
      [
        "kind": "voidhash", "publishable_key": "vh_pk_test", "bundle_id": "com.voidhash.example",
        "app_version": "1.2.3",
      ], isDebug: false)
    var facts = VoidhashClientFacts(
      sdkVersion: "0.0.1-alpha.1", locales: ["en-US", "de-DE"], platformVersion: "17.4", platformBrand: "Apple",
      platformDevice: "iPhone")
    let nonce = "11111111-1111-4111-8111-111111111111", id = DistinctID("vh:anon:abc")
    let headers = VoidhashHeaders(configuration: configuration, facts: facts).headers(as: id, nonce: nonce)
    var expected = try #require(sample["full"]).members.map { HTTPHeader($0.0, $0.1.string ?? "") }
    expected = expected.map { $0.name == "x-publishable-key" ? HTTPHeader($0.name, "vh_pk_test") : $0 }
    let byName: (HTTPHeader, HTTPHeader) -> Bool = { $0.name < $1.name }
    #expect(headers.sorted(by: byName) == expected.sorted(by: byName))

    facts = VoidhashClientFacts(sdkVersion: "0.0.1-alpha.1")
    var bare = configuration
    bare.appVersion = nil
    let few = VoidhashHeaders(configuration: bare, facts: facts).headers(as: id, nonce: nonce).map(\.name)
    for name in try #require(sample["omitted_without_device_metadata"]).elements.compactMap(\.string) {
      #expect(!few.contains(name))
    }
    #expect(few.count == 12)
  }

  @Test("Every request carries the headers, and none is empty") func headers() async throws {
    let bench = try VoidhashBench(
      [("sdk", "android"), ("environment", "all"), ("base_url", "https://broker.example/x/")],
      facts: VoidhashClientFacts(
        sdkVersion: "0.1.0", isDebug: true, isObserver: true,
        locales: ["de_DE.UTF-8", "b\nad", "C", "en,fr", "zh-Hant-HK"])
    ) { _, _ in .person() }
    _ = try await bench.backend.person(user)
    _ = try await bench.backend.person(user)
    let request = try #require(bench.requests.first)
    #expect(request.method == "GET")
    #expect(request.url == "https://broker.example/x/api/v1/sdk/person")
    #expect(request.body.isEmpty)
    let expected = [
      "x-publishable-key": "vh_pk_test", "x-distinct-id": "user-123", "x-client-bundle-id": "com.example.app",
      "x-is-backgrounded": "false", "x-is-debug-build": "true", "x-observer-mode": "true", "x-platform": "android",
      "x-platform-flavor": "native", "x-sdk": "android", "x-sdk-version": "0.1.0", "x-environment": "all",
      "x-client-locale": "de-DE", "x-preferred-locales": "de-DE,zh-Hant-HK", "accept": "application/json",
    ]
    for (name, value) in expected { #expect(request.header(name) == value, "\(name)") }
    for name in ["x-client-version", "x-platform-version", "x-storefront", "content-type", "if-none-match"] {
      #expect(request.header(name) == nil, "\(name)")
    }
    #expect(request.headers.allSatisfy { !$0.value.isEmpty })
    let nonces = Set(bench.requests.compactMap { $0.header("x-nonce") })
    #expect(nonces.count == 2)
    #expect(nonces.allSatisfy { UUID(uuidString: $0) != nil && $0 == $0.lowercased() })
  }

  @Test("A browser says so") func web() async throws {
    let bench = try VoidhashBench([("sdk", "web")]) { _, _ in .person() }
    _ = try await bench.backend.person(user)
    #expect(bench.requests.first?.header("x-platform-flavor") == "browser")
  }

  @Test(
    "S087 ids travel byte for byte, or not at all",
    arguments: [
      ("a/b", true), ("..", true), ("%2F", true), ("a b", true), ("?#%_", true), ("🦊", true), ("مستخدم", true),
      ("e\u{301}", true), ("\u{E9}", true), (String(repeating: "x", count: 2_048), true), ("", false), (" ", false),
      (" a", false), ("a ", false), ("a\u{0}b", false), ("a\r\nx-sdk: web", false), ("a\tb", false), ("\u{7F}", false),
      (String(repeating: "x", count: 10_240), false),
    ])
  func ids(_ id: String, _ works: Bool) async throws {
    let bench = try VoidhashBench(.person())
    if works {
      try bench.backend.check(DistinctID(id))
      _ = try await bench.backend.person(DistinctID(id))
      #expect(bench.requests.first?.header("x-distinct-id").map { Array($0.utf8) } == Array(id.utf8))
    } else {
      #expect(throws: KassaError.self) { try bench.backend.check(DistinctID(id)) }
      let error = try await bench.error { try await $0.person(DistinctID(id)) }
      #expect(error.code == .invalidArgument)
      #expect(!error.retryable)
      #expect(bench.requests.isEmpty)
    }
  }

  // MARK: Codes

  /// Ours for the codes of Voidhash's SDKs.
  private static let codes: [String: ErrorCode] = [
    "INVALID_REQUEST": .serviceRefused, "AUTHENTICATION_FAILED": .unauthorized, "NOT_FOUND": .notFound,
    "ALREADY_IDENTIFIED": .alreadyIdentified, "RATE_LIMIT_EXCEEDED": .rateLimited, "API_ERROR": .serviceUnavailable,
  ]

  @Test(
    "Each documented status has its code", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment))
  func sampleCodes() async throws {
    let table = try VoidhashSamples.document("status-to-code.json").members
    #expect(table.count == 7)
    for (status, code) in table {
      let bench = try VoidhashBench(.tagged(try #require(Int(status))))
      let error = try await bench.error { try await $0.identify(Identification(previous: user, id: DistinctID("b"))) }
      #expect(error.code == Self.codes[code.string ?? ""], "\(status)")
      #expect(error.status == Int(status))
    }
  }

  @Test(
    "Which failures may pass",
    arguments: [
      (400, .serviceRefused, false), (401, .unauthorized, false), (403, .unauthorized, false),
      (405, .serviceRefused, false), (408, .timedOut, true), (409, .serviceRefused, false),
      (422, .serviceRefused, false), (429, .rateLimited, true), (500, .serviceUnavailable, true),
      (501, .serviceRefused, false), (502, .serviceUnavailable, true), (503, .serviceUnavailable, true),
      (504, .serviceUnavailable, true), (505, .serviceRefused, false), (520, .serviceRefused, false),
    ] as [(Int, ErrorCode, Bool)])
  func codes(_ status: Int, _ code: ErrorCode, _ isRetryable: Bool) async throws {
    let (error, bench) = try await personError(.tagged(status, "Api/Word", "The text"))
    #expect(error.code == code)
    #expect(error.message == "The text")
    #expect(error.reason == "Api/Word")
    #expect(error.status == status)
    #expect(error.retryable == isRetryable)
    #expect(bench.requests.count == 1, "one attempt per call")
  }

  @Test(
    "Every form of the envelope is read", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment),
    arguments: [
      ("error-400-sdk-validation.json", 400, .serviceRefused, "Development purchases require"),
      ("error-401-not-authenticated.json", 401, .unauthorized, "Invalid publishable key"),
      ("error-401-tag-only.json", 401, .unauthorized, "the service answered with status 401 (Api/AuthenticationError)"),
      ("error-403-action-forbidden.json", 403, .unauthorized, "Forbidden."),
      ("error-409-already-identified.json", 409, .alreadyIdentified, "the service answered with status 409"),
      ("error-409-development-environment-required.json", 409, .serviceRefused, "Development environment required"),
      ("error-500-sdk-service-cause.json", 500, .serviceUnavailable, "boom"),
      ("error-500-message-only.json", 500, .serviceUnavailable, "the service answered with status 500"),
      ("error-503-html.txt", 503, .serviceUnavailable, "the service answered with status 503"),
    ] as [(String, Int, ErrorCode, String)])
  func sampleErrors(_ file: String, _ status: Int, _ code: ErrorCode, _ message: String) async throws {
    let (error, _) = try await personError(.json(status, try VoidhashSamples.text(file)))
    #expect(error.code == code)
    #expect(error.message.hasPrefix(message), "\(error.message)")
  }

  @Test("A key or a user's id in the service's text is not passed on", arguments: ["vh_pk_test", "user-123"])
  func secrets(_ secret: String) async throws {
    let (error, _) = try await personError(.tagged(400, "Api/SdkValidationError", "no such: \(secret)!"))
    #expect(error.message == "the service answered with status 400 (Api/SdkValidationError)")
  }

  @Test(
    "S003 S105 what is not the service's own neither pauses nor refuses, and its clock is not believed",
    arguments: [
      .html(200), .json(200, ""), .json(200, "null"), .json(200, "[]"), .json(200, #"{"distinctId":"#), .json(204, ""),
      .html(302), .json(301, "{}"), .html(304), .html(511), .json(511, #"{"_tag":"Api/AuthenticationError"}"#),
      .html(400), .html(401), .html(403), .html(404), .html(407), .html(409), .html(451), .html(501), .html(520),
      .tagged(501, "RouteNotFound"), .json(401, "{}"),
      .json(403, #"{"message":"Forbidden"}"#), .json(404, #"{"_tag":""}"#), .json(404, #"{"_tag":5}"#),
      .tagged(404, "RouteNotFound"), .tagged(404, "Api/RouteNotFoundError"),
      .json(400, "[]"), .json(200, #"{"_tag":"Api/NotAuthenticatedError","message":"no"}"#, date: moment),
      .json(200, #"{"unexpected":true}"#, date: moment), .failure(.malformed("text")),
    ] as [Reply])
  func strangers(_ reply: Reply) async throws {
    let (error, bench) = try await personError(reply)
    #expect(error.code == .notServiceAnswer)
    #expect(error.retryable)
    #expect(bench.backend.pause == nil)
    #expect(bench.serverTimes.isEmpty)
    #expect(bench.diagnostics.isEmpty)
    for call in [receipt(), receipt(platform: .google, token: "token")] {
      let again = try await bench.error { try await $0.submit(call) }
      #expect(again.code == .notServiceAnswer, "a receipt stays")
    }
  }

  @Test(
    "No connection, no time, no security: may pass",
    arguments: [
      (.offline("text"), .offline), (.timedOut, .timedOut), (.insecure("text"), .notServiceAnswer),
    ] as [(TransportError, ErrorCode)])
  func transport(_ failure: TransportError, _ code: ErrorCode) async throws {
    let (error, _) = try await personError(.failure(failure))
    #expect(error.code == code)
    #expect(error.retryable)
  }

  @Test(
    "S111 what only looks like JSON is no answer",
    arguments: [
      #"{"distinctId":"u","personId":"p","personId":"q"}"#, "{\"distinctId\":\"u\",\"personId\":\"p\"}\u{0}",
      String(repeating: "[", count: 10_000), "{\"a\":" + String(repeating: "[", count: 9_999), "{\"a\":1e999}",
    ])
  func malformed(_ text: String) async throws {
    #expect(try await personError(.json(200, text)).0.code == .notServiceAnswer)
  }

  @Test("S111 a byte order mark is skipped, and bytes that are no UTF-8 are no answer") func encoding() async throws {
    let bench = try VoidhashBench(.json(200, "\u{FEFF}" + #"{"distinctId":"u","personId":"p"}"#))
    #expect(try await bench.backend.person(user)?.personID == "p")
    let broken = Array(#"{"distinctId":"u","personId":""#.utf8) + [0xFF] + Array("\"}".utf8)
    let (error, _) = try await personError(.response(HTTPResponse(status: 200, body: broken)))
    #expect(error.code == .notServiceAnswer)
  }

  @Test("The service's clock is believed with an answer of the right shape") func clock() async throws {
    let bench = try VoidhashBench(.person(date: moment + 5_000), .tagged(404))
    _ = try await bench.backend.person(user)
    _ = try await bench.backend.person(user)
    #expect(bench.serverTimes == [moment + 5_000])
  }

  // MARK: Waits

  @Test(
    "S101 S102 S103 how long the service asks to wait",
    arguments: [
      (["20"], "", 20_000), (["2"], "", 2_000), (["1.5"], "", 1_500), (["0.0001"], "", 1), (["0"], "", 0),
      ([" 120 "], "", 120_000), (["120junk"], "", nil), (["-5"], "", nil), (["86400"], "", 3_600_000),
      (["120", "5"], "", 120_000), (["junk", "5"], "", 5_000), ([], #"{"retry_after_ms":1500}"#, 1_500),
      ([], #"{"retry_after_ms":0.2}"#, 1), ([], #"{"retry_after_ms":1e300}"#, 3_600_000),
      ([], #"{"retry_after_ms":-1}"#, nil), ([], #"{"retry_after_ms":"1500"}"#, nil),
      (["20"], #"{"retry_after_ms":1}"#, 20_000), (["junk"], #"{"retry_after_ms":1}"#, 1), ([], "", nil),
      (["Tue, 20 Oct 2026 10:00:05 GMT"], "", 5_000), (["Tuesday, 20-Oct-26 10:00:05 GMT"], "", 5_000),
      (["Tue Oct 20 10:00:05 2026"], "", 5_000), (["Tue, 20 Oct 2026 09:00:00 GMT"], "", 0),
      (["Wed, 20 Oct 2027 10:00:00 GMT"], "", 3_600_000),
    ] as [([String], String, Int64?)])
  func waits(_ headers: [String], _ body: String, _ wait: Int64?) async throws {
    for status in [429, 503] {
      let reply = Reply.json(status, body, headers: headers.map { HTTPHeader("retry-after", $0) }, date: moment)
      let (error, _) = try await personError(reply)
      #expect(error.retryAfterMilliseconds == wait)
    }
  }

  @Test(
    "S101 the documented waits", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment))
  func sampleWaits() throws {
    let sample = try VoidhashSamples.document("retry-after.json")
    let now = try #require(sample["now_ms"]?.integer)
    for vector in try #require(sample["vectors"]).elements {
      let headers = vector["value"]?.string.map { [HTTPHeader("Retry-After", $0)] } ?? []
      let answer = VoidhashAnswer(HTTPResponse(status: 429, headers: headers), isConditional: false)
      let wait = answer.retryAfter(now: now) { text in
        [now + 20_000].first { Timestamp.httpDate($0) == text }
      }
      #expect(wait == vector["delay_ms"]?.integer)
    }
    for (attempt, wait) in try #require(sample["backoff_ms_by_attempt"]).members {
      #expect(RetryPolicy.interactive.delay(retry: try #require(Int(attempt)), jitter: 0) == wait.integer)
    }
  }
}
