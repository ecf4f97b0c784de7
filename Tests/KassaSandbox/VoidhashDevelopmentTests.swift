import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Voidhash: development")
struct VoidhashDevelopmentTests {
  private static let headers: [String: String?] = ["x-environment": "development", "x-is-debug-build": "true"]

  private func body(
    _ slug: String = "pro_monthly", id: String = "9f3c", at moment: Int64 = Shop.start, quantity: Int? = nil
  ) -> JSON {
    [
      "devTransactionId": JSON(id), "productSlug": JSON(slug), "purchaseDate": JSON(moment),
      "quantity": JSON(quantity),
    ]
  }

  private func buy(
    _ shop: VoidhashShop, _ body: JSON, _ headers: [String: String?] = Self.headers
  ) throws -> Shop.Answer {
    try shop.sdk("POST", "development/purchase", body, with: headers)
  }

  private func opened() throws -> VoidhashShop {
    let shop = try VoidhashShop()
    #expect(try buy(shop, body()).json == ["accepted": true, "warning": nil])
    return shop
  }

  private func perks(_ shop: VoidhashShop) throws -> [String] {
    try shop.perks(VoidhashShop.user, "development")
  }

  @Test func simulatedPurchasesShowInDevelopmentOnly() throws {
    let shop = try opened()
    try shop.register(sale("3000", of: "3000", "com.example.app.pro.lifetime", .nonConsumable))
    try shop.sync("3000")
    func sources(_ environment: String) throws -> [String] {
      let person = try shop.person(VoidhashShop.user, environment).json
      return person.at("purchases", "history").elements.compactMap { $0["providerKey"]?.string }.sorted()
    }
    #expect(try sources("development") == ["development"])
    #expect(try sources("production") == ["apple-app-store"])
    #expect(try sources("all") == ["apple-app-store", "development"])
    #expect(try sources("staging") == ["apple-app-store"], "what is not known is production")
    // Of two grants of a perk the one of the sandbox counts more than the simulated one.
    let grant = try shop.person(VoidhashShop.user, "all").json.at("entitlements", "grants").elements.first
    #expect(grant?["sourceId"] == "purchase_apple_3000")
  }

  @Test func itNeedsDevelopmentAndADebugBuild() throws {
    let shop = try VoidhashShop()
    for headers: [String: String?] in [
      [:], ["x-environment": "development"], ["x-is-debug-build": "true"],
      ["x-environment": "all", "x-is-debug-build": "true"],
    ] {
      let answer = try buy(shop, body(), headers)
      #expect(answer.status == 400)
      #expect(answer["_tag"] == "Api/SdkValidationError")
      #expect(answer["message"] == "Development purchases require development environment and a debug build")
    }
    #expect(try shop.person().status == 404)
  }

  @Test func whatItRefusesLooksLikeAnOutage() throws {
    let shop = try VoidhashShop()
    for wrong in [body("none"), body(quantity: 2), body("coins_100", quantity: 0)] {
      #expect(try buy(shop, wrong)["_tag"] == "Api/SdkServiceError")
    }
    #expect(try buy(shop, body("coins_100", quantity: 3)).json == ["accepted": true, "warning": nil])
    let disabled = try VoidhashShop(switches: ["development_purchases": false])
    #expect(try buy(disabled, body()).json.at("cause") == "Development purchases are disabled.")
    for wrong: JSON in [["productSlug": "pro_monthly"], body(at: .max), body(id: "")] {
      #expect(try buy(shop, wrong).status == 400)
    }
  }

  @Test func theSameAgainIsOnePurchase() throws {
    let shop = try opened()
    _ = try buy(shop, body())
    #expect(try shop.state().at("development_purchases").elements.count == 1)
    _ = try buy(shop, body(id: "other"))
    #expect(try shop.state().at("development_purchases").elements.count == 2)
  }

  @Test func aProductWithoutDurationIsMonthlyWithAWarning() throws {
    let products: JSON = ["p": ["id": "prod_p", "type": "subscription", "name": "P"]]
    let shop = try VoidhashShop(switches: [:], ("products", products))
    #expect(try buy(shop, body("p"))["warning"].string?.contains("no duration") == true)
    #expect(
      try shop.person(VoidhashShop.user, "development").json.at("subscriptions", "current", "expiresAt")
        == "2026-11-20T10:00:00.000Z")
  }

  // MARK: What Studio does

  private func event(_ shop: VoidhashShop, _ kind: String) throws -> JSON {
    try shop.act(["action": "development_event", "kind": JSON(kind)]).at("development_purchases").elements.first
      ?? .null
  }

  @Test func itEndsAndRenews() throws {
    let shop = try opened()
    try shop.advance(days: 31)
    #expect(try perks(shop) == [])
    #expect(try event(shop, "renew")["expires_at"] == JSON(Shop.start + 61 * 86_400_000))
    #expect(try perks(shop) == ["premium"])
    _ = try event(shop, "expire")
    #expect(try perks(shop) == [])
  }

  @Test func graceLastsThreeDays() throws {
    let shop = try opened()
    _ = try event(shop, "grace")
    _ = try shop.act(["action": "advance", "ms": JSON(3 * 86_400_000 - 1)])
    #expect(try perks(shop) == ["premium"])
    let current = try shop.person(VoidhashShop.user, "development").json.at("subscriptions", "current")
    #expect(current["expiresAt"] == "2026-10-20T10:00:00.000Z")
    #expect(current["status"] == "active")
    _ = try shop.act(["action": "advance", "ms": 1])
    #expect(try perks(shop) == [])
  }

  @Test(arguments: ["revoke", "refund"]) func itIsTakenBack(kind: String) throws {
    let shop = try opened()
    #expect(try event(shop, kind)["refunded"] == JSON(kind == "refund"))
    #expect(try perks(shop) == [])
    let history = try shop.person(VoidhashShop.user, "development").json.at("subscriptions", "history")
    #expect(history.elements.first?["status"] == "canceled")
  }

  @Test func aResetForgetsThem() throws {
    let shop = try opened()
    _ = try buy(shop, body("pro_lifetime", id: "other"))
    _ = try shop.act(["action": "development_event", "kind": "reset", "transaction_id": "other"])
    #expect(try shop.state().at("development_purchases").elements.map { $0["id"] } == ["9f3c"])
    #expect(try event(shop, "reset") == JSON.null)
    #expect(try perks(shop) == [])
  }

  @Test(arguments: [
    (#"{"kind":"melt"}"#, "kind must be one of renew, expire, revoke, refund, grace, reset"),
    (#"{"kind":"renew","transaction_id":"none"}"#, "No such development purchase"),
    (#"{"kind":"renew"}"#, "kind renew is for subscriptions only"), (#"{}"#, "kind is missing"),
  ])
  func wrongEventsAreRefused(event: String, message: String) throws {
    let shop = try VoidhashShop()
    _ = try buy(shop, body("pro_lifetime"))
    let action = try JSON.parse(event).merging([("action", "development_event")])
    let error = #expect(throws: KassaError.self) { try shop.act(action) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  @Test func logInTakesThemAlong() throws {
    let shop = try VoidhashShop()
    _ = try shop.sdk("POST", "development/purchase", body(), as: VoidhashShop.anonymous, with: Self.headers)
    try shop.identify("vh:anon:new", as: "user-1")
    try shop.identify(VoidhashShop.anonymous, as: "user-1")
    #expect(try shop.perks("user-1", "development") == ["premium"])
  }
}
