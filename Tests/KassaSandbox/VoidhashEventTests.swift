import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Voidhash: events")
struct VoidhashEventTests {
  private func event(
    _ name: String, _ properties: JSON = [:], uuid: String = "event-1", of id: String = VoidhashShop.user
  ) -> JSON {
    [
      "uuid": JSON(uuid), "event": JSON(name), "distinct_id": JSON(id), "properties": properties, "context": [:],
      "timestamp": "2026-10-20T10:00:00.000Z",
    ]
  }

  /// Without any header of the SDK's plane.
  private func post(_ shop: VoidhashShop, _ body: JSON, to route: String = "batch") throws -> Shop.Answer {
    try shop.shop.response(
      shop.shop.sandbox.answer(HTTPRequest("POST", "embedded:/i/v1/\(route)", headers: [], body: body.bytes())))
  }

  private func batch(_ events: JSON...) -> JSON {
    ["token": "vh_pk_sandbox", "sent_at": "2026-10-20T10:00:00.000Z", "events": .array(events)]
  }

  @Test func eventsAreTakenAndCounted() throws {
    let shop = try VoidhashShop()
    let good = event("checkout_started"), reserved = event("$purchase.completed", uuid: "event-2")
    let answer = try post(shop, batch(good, reserved, ["uuid": "event-3"], 7))
    #expect(answer.status == 202)
    #expect(answer.json == ["accepted": 1, "rejected": 3])
    #expect(answer.header("X-Request-Id")?.hasPrefix("req_") == true)
    #expect(try post(shop, batch(good)).json == ["accepted": 1, "rejected": 0])
    #expect(try shop.state().at("events").elements.map { $0["event"] } == ["checkout_started"])
  }

  @Test func oneEventIsFlattened() throws {
    let shop = try VoidhashShop()
    let body = event("opened").merging([("token", "vh_pk_sandbox"), ("sent_at", "2026-10-20T10:00:00.000Z")])
    #expect(try post(shop, body, to: "capture").json == ["accepted": 1, "rejected": 0])
  }

