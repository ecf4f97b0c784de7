import Glibc
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Sandbox")
struct SandboxTests {
  @Test func theDateIsTheSandboxesOwn() throws {
    let shop = try Shop()
    try shop.act(["action": "advance", "days": 1, "ms": 1_500])
    guard case .response(let response) = shop.sandbox.answer(HTTPRequest("GET", "embedded:/api/v1/products")) else {
      throw Unexpected(text: "no response")
    }
    #expect(response.header("Date") == "Wed, 21 Oct 2026 10:00:01 GMT")
    #expect(response.date == Shop.start + 86_401_000)
    #expect(shop.sandbox.now == Shop.start + 86_401_500)
  }

  @Test func theSameSeedGivesTheSameIds() throws {
    let first = try Shop(seed: 7).buy("plan_monthly"), second = try Shop(seed: 7).buy("plan_monthly")
    #expect(first == second)
    #expect(try Shop(seed: 8).buy("plan_monthly") != first)
    #expect(first.hasPrefix("mem_"))
    #expect(first.utf8.count == 18)
  }

  @Test func urlsMayBeAbsoluteOrPaths() throws {
    let shop = try Shop()
    for url in ["embedded:/api/v1/products", "http://127.0.0.1:99/api/v1/products", "/api/v1/products"] {
      #expect(try shop.response(shop.sandbox.answer(HTTPRequest("GET", url))).status == 200)
    }
  }

