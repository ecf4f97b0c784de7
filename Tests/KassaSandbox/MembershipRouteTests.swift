import KassaCore
import KassaJSON
import Testing

@testable import KassaSandbox

@Suite("Memberships")
struct MembershipRouteTests {
  @Test func aPurchaseMakesAMembership() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly")
    let membership = try shop.membership(id)
    #expect(membership["status"] == "active")
    #expect(membership["created_at"] == "2026-10-20T10:00:00.000Z")
    #expect(membership["current_period_end"] == "2026-11-19T10:00:00.000Z")
    #expect(membership["expires_at"] == JSON.null)
    #expect(membership.json.at("renewal_price", "amount") == "9.99")
    #expect(membership["most_recent_action"] == "renewing_on")
    #expect(membership["metadata"] == [:])
  }

  @Test func aLicensedProductGivesAKeyThatIsAnId() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_desktop")
    let key = try #require(try shop.membership(id)["license_key"].string)
    #expect(try shop.membership(key)["id"] == JSON(id))
    #expect(try shop.membership(id)["expires_at"] == "2027-10-20T10:00:00.000Z")
  }

  @Test func withoutTheScopeTheListIsEmptyAndARowForbidden() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly")
    let list = try shop.get("/memberships", key: "sandbox_iap_key")
    #expect(list.status == 200)
    #expect(list.ids == [])
    #expect(try shop.get("/memberships/\(id)", key: "sandbox_iap_key").status == 403)
    #expect(try shop.get("/memberships", key: nil).status == 401)
  }

  /// One membership of each kind that a filter tells apart, by the name of that kind.
  private func crowd(_ shop: Shop) throws -> [String: String] {
    var ids: [String: String] = [:]
    for name in ["active", "canceling", "paused", "canceled"] { ids[name] = try shop.buy("plan_monthly") }
    ids["trialing"] = try shop.buy("plan_weekly")
    ids["one_time"] = try shop.buy("plan_lifetime")
    ids["expiring"] = try shop.buy("plan_desktop")
    for (name, change) in [("canceling", true), ("canceled", false)] {
      try shop.act([
        "action": "cancel_membership", "membership_id": JSON(ids[name]), "cancel_at_period_end": JSON(change),
      ])
    }
    _ = try shop.call("POST", "/memberships/\(ids["paused"] ?? "")/pause")
    return ids
  }

  @Test(arguments: [
    ("active", ["active", "paused"]), ("trialing", ["trialing"]), ("canceled", ["canceled"]), ("past_due", []),
    ("canceling", ["canceling"]), ("paused", ["paused"]), ("one_time", ["one_time"]), ("expiring", ["expiring"]),
    ("completed", ["expiring", "one_time"]), ("unclaimed", []), ("banned", []),
  ])
  func statusFilters(status: String, expected: [String]) throws {
    let shop = try Shop()
    let ids = try crowd(shop)
    let found = try shop.get("/memberships?status=\(status)").ids
    #expect(Set(found) == Set(expected.compactMap { ids[$0] }))
    #expect(try Set(shop.get("/memberships?statuses=\(status)&statuses=banned").ids) == Set(found))
  }

  @Test func otherFilters() throws {
    let shop = try Shop()
    let mine = try shop.buy("plan_monthly", email: "a@example.com")
    shop.time.advance(milliseconds: 60_000)
    let other = try shop.buy("plan_desktop", email: "b@example.com")
    let user = try #require(try shop.membership(mine)["user_id"].string)
    let member = try #require(try shop.membership(mine)["member_id"].string)
    for query in [
      "user_id=\(user)", "member_id=\(member)", "product_id=prod_pro", "product_ids=prod_pro", "plan_id=plan_monthly",
      "plan_ids=plan_monthly&plan_ids=plan_yearly", "created_before=2026-10-20T10:00:30Z",
    ] {
      #expect(try shop.get("/memberships?\(query)").ids == [mine])
    }
    #expect(try shop.get("/memberships?created_after=2026-10-20T10:00:30Z").ids == [other])
    #expect(try shop.get("/memberships?account_id=biz_other").ids == [])
    #expect(try shop.get("/memberships?promo_code_ids=promo_x").ids == [])
    #expect(try shop.get("/memberships?user_id=me").ids == [])
    #expect(try shop.get("/memberships?created_after=1792490400").status == 400)
    #expect(try shop.get("/memberships?status=nothing").status == 400)
  }

  @Test func metadataFiltersAreASwitch() throws {
    let query = "/memberships?metadata%5Bkassa_device_id%5D=none"
    for (word, expected) in [("off", 1), ("on", 0)] {
      let shop = try Shop(switches: ["metadata_filters": JSON(word)])
      try shop.buy("plan_monthly")
      #expect(try shop.get(query).ids.count == expected)
    }
    let refusal = try Shop(switches: ["metadata_filters": "refuse"]).get(query)
    #expect(refusal.status == 400)
    #expect(refusal.json.at("error", "param") == "metadata")
  }

  @Test func aPatchMergesMetadataAndAnEmptyOneClearsIt() throws {
    let shop = try Shop()
    let path = "/memberships/\(try shop.buy("plan_monthly"))"
    func patch(_ metadata: JSON) throws -> JSON { try shop.call("PATCH", path, ["metadata": metadata])["metadata"] }
    #expect(try patch(["a": "1", "b": "2"]) == ["a": "1", "b": "2"])
    #expect(try patch(["b": "3", "c": "4"]) == ["a": "1", "b": "3", "c": "4"])
    #expect(try shop.get(path)["metadata"] == ["a": "1", "b": "3", "c": "4"])
    #expect(try patch([:]) == [:])
    #expect(
      try shop.call("PATCH", path, ["metadata": ["k": JSON(String(repeating: "x", count: 501))]]).status == 400)
    #expect(
      try shop.call("PATCH", path, ["metadat": [:]]).json.at("error", "message").string?.contains("metadata") == true)
    #expect(try shop.call("PATCH", path, ["metadata": ["a": "1"]], key: "sandbox_read_key").status == 403)
  }

  @Test func cancelNowOrAtTheEndOfThePeriod() throws {
    let shop = try Shop()
    let now = try shop.buy("plan_monthly"), later = try shop.buy("plan_monthly")
    let ended = try shop.call("POST", "/memberships/\(now)/cancel", ["reason": "too dear"])
    #expect(ended["status"] == "canceled")
    #expect(ended["cancellation_reason"] == "too dear")
    #expect(ended["canceled_at"] == "2026-10-20T10:00:00.000Z")
    #expect(try shop.call("POST", "/memberships/\(now)/cancel").status == 409)
    let ending = try shop.call("POST", "/memberships/\(later)/cancel", ["cancel_at_period_end": true])
    #expect(ending["status"] == "active")
    #expect(ending["most_recent_action"] == "canceling_on")
    let kept = try shop.call("PATCH", "/memberships/\(later)", ["cancel_at_period_end": false])
    #expect(kept["cancel_at_period_end"] == false)
    #expect(kept["canceled_at"] == JSON.null)
    let lifetime = try shop.buy("plan_lifetime")
    #expect(try shop.call("POST", "/memberships/\(lifetime)/cancel", ["cancel_at_period_end": true]).status == 409)
  }

  @Test func extendReactivateAndBillingPeriod() throws {
    let shop = try Shop()
    let monthly = try shop.buy("plan_monthly"), desktop = try shop.buy("plan_desktop")
    #expect(
      try shop.call("POST", "/memberships/\(monthly)/extend", ["days": 10])["current_period_end"]
        == "2026-11-29T10:00:00.000Z")
    #expect(try shop.call("POST", "/memberships/\(monthly)/extend", ["days": 0]).status == 400)
    #expect(try shop.call("POST", "/memberships/\(monthly)/extend").json.at("error", "param") == "days")
    #expect(try shop.call("POST", "/memberships/\(monthly)/reactivate").status == 409)
    #expect(
      try shop.call("PATCH", "/memberships/\(monthly)", ["billing_period_days": 90])["billing_period_days"] == 90)
    _ = try shop.call("POST", "/memberships/\(desktop)/cancel")
    let again = try shop.call("POST", "/memberships/\(desktop)/reactivate", ["days": 5])
    #expect(again["status"] == "completed")
    #expect(again["expires_at"] == "2026-10-25T10:00:00.000Z")
  }
}