  @Test func aDeferredIdentifyIsCarriedOutOnce() throws {
    let shop = try VoidhashShop()
    try shop.register(sale())
    try shop.sync("2000", as: VoidhashShop.anonymous)
    let identify = event(
      "$identify",
      [
        "$anon_distinct_id": JSON(VoidhashShop.anonymous), "$distinct_id": "user-1", "$email": "a@example.com",
        "$process_person_profile": true,
      ], of: "user-1")
    for _ in 0..<2 { #expect(try post(shop, batch(identify)).json == ["accepted": 1, "rejected": 0]) }
    #expect(try shop.perks("user-1") == ["premium"])
    #expect(try shop.person("user-1")["email"] == "a@example.com")
    let other = event(
      "$identify", ["$anon_distinct_id": JSON(VoidhashShop.anonymous), "$distinct_id": "user-2"], uuid: "event-2")
    #expect(try post(shop, batch(other)).json == ["accepted": 0, "rejected": 1])
    #expect(try shop.person("user-2").status == 404)
  }

  @Test func deferredAttributesAreWrittenOnce() throws {
    let shop = try VoidhashShop()
    func set(_ plan: String, _ uuid: String) -> JSON {
      event("$set", ["$set": ["plan": JSON(plan)], "$process_person_profile": true], uuid: uuid)
    }
    _ = try post(shop, batch(set("free", "event-1"), set("pro", "event-2")))
    _ = try post(shop, batch(set("free", "event-1")))
    #expect(try shop.state().at("persons").elements.first?["traits"] == ["plan": "pro"])
  }

  @Test(arguments: [
    (#"{"token":"vh_pk_sandbox","sent_at":"2026-10-20T10:00:00Z"}"#, 400, "invalid_request"),
    (#"{"token":"vh_pk_sandbox","events":[]}"#, 400, "invalid_request"),
    (#"{"token":"vh_pk_sandbox","sent_at":"yesterday","events":[]}"#, 400, "invalid_request"),
    (#"{"token":7,"sent_at":"2026-10-20T10:00:00Z","events":[]}"#, 400, "invalid_request"),
    (#"[]"#, 400, "invalid_request"), (#"{"events":[]}"#, 401, "unauthorized"),
    (#"{"token":"vh_sk_secret","events":[]}"#, 401, "unauthorized"),
  ])
  func wrongBatches(body: String, status: Int, code: String) throws {
    let answer = try post(VoidhashShop(), try JSON.parse(body))
    #expect(answer.status == status)
    #expect(answer["code"] == JSON(code))
    #expect(answer["error"].string != nil)
    #expect(answer.header("X-Request-Id") != nil)
  }

  @Test func theHeadersTokenDoesAndTheBodysCountsMore() throws {
    let shop = try VoidhashShop()
    let batch = self.batch(event("opened"))
    let without = JSON.object(batch.members.filter { $0.0 != "token" })
    #expect(try shop.call("POST", "/i/v1/batch", without).status == 202)
    #expect(try shop.call("POST", "/i/v1/batch", batch.merging([("token", "vh_sk_secret")])).status == 401)
  }

  @Test func aBodyThatIsTooLongIs413() throws {
    let long = event("opened", ["text": JSON(String(repeating: "x", count: 1 << 20))])
    let answer = try post(VoidhashShop(), batch(long))
    #expect(answer.status == 413)
    #expect(answer["code"] == "payload_too_large")
  }

  // MARK: Faults

  @Test(
    "S101, S102: a rate limit in Voidhash's forms",
    arguments: [
      ("/sdk/sync-transaction", "_tag", "Api/RateLimitError"), ("/i/v1/batch", "code", "rate_limited"),
    ])
  func rateLimits(route: String, key: String, word: String) throws {
    let shop = try VoidhashShop()
    func limit(_ form: String) throws -> Shop.Answer {
      _ = try shop.act([
        "action": "fault", "kind": "rate_limited", "retry_after": 12, "retry_form": JSON(form), "route": JSON(route),
      ])
      return route == "/i/v1/batch" ? try post(shop, batch()) : try shop.sync("1")
    }
    let seconds = try limit("seconds")
    #expect(seconds.status == 429)
    #expect(seconds[key] == JSON(word))
    #expect(seconds.header("Retry-After") == "12")
    #expect(try limit("date").header("Retry-After") == "Tue, 20 Oct 2026 10:00:12 GMT")
    let body = try limit("body")
    #expect(body["retry_after_ms"] == 12_000)
    #expect(body.header("Retry-After") == nil)
  }

  @Test func aStatusHasTheErrorsOfItsRoutes() throws {
    let shop = try VoidhashShop()
    for (status, tag) in [
      (400, "Api/SdkValidationError"), (401, "Api/AuthenticationError"), (403, "Api/ActionForbiddenError"),
      (422, "Api/SdkError"), (503, "Api/SdkServiceError"),
    ] {
      _ = try shop.act(["action": "fault", "kind": "status", "status": JSON(status)])
      let answer = try shop.sync("1")
      #expect(answer.status == status)
      #expect(answer["_tag"] == JSON(tag))
      #expect((answer["cause"].string != nil) == (status >= 500))
    }
    _ = try shop.act(["action": "fault", "kind": "status", "status": 503])
    #expect(try post(shop, batch())["code"] == "dependency_unavailable")
  }

  @Test("an answer that is lost after the deed leaves the receipt accepted")
  func lostAnswer() throws {
    let shop = try VoidhashShop()
    try shop.register(sale())
    _ = try shop.act(["action": "fault", "kind": "reset", "executes": true, "route": "/sdk/sync-transaction"])
    #expect(throws: Unexpected.self) { try shop.sync("2000") }
    #expect(try shop.log() == ["2000 user-123 1"])
    #expect(try shop.state().at("requests") == ["POST /api/v1/sdk/sync-transaction": 1])
  }
}
