import KassaCore
import KassaJSON
import Testing

@testable import KassaSandbox

@Suite("Checkout")
struct CheckoutTests {
  private static let metadata: JSON = ["kassa_nonce": "n1", "seller": "kept"]

  private func configuration(_ shop: Shop, _ plan: String = "plan_monthly", redirect: String? = nil) throws
    -> Shop.Answer
  {
    var body: [(String, JSON)] = [
      ("account_id", "biz_sandbox"), ("plan_id", JSON(plan)), ("metadata", Self.metadata),
    ]
    if let redirect { body.append(("redirect_url", JSON(redirect))) }
    return try shop.call("POST", "/checkout_configurations", .object(body))
  }

  @Test func aConfigurationSellsItsPlanAndHandsItsMetadataOn() throws {
    let shop = try Shop()
    let checkout = try configuration(shop)
    let id = try #require(checkout["id"].string)
    #expect(checkout["purchase_url"] == JSON("embedded:/checkout/plan_monthly/?session=\(id)"))
    let result = try shop.act(["action": "complete_checkout", "url": checkout["purchase_url"]])
    #expect(result["outcome"] == "succeeded")
    let membership = try shop.membership(try #require(result["membership_id"]?.string))
    #expect(membership["metadata"] == Self.metadata)
    let payment = try shop.get("/payments/\(result["payment_id"]?.string ?? "")")
    #expect(payment["metadata"] == Self.metadata)
    #expect(payment["checkout_configuration_id"] == JSON(id))
    #expect(payment["status"] == "paid")
    #expect(payment["customer_email"] == "buyer@example.com")
    #expect(payment.json.at("payment_instrument", "card", "last4") == "4242")
    #expect(try shop.get("/payments/\(payment["id"].string ?? "")", key: "sandbox_read_key")["customer_email"] == .null)
  }

  @Test func anybodyReadsAConfigurationButNotItsMetadata() throws {
    let shop = try Shop()
    let path = "/checkout_configurations/\(try configuration(shop)["id"].string ?? "")"
    #expect(try shop.get(path, key: nil)["metadata"] == JSON.null)
    #expect(try shop.get(path)["metadata"] == Self.metadata)
    #expect(try shop.get("/checkout_configurations?account_id=biz_sandbox&plan_id=plan_monthly").ids.count == 1)
    #expect(try shop.get("/checkout_configurations?account_id=biz_sandbox&plan_id=plan_yearly").ids == [])
    #expect(try shop.get("/checkout_configurations").json.at("error", "code") == "parameter_missing")
    #expect(try shop.call("DELETE", path)["deleted"] == true)
    #expect(try shop.get(path).status == 404)
  }

  @Test func setupModeHasNoPage() throws {
    let answer = try Shop().call("POST", "/checkout_configurations", ["mode": "setup"])
    #expect(answer.status == 200)
    #expect(answer["purchase_url"] == JSON.null)
    #expect(answer["plan"] == JSON.null)
  }

  @Test func anInlinePlanIsFoundOrMade() throws {
    let shop = try Shop()
    func checkout(_ plan: JSON) throws -> Shop.Answer {
      try shop.call("POST", "/checkout_configurations", ["plan": plan])
    }
    let plan: JSON = ["product_id": "prod_pro", "initial_price": 5, "currency": "usd"]
    let first = try checkout(plan).json.at("plan", "id")
    #expect(try checkout(plan).json.at("plan", "id") == first)
    #expect(try checkout(plan.merging([("force_create_new_plan", true)])).json.at("plan", "id") != first)
    #expect(try shop.get("/variants/\(first.string ?? "")")["visibility"] == "quick_link")
    #expect(
      try checkout(["product_id": "prod_pro", "initial_price": -5]).json.at("error", "param") == "plan.initial_price")
  }