  @Test(arguments: [
    (#"[]"#, "must be an object"), (#"{"account":{"id":"biz_a","title":7}}"#, "account.title must be a string"),
    (#"{"account":{"id":"biz_a","title":"A"},"planz":[]}"#, #"planz is not a known key; did you mean "plans"?"#),
    (
      #"{"account":{"id":"biz_a","title":"A"},"plans":[{"id":"plan_a","product_id":"prod_a","plan_type":"one_time"}]}"#,
      "plans[0].product_id names no product"
    ),
    (
      #"""
      {"account":{"id":"biz_a","title":"A"},"products":[{"id":"prod_a","title":"A"}],
       "plans":[{"id":"plan_a","product_id":"prod_a","plan_type":"renewal"}]}
      """#, "plans[0].billing_period"
    ),
    (
      #"{"account":{"id":"biz_a","title":"A"},"products":[{"id":"prod_a","title":"A"},{"id":"prod_a","title":"B"}]}"#,
      "products[1] has the id of an earlier one"
    ),
    (
      #"{"account":{"id":"biz_a","title":"A"},"switches":{"metadata_filters":"maybe"}}"#,
      "switches.metadata_filters must be one of off, on, refuse"
    ),
  ])
  func aWrongCatalogueIsRefusedWithThePlace(catalogue: String, message: String) throws {
    let document = try JSON.parse(catalogue)
    let error = #expect(throws: KassaError.self) { try Shop(catalogue: document) }
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  @Test(arguments: [
    (#"{}"#, "action is missing"), (#"{"action":"advanse"}"#, #"did you mean "advance"?"#),
    (#"{"action":"advance","day":1}"#, #"did you mean "days"?"#), (#"{"action":"advance","days":-1}"#, "days must be"),
    (#"{"action":"advance","ms":1e300}"#, "ms must be"), (#"{"action":"fault","kind":"sloow"}"#, "kind must be one of"),
    (#"{"action":"complete_checkout"}"#, "is missing"),
    (#"{"action":"complete_checkout","plan_id":"plan_monthly","card":"4111"}"#, "card must be one of the test cards"),
    (#"{"action":"complete_checkout","url":"https://example.com"}"#, "url is no address of a checkout"),
    (#"{"action":"complete_checkout","plan_id":"plan_monthly","email":"x"}"#, "email must be an e-mail address"),
    (#"{"action":"set_status","membership_id":"mem_x","status":"new"}"#, "No such membership"),
  ])
  func wrongActionsAreRefused(action: String, message: String) throws {
    let document = try JSON.parse(action)
    let error = #expect(throws: KassaError.self) { try Shop().act(document) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  @Test func timeCanBeMovedFarWithoutATrap() throws {
    let shop = try Shop()
    try shop.buy("plan_weekly")
    for _ in 0..<3 { try shop.act(["action": "advance", "days": 3_650]) }
    #expect(shop.sandbox.now == Shop.start + 3 * 3_650 * 86_400_000)
  }

  @Test func anyStatusCanBeSet() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly")
    try shop.act(["action": "set_status", "membership_id": JSON(id), "status": "someday"])
    #expect(try shop.membership(id)["status"] == "someday")
    #expect(try shop.get("/memberships?status=active").ids == [])
  }

  @Test func theControlTakesJSONOnly() throws {
    let shop = try Shop()
    func post(_ type: String, _ body: String) throws -> Shop.Answer {
      let headers = [HTTPHeader("Content-Type", type)]
      return try shop.response(
        shop.sandbox.answer(HTTPRequest("POST", "/sandbox/control", headers: headers, body: Array(body.utf8))))
    }
    #expect(try post("application/json", #"{"action":"advance","ms":5}"#)["now"] == JSON(Shop.start + 5))
    #expect(try post("text/plain", #"{"action":"advance","ms":5}"#).status == 400)
    #expect(try post("application/json", "{").status == 400)
    #expect(try post("application/json", #"{"action":"x"}"#).json.at("error", "code") == "invalid_argument")
    #expect(try shop.response(shop.sandbox.answer(HTTPRequest("GET", "/sandbox/state")))["now"] == JSON(Shop.start + 5))
    #expect(shop.sandbox.now == Shop.start + 5)
  }
}

@Suite("State on disk")
final class StateTests {
  private let path = "/tmp/kassa-sandbox-\(SystemRandom().uuid()).db"
  deinit { for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) } }

  @Test func everythingSurvivesARestart() throws {
    let before = try Shop(path: path)
    let id = try before.buy("plan_monthly", card: "4000000000000341")
    try before.buy("plan_weekly", email: "b@example.com")
    try before.act(["action": "complete_checkout", "plan_id": "plan_yearly", "outcome": "pending"])
    _ = try before.call("POST", "/checkout_configurations", ["plan": ["product_id": "prod_pro", "initial_price": 5]])
    try before.advance(days: 31)
    let after = try Shop(path: path)
    #expect(after.sandbox.now == before.sandbox.now)
    #expect(try after.act(["action": "state"]) == before.act(["action": "state"]))
    #expect(try after.membership(id).json == before.membership(id).json)
    #expect(try after.buy("plan_monthly") != id)
  }

  @Test func twoSandboxesShareOneFile() throws {
    let one = try Shop(path: path, seed: 1), two = try Shop(path: path, seed: 2)
    let first = try one.buy("plan_monthly")
    let second = try two.buy("plan_monthly")
    #expect(try one.get("/memberships").ids == [second, first])
    #expect(try two.get("/memberships").ids == [second, first])
    try two.act(["action": "cancel_membership", "membership_id": JSON(first)])
    #expect(try one.membership(first)["status"] == "canceled")
  }

  @Test func aFileThatIsNoDatabaseIsRefused() throws {
    let file = open(path, O_CREAT | O_WRONLY, 0o600)
    _ = "no database, whatever it says here, and long enough".withCString { write(file, $0, 50) }
    close(file)
    let error = #expect(throws: KassaError.self) { try Shop(path: self.path) }
    #expect(error?.code == .storage)
  }

  @Test("A catalogue's clock stands where it says until an action moves it, and never beyond the year 9999")
  func aClockThatStands() throws {
    let document = try JSON.parse(Catalogue.defaultText)
    let shop = try Shop(catalogue: document.merging([("starts_at", 1_600_000_000_000)]))
    shop.time.advance(milliseconds: 5_000)
    #expect(shop.sandbox.now == 1_600_000_000_000)
    #expect(try shop.act(["action": "advance", "ms": 7])["now"] == 1_600_000_000_007)
    #expect(try shop.get("/plans").header("Date") == "Sun, 13 Sep 2020 12:26:40 GMT")

    let late = try Shop(catalogue: document.merging([("starts_at", 253_402_300_799_999)]))
    let refusal = #expect(throws: KassaError.self) { try late.act(["action": "advance", "ms": 1]) }
    #expect(refusal?.code == .invalidArgument)
    #expect(refusal?.message.contains("beyond the year 9999") == true)
    #expect(late.sandbox.now == 253_402_300_799_999)
    for wrong: JSON in [1_600_000_000, -1, 253_402_300_800_000, "2026-10-20"] {
      #expect(throws: KassaError.self) { try Shop(catalogue: document.merging([("starts_at", wrong)])) }
    }
  }
}
