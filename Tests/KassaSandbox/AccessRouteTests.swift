import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Credentials")
struct AccessRouteTests {
  @Test func permissionsTellWhatAKeyMayDo() throws {
    let shop = try Shop()
    func granted(_ key: String, _ resource: String = "biz_sandbox") throws -> [Bool?] {
      try shop.get("/permissions?resource_id=\(resource)&actions=member:basic:read,iap:read", key: key).rows
        .map { $0["granted"]?.bool }
    }
    #expect(try granted("sandbox_key") == [true, true])
    #expect(try granted("sandbox_iap_key") == [false, true])
    #expect(try granted("sandbox_key", "biz_other") == [false, false])
    #expect(try shop.get("/permissions").json.at("error", "param") == "resource_id")
    #expect(try shop.get("/permissions?resource_id=prod_pro", key: "sandbox_iap_key").rows.count == 1)
  }

  private func token(_ shop: Shop, _ body: JSON, key: String = Shop.key) throws -> Shop.Answer {
    try shop.call("POST", "/access_tokens", body, key: key)
  }

  @Test func aTokenInheritsOrLimitsAndEnds() throws {
    let shop = try Shop()
    let membership = try shop.buy("plan_monthly")
    let all = try #require(try token(shop, [:])["token"].string)
    let some = try #require(try token(shop, ["scoped_actions": ["plan:basic:read"]])["token"].string)
    #expect(try shop.get("/memberships/\(membership)", key: all).status == 200)
    #expect(try shop.get("/memberships/\(membership)", key: some).status == 403)
    #expect(try shop.get("/variants?account_id=biz_sandbox", key: some).status == 200)
    shop.time.advance(milliseconds: 3_600_000 - 1)
    #expect(try shop.get("/memberships", key: all).status == 200)
    shop.time.advance(milliseconds: 1)
    #expect(try shop.get("/memberships", key: all).status == 401)
  }

  @Test func aTokenLooksLikeAJWT() throws {
    let answer = try token(try Shop(), ["account_id": "biz_sandbox", "expires_at": "2026-10-20T10:30:00Z"])
    #expect(answer["expires_at"] == "2026-10-20T10:30:00.000Z")
    let parts = (answer["token"].string ?? "").split(separator: ".")
    #expect(parts.count == 3)
    let payload = try JSON.parse(try #require(Base64.decode(String(parts[1]), .url)))
    #expect(payload["exp"] == 1_792_492_200)
    #expect(payload["aud"] == "biz_sandbox")
  }

  @Test(arguments: [
    (#"{"expires_at":"2026-10-20T13:00:00.001Z"}"#, 400), (#"{"expires_at":"2026-10-20T10:00:00Z"}"#, 400),
    (#"{"account_id":"biz_other"}"#, 404), (#"{"user_id":"user_none"}"#, 404), (#"{"scoped_actions":"all"}"#, 400),
  ])
  func badTokensAreRefused(body: String, status: Int) throws {
    #expect(try token(try Shop(), try JSON.parse(body)).status == status)
  }

  @Test func nobodyGivesMoreThanTheyHave() throws {
    let shop = try Shop()
    #expect(try token(shop, ["scoped_actions": ["member:manage"]], key: "sandbox_read_key").status == 403)
  }

  @Test func aUsersTokenSeesThatUserOnly() throws {
    let shop = try Shop()
    let mine = try shop.buy("plan_monthly", email: "a@example.com")
    let other = try shop.buy("plan_monthly", email: "b@example.com")
    let user = try shop.membership(mine)["user_id"]
    let key = try #require(try token(shop, ["user_id": user])["token"].string)
    #expect(try shop.get("/memberships?user_id=me", key: key).ids == [mine])
    #expect(try shop.get("/memberships", key: key).ids == [mine])
    #expect(try shop.get("/memberships/\(other)", key: key).status == 404)
    #expect(try shop.get("/memberships/\(mine)", key: key).json.at("member", "access_level") == "customer")
    #expect(try shop.get("/payments", key: key).status == 403)
    #expect(try shop.get("/users/\(user.string ?? "")/access/prod_pro", key: key)["access_level"] == "customer")
    #expect(try token(shop, ["user_id": "user_owner"], key: key).status == 403)
  }

  @Test func accessChecks() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly")
    let user = try shop.membership(id)["user_id"].string ?? ""
    func access(_ user: String, _ resource: String) throws -> JSON {
      try shop.get("/users/\(user)/access/\(resource)").json
    }
    #expect(try access(user, "prod_pro") == ["has_access": true, "access_level": "customer"])
    #expect(try access(user, "biz_sandbox")["has_access"] == true)
    #expect(try access(user, "prod_desktop") == ["has_access": false, "access_level": "no_access"])
    #expect(try access("owner", "prod_pro") == ["has_access": true, "access_level": "admin"])
    #expect(try shop.get("/users/user_none/access/prod_pro").status == 404)
    #expect(try shop.get("/users/owner/access/prod_none").status == 404)
    try shop.act(["action": "cancel_membership", "membership_id": JSON(id)])
    #expect(try access(user, "prod_pro")["has_access"] == false)
  }

  @Test func aRevokedKeyAndItsTokensAreRefused() throws {
    let shop = try Shop()
    let key = try #require(try token(shop, [:])["token"].string)
    try shop.act(["action": "revoke_key", "key": "sandbox_key"])
    #expect(try shop.get("/memberships").status == 401)
    #expect(try shop.get("/memberships", key: key).status == 401)
    try shop.act(["action": "restore_key", "key": "sandbox_key"])
    #expect(try shop.get("/memberships", key: key).status == 200)
    #expect(throws: KassaError.self) { try shop.act(["action": "revoke_key", "key": "none"]) }
  }

  @Test(arguments: ["Bearer", "Bearer nobody", "Basic sandbox_key", ""])
  func unknownCredentialsAreRefusedEverywhere(header: String) throws {
    let answer = try Shop().call(
      "GET", "/variants?product_ids=prod_pro", key: nil, headers: [HTTPHeader("Authorization", header)])
    #expect(answer.status == 401)
    #expect(answer.json.at("error", "type") == "unauthorized")
  }

  @Test func anotherVersionIsRefusedWithTheOnesThereAre() throws {
    let shop = try Shop()
    func version(_ date: String) throws -> Shop.Answer {
      try shop.call("GET", "/memberships", headers: [HTTPHeader("api-version-date", date)])
    }
    #expect(try version("2026-10-15-1").status == 200)
    #expect(try version("2025-01-01").status == 400)
    #expect(try version("2025-01-01").json.at("error", "message").string?.contains("2026-10-15-1") == true)
  }

  @Test func unknownRoutes() throws {
    let shop = try Shop()
    for (method, path) in [
      ("GET", "/nothing"), ("DELETE", "/memberships/mem_x"), ("GET", "/memberships/"),
    ] {
      #expect(try shop.call(method, path).json.at("error", "type") == "not_found")
    }
  }
}