  @Test(arguments: [
    (#"{}"#, 400, "plan_id"), (#"{"plan_id":"plan_none"}"#, 404, nil), (#"{"plan_id":7}"#, 400, "plan_id"),
    (#"{"plan_id":"plan_monthly","redirect_url":"app://back"}"#, 400, "redirect_url"),
    (#"{"plan_id":"plan_monthly","redirect_url":"http://example.com/"}"#, 400, "redirect_url"),
    (#"{"plan_id":"plan_monthly","redirect_url":"https://user@example.com/"}"#, 400, "redirect_url"),
    (#"{"plan_id":"plan_monthly","metdata":{}}"#, 400, "metdata"),
    (#"{"account_id":"biz_other","plan_id":"plan_monthly"}"#, 403, nil), (#"{"#, 400, nil), (#"[]"#, 400, nil),
  ])
  func mistakesAreRefusedWithTheirPlace(body: String, status: Int, param: String?) throws {
    let shop = try Shop()
    let request = HTTPRequest(
      "POST", "embedded:/api/v1/checkout_configurations", headers: [HTTPHeader("Authorization", "Bearer sandbox_key")],
      body: Array(body.utf8))
    let answer = try shop.response(shop.sandbox.answer(request))
    #expect(answer.status == status)
    #expect(answer.json.at("error", "param").string == param)
  }

  @Test func loopbackRedirectsAreASwitch() throws {
    let url = "http://127.0.0.1:4000/back"
    #expect(try configuration(try Shop(), redirect: url).status == 200)
    let refusal = try configuration(try Shop(switches: ["loopback_redirects": false]), redirect: url)
    #expect(refusal.status == 400)
    #expect(refusal.json.at("error", "param") == "redirect_url")
  }

  @Test(arguments: [
    (
      "hosted", "succeeded", ["receipt_id", "payment_id", "checkout_status=success", "status=success", "state_id=chs_"]
    ),
    ("hosted", "declined", ["checkout_status=error", "status=error"]),
    ("hosted", "canceled", ["checkout_status=canceled", "status=canceled"]),
    ("embedded", "succeeded", ["status=success", "receipt_id"]),
    ("embedded", "canceled", ["status=error"]),
    ("elements", "succeeded", ["payment=pay_", "status=succeeded"]),
    ("elements", "declined", ["status=failed"]), ("elements", "canceled", ["status=canceled"]),
  ])
  func theReturnAddressTellsInThreeVocabularies(vocabulary: String, outcome: String, parts: [String]) throws {
    let shop = try Shop(switches: ["return_vocabulary": JSON(vocabulary)])
    let checkout = try configuration(shop, redirect: "https://example.com/back?a=1#end")
    let result = try shop.act([
      "action": "complete_checkout", "checkout_configuration_id": checkout["id"], "outcome": JSON(outcome),
    ])
    #expect(result["outcome"] == JSON(outcome))
    let url = try #require(result["redirect_url"]?.string)
    #expect(url.hasPrefix("https://example.com/back?a=1&"))
    #expect(url.hasSuffix("#end"))
    for part in parts { #expect(url.contains(part)) }
    let receipts = url.split(separator: "&").filter { $0.contains("pay_") }
    #expect(receipts.allSatisfy { $0.contains(result["payment_id"]?.string ?? "none") })
  }

  @Test func aDeclineGivesAPaymentButNoMembership() throws {
    let shop = try Shop()
    let result = try shop.act(["action": "complete_checkout", "plan_id": "plan_monthly", "card": "4000 0000 0000 0002"])
    #expect(result["outcome"] == "declined")
    #expect(result["decline_code"] == "generic_decline")
    #expect(result["membership_id"] == JSON.null)
    let payment = try shop.get("/payments/\(result["payment_id"]?.string ?? "")")
    #expect(payment["status"] == "open")
    #expect(payment["substatus"] == "failed")
    #expect(payment["failure_message"] == result["message"])
    #expect(try shop.get("/memberships").ids == [])
  }

  @Test func theChallengeTakesItsPassword() throws {
    let shop = try Shop()
    func order(_ more: (String, JSON)...) throws -> JSON {
      let card: JSON = ["action": "complete_checkout", "plan_id": "plan_monthly", "card": "5385 3083 6013 5181"]
      return try shop.act(card.merging(more))
    }
    #expect(try order(("challenge", "wrong"))["decline_code"] == "three_d_secure_failed")
    #expect(try order(("challenge", "Checkout1!"))["outcome"] == "succeeded")
    let open = try order()
    #expect(open["outcome"] == "challenged")
    let id = open["payment_id"]?.string ?? ""
    #expect(try shop.get("/payments/\(id)/status")["status"] == "requires_action")
    let done = try shop.act(["action": "complete_checkout", "payment_id": JSON(id), "challenge": "Checkout1!"])
    #expect(done["outcome"] == "succeeded")
    #expect(try shop.get("/payments/\(id)")["three_ds_verified"] == true)
  }

  @Test func aBankDebitWaitsUntilItIsSettledOrFails() throws {
    let shop = try Shop()
    for action in ["settle_payment", "fail_payment"] {
      let pending = try shop.act(["action": "complete_checkout", "plan_id": "plan_monthly", "outcome": "pending"])
      #expect(pending["outcome"] == "pending")
      let path = "/payments/\(pending["payment_id"]?.string ?? "")"
      #expect(try shop.get(path)["status"] == "pending")
      #expect(try shop.get("\(path)/status")["status"] == "processing")
      let result = try shop.act(["action": JSON(action)])
      #expect(result["payment_id"] == pending["payment_id"])
      #expect((result["membership_id"]?.string != nil) == (action == "settle_payment"))
      #expect(try shop.get(path)["status"] == (action == "settle_payment" ? "paid" : "open"))
    }
    #expect(throws: KassaError.self) { try shop.act(["action": "settle_payment"]) }
  }

  @Test func aFreePlanNeedsNoCard() throws {
    let shop = try Shop()
    let membership = try shop.membership(try shop.buy("plan_free"))
    #expect(membership["status"] == "completed")
    let payment = try #require(try shop.get("/payments").rows.first)
    #expect(payment.at("total", "amount") == "0.00")
    #expect(payment["payment_method_type"] == JSON.null)
    #expect(payment["status"] == "paid")
  }

  @Test func whatIsSoldOutOrArchivedOrWaitedForIsNotSold() throws {
    func shop(_ change: (String, JSON)) throws -> Shop {
      let plan: JSON = ["id": "plan_a", "product_id": "prod_a", "plan_type": "one_time", "initial_price": 5]
      return try Shop(catalogue: [
        "account": ["id": "biz_a", "title": "A"], "products": [["id": "prod_a", "title": "A"]],
        "plans": [plan.merging([change])], "api_keys": [],
      ])
    }
    let limited = try shop(("stock", 1))
    try limited.buy("plan_a")
    #expect(throws: KassaError.self) { try limited.buy("plan_a") }
    for change: (String, JSON) in [("visibility", "archived"), ("release_method", "waitlist")] {
      let closed = try shop(change)
      #expect(throws: KassaError.self) { try closed.buy("plan_a") }
    }
  }

  @Test func refunds() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly")
    let path = "/payments/\(try shop.get("/payments").ids.first ?? "")"
    let part = try shop.call("POST", "\(path)/refund", ["partial_amount": JSON(4.5)])
    #expect(part["substatus"] == "partially_refunded")
    #expect(part.json.at("refunded_amount", "amount") == "4.50")
    #expect(try shop.call("POST", "\(path)/refund", ["partial_amount": JSON(5.5)]).status == 400)
    #expect(try shop.call("POST", "\(path)/refund")["substatus"] == "refunded")
    #expect(try shop.call("POST", "\(path)/refund").status == 409)
    #expect(try shop.membership(id)["status"] == "active")
    let other = try shop.buy("plan_monthly")
    let payment = try shop.get("/payments?membership_id=\(other)").ids.first
    try shop.act(["action": "refund", "payment_id": JSON(payment), "cancel_membership": true])
    #expect(try shop.membership(other)["status"] == "canceled")
  }

  @Test func idempotencyKeysReplayAnswers() throws {
    let shop = try Shop()
    func post(_ plan: String, key: String = "k1", as caller: String? = Shop.key) throws -> Shop.Answer {
      try shop.call(
        "POST", "/checkout_configurations", ["plan_id": JSON(plan)], key: caller,
        headers: [HTTPHeader("Idempotency-Key", key)])
    }
    let first = try post("plan_monthly"), again = try post("plan_monthly")
    #expect(again.json == first.json)
    #expect(first.header("Idempotent-Replayed") == nil)
    #expect(again.header("idempotent-replayed") == "true")
    #expect(try post("plan_yearly").status == 400)
    #expect(try post("plan_monthly", key: "k2")["id"] != first["id"])
    #expect(try post("plan_none", key: "k3").status == 404)
    #expect(try post("plan_none", key: "k3").header("Idempotent-Replayed") == "true")
    #expect(try post("plan_monthly", key: String(repeating: "k", count: 256)).status == 400)
    #expect(try post("plan_monthly", as: nil).status == 401)
    try shop.advance(days: 1)
    #expect(try post("plan_monthly")["id"] != first["id"])
  }
}
