import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Faults")
struct FaultTests {
  private func fault(_ members: (String, JSON)...) -> JSON { .object([("action", "fault")] + members) }

  @Test func aFaultMeetsItsRequestsOnlyAndThenIsGone() throws {
    let shop = try Shop()
    try shop.act(fault(("kind", "status"), ("status", 503), ("route", "/memberships"), ("method", "get"), ("times", 2)))
    #expect(try shop.get("/products").status == 200)
    #expect(try shop.call("PATCH", "/memberships/mem_x", [:]).status == 404)
    #expect(try shop.get("/memberships").status == 503)
    #expect(try shop.get("/memberships/mem_x").json.at("error", "type") == "service_unavailable")
    #expect(try shop.get("/memberships").status == 200)
  }

  @Test func faultsApplyInTheirOrder() throws {
    let shop = try Shop()
    for status in [500, 403, 422] { try shop.act(fault(("kind", "status"), ("status", JSON(status)))) }
    #expect(try shop.get("/products").status == 500)
    #expect(try shop.get("/products").status == 403)
    try shop.act(["action": "clear_faults"])
    #expect(try shop.get("/products").status == 200)
  }

  @Test("S101, S102: a rate limit says how long to wait, in three forms")
  func rateLimits() throws {
    let shop = try Shop()
    func limit(_ form: String) throws -> Shop.Answer {
      try shop.act(fault(("kind", "rate_limited"), ("retry_after", 12), ("retry_form", JSON(form))))
      return try shop.get("/products")
    }
    #expect(try limit("message").json.at("error", "message") == "Try again in 12 seconds.")
    #expect(try limit("message").header("Retry-After") == nil)
    #expect(try limit("seconds").header("Retry-After") == "12")
    #expect(try limit("date").header("Retry-After") == "Tue, 20 Oct 2026 10:00:12 GMT")
    #expect(try limit("date").status == 429)
  }

  @Test func a402NamesWhereToPay() throws {
    let shop = try Shop()
    try shop.act(fault(("kind", "status"), ("status", 402)))
    let answer = try shop.get("/products")
    #expect(answer.json.at("error", "type") == "payment_required")
    #expect(answer.json.at("error", "deposit_url").string != nil)
  }

  @Test(
    "S105: answers that are not the service's",
    arguments: [
      (#"{"kind":"html"}"#, 200, "<!doctype"), (#"{"kind":"empty"}"#, 200, ""),
      (#"{"kind":"body","body":"null"}"#, 200, "null"), (#"{"kind":"body","body":"[]"}"#, 200, "[]"),
      (#"{"kind":"empty","status":204}"#, 204, ""), (#"{"kind":"redirect"}"#, 302, ""),
      (#"{"kind":"html","status":511}"#, 511, "<!doctype"), (#"{"kind":"wrong_shape"}"#, 200, #"{"data":{"#),
    ])
  func foreignAnswers(kind: String, status: Int, beginning: String) throws {
    let shop = try Shop()
    try shop.act(try JSON.parse(kind).merging([("action", "fault")]))
    let answer = try shop.get("/memberships")
    #expect(answer.status == status)
    #expect(answer.text.hasPrefix(beginning))
    #expect(beginning.isEmpty == answer.text.isEmpty)
  }

  @Test("S111: a truncated body is no JSON")
  func truncated() throws {
    let shop = try Shop()
    let whole = try shop.get("/products")
    try shop.act(fault(("kind", "truncated")))
    let half = try shop.get("/products")
    #expect(half.text.utf8.count == whole.text.utf8.count / 2)
    #expect(half.json.isNull)
  }

  @Test("S107: a cursor that comes again")
  func repeatedCursor() throws {
    let shop = try Shop()
    try shop.act(fault(("kind", "repeated_cursor")))
    #expect(
      try shop.get("/memberships")["page_info"].merging([])
        == ["end_cursor": "again", "has_next_page": true, "has_previous_page": false, "start_cursor": nil])
  }

  @Test func anAnswerCanBeLostAfterTheDeed() throws {
    let shop = try Shop()
    let body: JSON = ["plan_id": "plan_monthly"]
    for (executes, expected) in [(false, 0), (true, 1)] {
      try shop.act(fault(("kind", "reset"), ("executes", JSON(executes))))
      #expect(throws: Unexpected.self) { try shop.call("POST", "/checkout_configurations", body) }
      #expect(try shop.get("/checkout_configurations?account_id=biz_sandbox").ids.count == expected)
    }
  }

  // MARK: Through the transport

  private func send(_ shop: Shop) async throws(TransportError) -> HTTPResponse {
    try await EmbeddedTransport(shop.sandbox, time: shop.time)
      .send(HTTPRequest("GET", "embedded:/api/v1/products"))
  }

  /// Sends while time passes, a second whenever the transport waits.
  private func sendWhileTimePasses(_ shop: Shop) async -> (Result<HTTPResponse, TransportError>, seconds: Int64) {
    let task = Task { () async -> Result<HTTPResponse, TransportError> in
      do throws(TransportError) { return .success(try await send(shop)) } catch { return .failure(error) }
    }
    let clock = Task {
      while !Task.isCancelled {
        if shop.time.sleeperCount > 0 { shop.time.advance(milliseconds: 1_000) }
        await Task.yield()
      }
    }
    let result = await task.value
    clock.cancel()
    await clock.value
    return (result, (shop.time.wallMilliseconds - Shop.start) / 1_000)
  }

  @Test func theTransportWaits() async throws {
    let shop = try Shop()
    try shop.act(fault(("kind", "delay"), ("ms", 3_000)))
    let (delayed, seconds) = await sendWhileTimePasses(shop)
    #expect(try delayed.get().status == 200)
    #expect(seconds == 3)
  }

  @Test(arguments: [#"{"kind":"delay","ms":60000}"#, #"{"kind":"slow","bytes_per_second":1}"#])
  func theTransportGivesUpAfterTenSeconds(kind: String) async throws {
    let shop = try Shop()
    try shop.act(try JSON.parse(kind).merging([("action", "fault")]))
    let (result, seconds) = await sendWhileTimePasses(shop)
    #expect(throws: TransportError.timedOut) { try result.get() }
    #expect(seconds == 10)
  }

  @Test func resetsAndBrokenEncodingsHaveNoResponse() async throws {
    let shop = try Shop()
    try shop.act(fault(("kind", "reset")))
    await #expect(throws: TransportError.offline("the connection was reset")) { try await send(shop) }
    try shop.act(fault(("kind", "broken_encoding")))
    await #expect(throws: TransportError.malformed("the body is not what its encoding says")) {
      try await send(shop)
    }
    #expect(try await send(shop).date == Shop.start)
  }

  @Test(arguments: [
    ("Tue, 20 Oct 2026 10:00:00 GMT", Shop.start), ("Thu, 01 Jan 1970 00:00:01 GMT", 1_000), ("yesterday", nil),
    ("Tue, 20 Okt 2026 10:00:00 GMT", nil), ("Tue, 20 Oct 2026 10:00:00 CET", nil), ("", nil),
  ])
  func theTransportReadsDates(text: String, expected: Int64?) throws {
    let shop = try Shop()
    #expect(EmbeddedTransport(shop.sandbox, time: shop.time).milliseconds(ofHTTPDate: text) == expected)
  }
}
