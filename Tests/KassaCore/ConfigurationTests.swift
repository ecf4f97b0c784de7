import KassaCore
import KassaJSON
import Testing

@Suite struct ConfigurationTests {
  private static let backend: (String, JSON) = ("backend", ["kind": "whop"])

  private func complaint(_ document: JSON) throws -> String {
    let error = try #require(throws: KassaError.self) { try Configuration(document) }
    #expect(error.code == .invalidConfiguration)
    #expect(!error.retryable)
    return error.message
  }

  private func complaint(with key: String, _ value: JSON) throws -> String {
    try complaint(.object([Self.backend, (key, value)]))
  }

  @Test("Only the back end is required; everything else has its documented default") func defaults() throws {
    let configuration = try Configuration(["backend": ["kind": "whop", "anything": 1]])
    #expect(configuration.backendKind == "whop")
    #expect(configuration.backend == ["kind": "whop", "anything": 1])
    #expect(configuration.presenter == .browser)
    #expect(configuration.checkoutTimeoutSeconds == 1_800)
    #expect(configuration.offlineDays == 30)
    #expect(!configuration.isStrict && configuration.isEnabled && !configuration.isDebug)
    #expect(
      [configuration.returnURL, configuration.card, configuration.region, configuration.locale] == [nil, nil, nil, nil])
  }

  @Test("Every key is read") func everyKey() throws {
    let configuration = try Configuration([
      "backend": ["kind": "whop"], "store": ["kind": "none"],
      "checkout": ["presenter": "simulated", "timeout_s": 60, "return_url": "app://back", "card": "4242"],
      "region": "US", "locale": "en-US", "offline": ["days": 0, "mode": "strict"], "enabled": false, "debug": true,
    ])
    #expect(configuration.presenter == .simulated)
    #expect(configuration.checkoutTimeoutSeconds == 60)
    #expect(configuration.returnURL == "app://back")
    #expect(configuration.card == "4242")
    #expect(configuration.region == "US")
    #expect(configuration.locale == "en-US")
    #expect(configuration.offlineDays == 0)
    #expect(configuration.isStrict && !configuration.isEnabled && configuration.isDebug)
  }

  @Test(
    "What is no configuration is refused with its place",
    arguments: [
      ("[]", "the document must be an object (got an array)"), ("null", "the document must be an object (got null)"),
      ("{}", "backend is missing"), (#"{"backend":null}"#, "backend is missing"),
      (#"{"backend":"whop"}"#, "backend must be an object (got a string)"),
      (#"{"backend":{}}"#, "backend.kind is missing"),
      (#"{"backend":{"kind":1}}"#, "backend.kind must be a string (got a number)"),
    ])
  func shape(_ text: String, _ message: String) throws {
    #expect(try complaint(JSON.parse(text)) == message)
  }

  @Test(
    "S091 a misspelt key is named, with the nearest one",
    arguments: [
      ("ofline", [:], #"ofline is not a known key; did you mean "offline"?"#),
      ("offline", ["day": 3], #"offline.day is not a known key; did you mean "days"?"#),
      ("checkout", ["timeout": 3], #"checkout.timeout is not a known key; did you mean "timeout_s"?"#),
      ("store", ["king": "none"], #"store.king is not a known key; did you mean "kind"?"#),
      ("subscriptions", [], "subscriptions is not a known key"),
    ] as [(String, JSON, String)])
  func unknownKeys(_ key: String, _ value: JSON, _ message: String) throws {
    #expect(try complaint(with: key, value) == message)
  }

  @Test(
    "Values out of range are refused with the range",
    arguments: [
      ("offline", ["days": -1], "offline.days must be 0 to 3650 (got -1)"),
      ("offline", ["days": 3_651], "offline.days must be 0 to 3650 (got 3651)"),
      ("offline", ["days": JSON(1.5)], "offline.days must be a whole number (got a number)"),
      ("offline", ["mode": "harsh"], #"offline.mode must be one of "lenient", "strict" (got "harsh")"#),
      ("offline", 30, "offline must be an object (got a number)"),
      ("checkout", ["timeout_s": 0], "checkout.timeout_s must be 1 to 86400 (got 0)"),
      ("checkout", ["timeout_s": 86_401], "checkout.timeout_s must be 1 to 86400 (got 86401)"),
      (
        "checkout", ["presenter": "web"],
        #"checkout.presenter must be one of "browser", "host", "simulated" (got "web")"#
      ),
      ("checkout", ["card": "4242"], #"checkout.card needs "presenter":"simulated""#),
      ("store", ["kind": "hots"], #"store.kind must be one of "none", "host", "simulated" (got "hots")"#),
      ("region", "USA", #"region must be a country of ISO 3166-1 in two letters, such as "US" or "GB" (got "USA")"#),
      ("region", "UK", #"region must be a country of ISO 3166-1 in two letters, such as "US" or "GB" (got "UK")"#),
      ("region", "", #"region must be a country of ISO 3166-1 in two letters, such as "US" or "GB" (got "")"#),
      ("region", "é", #"region must be a country of ISO 3166-1 in two letters, such as "US" or "GB" (got "é")"#),
      ("enabled", 1, "enabled must be true or false (got a number)"),
      ("debug", "yes", "debug must be true or false (got a string)"),
    ] as [(String, JSON, String)])
  func ranges(_ key: String, _ value: JSON, _ message: String) throws {
    #expect(try complaint(with: key, value) == message)
  }

  @Test("A message quotes on one line, and not at length") func quoting() throws {
    let message = try complaint(with: "offline", ["mode": JSON("a\nb\0" + String(repeating: "x", count: 10_000))])
    #expect(message.utf8.count < 200)
    #expect(!message.unicodeScalars.contains { $0.value < 0x20 })
  }

  @Test(
    "S087 an id has its prefix, and letters, digits, _ and - after it",
    arguments: [
      "", "biz_", "plan_1", "biz", "biz_a b", "biz_a/b", "biz_..", "biz_%2F", "biz_é", "biz_e\u{301}", "biz_😀",
      "biz_a\0",
      "biz_a\n", " biz_a", "BIZ_a", "biz_" + String(repeating: "x", count: 253),
      "biz_" + String(repeating: "x", count: 10_240),
      "biz_\u{301}a",
    ])
  func wrongIdentifiers(_ id: String) throws {
    let error = try #require(throws: JSONShapeError.self) { try checkIdentifier(id, at: "x", prefix: "biz_") }
    #expect(error.path == "x")
    #expect(error.description.utf8.count < 400)
  }

  @Test(
    "S087 ids that fit pass as they are", arguments: ["biz_a", "biz_A-1_", "biz_" + String(repeating: "x", count: 252)])
  func identifiers(_ id: String) throws {
    #expect(try checkIdentifier(id, at: "x", prefix: "biz_") == id)
  }
}
