import KassaCore
import KassaJSON
import Testing

@testable import KassaSandbox

@Suite("Plans and products")
struct PlanRouteTests {
  @Test func everybodySeesTheVisiblePlansOfAProduct() throws {
    let answer = try Shop().get("/variants?product_ids=prod_pro", key: nil)
    #expect(answer.status == 200)
    #expect(answer.ids == ["plan_monthly", "plan_yearly", "plan_weekly", "plan_lifetime", "plan_yen"])
    let first = try #require(answer.rows.first)
    #expect(first["stock"] == JSON.null)
    #expect(first["member_count"] == JSON.null)
    #expect(first["renewal_price"]?.decimalText == "9.99")
    #expect(first.at("initial_price_due", "amount") == "9.99")
    #expect(first["formatted_price"] == "$9.99 / month")
  }

  @Test func theSellerSeesAllPlansOfTheAccount() throws {
    let shop = try Shop()
    #expect(try shop.get("/variants?account_id=biz_sandbox").ids.count == 8)
    #expect(try shop.get("/variants?account_id=biz_sandbox&visibilities=hidden").ids == ["plan_hidden"])
    #expect(try shop.get("/variants?account_id=biz_other").ids == [])
    #expect(try shop.get("/variants?account_id=biz_sandbox").rows.first?["member_count"] == 0)
    #expect(try shop.get("/variants?account_id=biz_sandbox", key: nil).status == 401)
    #expect(try shop.get("/variants?account_id=biz_sandbox", key: "sandbox_iap_key").status == 403)
  }

  @Test(arguments: [
    ("plan_types=one_time", ["plan_lifetime", "plan_desktop", "plan_free"]),
    ("order=expiration_days&visibilities=visible&product_ids=prod_desktop", ["plan_desktop", "plan_free"]),
    (
      "order=id&direction=asc&product_ids=prod_pro",
      ["plan_hidden", "plan_lifetime", "plan_monthly", "plan_weekly", "plan_yearly", "plan_yen"]
    ),
    ("created_after=2026-01-01T00:00:00Z", []),
  ])
  func filtersAndOrders(query: String, expected: [String]) throws {
    #expect(try Shop().get("/variants?account_id=biz_sandbox&\(query)").ids == expected)
  }

  @Test func hiddenPlansAreReachableById() throws {
    let shop = try Shop()
    let plan = try shop.get("/variants/plan_hidden", key: nil)
    #expect(plan.status == 200)
    #expect(plan["visibility"] == "hidden")
    #expect(plan["internal_notes"] == JSON.null)
    #expect(plan["purchase_url"] == "embedded:/checkout/plan_hidden")
    #expect(try shop.get("/variants/plan_hidden")["internal_notes"] == "For those who have the link.")
    #expect(try shop.get("/variants/plan_none").status == 404)
  }

  @Test func theOldNameOfPlansAnswersTheSame() throws {
    let shop = try Shop()
    #expect(try shop.get("/plans/plan_monthly").json == shop.get("/variants/plan_monthly").json)
    #expect(
      try shop.get("/plans?product_ids=prod_pro", key: nil).json
        == shop.get("/variants?product_ids=prod_pro", key: nil).json)
  }

  @Test func zeroDecimalCurrenciesHaveNoDecimals() throws {
    let due = try Shop().get("/variants/plan_yen")["initial_price_due"]
    #expect(due == ["amount": "1500", "currency": "jpy", "decimals": 0, "display_decimals": 0])
  }

  @Test func aTrialIsFreeAndGivenOnce() throws {
    let shop = try Shop()
    #expect(try shop.get("/variants/plan_weekly").json.at("initial_price_due", "amount") == "0.00")
    try shop.buy("plan_weekly")
    let again = try shop.act(["action": "complete_checkout", "plan_id": "plan_weekly"])
    let payment = try shop.get("/payments/\(again["payment_id"]?.string ?? "")")
    #expect(payment.json.at("total", "amount") == "3.49")
  }

  @Test func products() throws {
    let shop = try Shop()
    #expect(try shop.get("/products", key: nil).ids == ["prod_pro", "prod_desktop"])
    #expect(try shop.get("/products?account_id=biz_sandbox", key: nil).status == 401)
    let product = try shop.get("/products/prod_pro", key: nil)
    #expect(product["title"] == "Pro")
    #expect(product.json.at("default_plan", "id") == "plan_monthly")
    #expect(product["member_count"] == 0)
  }
}

@Suite("Pages")
struct PageTests {
  private static let pageSizes = [1, 2, 3, 7, 100]

  /// A shop with that many memberships of one buyer, bought at the same millisecond.
  private func shop(memberships: Int) throws -> Shop {
    let shop = try Shop()
    for _ in 0..<memberships { try shop.buy("plan_lifetime") }
    return shop
  }

  private func walk(_ shop: Shop, _ query: String, forward: Bool = true) throws -> [String] {
    var ids: [String] = []
    var cursor: String?
    while true {
      let mark = cursor.map { "&\(forward ? "after" : "before")=\($0)" } ?? ""
      let page = try shop.get("/memberships?\(query)\(mark)")
      try #require(page.status == 200)
      ids = forward ? ids + page.ids : page.ids + ids
      guard page.json.at("page_info", forward ? "has_next_page" : "has_previous_page") == true else { return ids }
      cursor = page.json.at("page_info", forward ? "end_cursor" : "start_cursor").string
    }
  }

  @Test("S107: every row comes once, whatever the size of the pages", arguments: [0, 1, 10, 11, 21])
  func everyRowComesOnce(count: Int) throws {
    let shop = try shop(memberships: count)
    let all = try walk(shop, "first=100")
    #expect(all.count == count)
    #expect(Set(all).count == count)
    for size in Self.pageSizes {
      #expect(try walk(shop, "first=\(size)") == all)
      #expect(try walk(shop, "last=\(size)", forward: false) == all)
      #expect(try walk(shop, "first=\(size)&direction=asc") == all.reversed())
    }
  }

  @Test func withoutASizeAPageHasTwentyRows() throws {
    let page = try shop(memberships: 21).get("/memberships")
    #expect(page.ids.count == 20)
    #expect(page.json.at("page_info", "has_next_page") == true)
    #expect(page.json.at("page_info", "has_previous_page") == false)
  }

  @Test func rowsThatChangeBetweenPagesHideNoOthers() throws {
    let shop = try shop(memberships: 4)
    let first = try shop.get("/memberships?first=2&status=completed")
    let cursor = try #require(first.json.at("page_info", "end_cursor").string)
    try shop.act(["action": "cancel_membership", "membership_id": JSON(first.ids[1])])
    #expect(try shop.get("/memberships?first=2&status=completed&after=\(cursor)").ids.count == 2)
  }

  @Test(arguments: ["first=0", "first=x", "after=%21", "after=bm9uZQ", "direction=up", "order=price"])
  func nonsenseIsRefused(query: String) throws {
    let answer = try Shop().get("/memberships?\(query)")
    #expect(answer.status == 400)
    #expect(answer.json.at("error", "code") == "parameter_invalid")
    #expect(answer.json.at("error", "param").string.map { query.hasPrefix($0) } == true)
  }
}
