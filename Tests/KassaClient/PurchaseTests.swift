import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// Every way in which a web checkout can end.
@Suite struct PurchaseTests {
  private func hosted(_ catalogue: JSON? = nil) throws -> Rig {
    var wishes = Rig.Wishes()
    wishes.presenter = ["presenter": "host"]
    wishes.catalogue = catalogue
    return try Rig(wishes)
  }

  @Test("The host is asked to present a checkout that carries the attempt") func request() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, ["method": "whop"])
    let request = try rig.request("checkout", "present")
    let parameters = try #require(request["params"])
    #expect(parameters["plan_id"]?.string == Rig.monthly)
    #expect(parameters["url"]?.string?.contains("session=ch_") == true)
    #expect(parameters["nonce"]?.string?.utf8.count == 36)
    #expect(parameters["return_url"]?.isNull == true)
    try rig.pay(request)
    let result = try rig.result(of: purchase)
    #expect(result["outcome"]?.string == "purchased")
    #expect(result["membership"]?["plan_id"]?.string == Rig.monthly)
  }

  @Test("S130 the answers are there when the completion is") func sameTick() throws {
    let rig = try Rig()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    _ = try rig.completion(of: purchase)
    #expect(!rig.client.memberships.elements.isEmpty)
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.changes("entitlements").last?["cause"]?.string == "purchase")
  }

  @Test(
    "S061 cancelled by the user is an outcome",
    arguments: [
      ["outcome": "cancelled"], ["outcome": "returned", "url": "https://x.example/?status=canceled"],
    ] as [JSON])
  func cancelled(reply: JSON) throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    #expect(try rig.respond(rig.request("checkout", "present"), reply))
    #expect(try rig.result(of: purchase)["outcome"]?.string == "cancelled")
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("S062 cancelled in the host, but paid: the service is asked once more") func cancelledButPaid() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    let request = try rig.request("checkout", "present")
    try rig.simulate(["action": "complete_checkout", "url": request["params"]?["url"] ?? .null])
    #expect(try rig.respond(request, ["outcome": "cancelled"]))
    #expect(try rig.result(of: purchase)["outcome"]?.string == "purchased")
  }

  @Test(
    "Nothing is kept or asked for after a sheet of Apple Pay that nobody paid on",
    arguments: [["outcome": "cancelled"], ["error": ["code": "unsupported", "message": "no card"]]] as [JSON])
  func applePayCancelled(reply: JSON) throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, ["method": "apple_pay"])
    #expect(try rig.respond(rig.request("checkout", "apple_pay"), reply))
    let completion = try rig.completion(of: purchase)
    #expect(completion["result"]?["outcome"]?.string ?? completion["error"]?["code"]?.string != "purchased")
    rig.settle()
    rig.network.forget()
    for _ in 0..<10 { rig.advance(milliseconds: 60_000) }
    #expect(rig.network.requests.isEmpty)
    // In a tab somebody may still pay.
    let other = rig.client.purchase(Rig.monthly, [:])
    #expect(try rig.respond(rig.request("checkout", "present"), ["outcome": "cancelled"]))
    try rig.result(of: other)
    rig.network.forget()
    rig.letTimePass(inStepsOf: 60_000) { !rig.network.requests.isEmpty }
    #expect(!rig.network.requests.isEmpty)
  }

  @Test("Apple Pay sells a plan that is not listed, at its own price") func applePayOfHiddenPlan() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase("plan_hidden", ["method": "apple_pay"])
    let request = try rig.request("checkout", "apple_pay")
    #expect(request["params"]?["amount"]?.string == "4.99")
    #expect(try rig.respond(request, ["outcome": "cancelled"]))
    try rig.result(of: purchase)
    let unknown = try rig.error(of: rig.client.purchase("plan_nobody", ["method": "apple_pay"]))
    #expect(unknown["code"]?.string == "plan_not_found")
  }

  @Test("S062 S134 a success after the end is a change with the cause purchase") func lateSuccess() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    let request = try rig.request("checkout", "present")
    #expect(try rig.respond(request, ["outcome": "cancelled"]))
    #expect(try rig.result(of: purchase)["outcome"]?.string == "cancelled")
    try rig.simulate(["action": "complete_checkout", "url": request["params"]?["url"] ?? .null])
    _ = rig.events()
    rig.letTimePass(inStepsOf: 10_000) { rig.hasAccess(Rig.pro) }
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.changes("entitlements").map { $0["cause"]?.string } == ["purchase"])
  }

  @Test("A tab that pays and never comes back is noticed") func closedTab() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    let request = try rig.request("checkout", "present")
    try rig.simulate(["action": "complete_checkout", "url": request["params"]?["url"] ?? .null])
    #expect(try rig.result(of: purchase)["outcome"]?.string == "purchased")
    #expect(rig.events().contains { $0["type"]?.string == "request_cancelled" && $0["id"] == request["id"] })
  }

  @Test("A declined payment is an error with the service's text") func declined() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    try rig.pay(try rig.request("checkout", "present"), card: "4000 0000 0000 0002")
    let error = try rig.error(of: purchase)
    #expect(error["code"]?.string == "payment_failed")
    #expect(error["reason"]?.string == "generic_decline")
    #expect(error["message"]?.string?.isEmpty == false)
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("The host's failure is a failed payment, with its message") func failed() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    #expect(try rig.respond(rig.request("checkout", "present"), ["outcome": "failed", "message": "card expired"]))
    let error = try rig.error(of: purchase)
    #expect(error["code"]?.string == "payment_failed")
    #expect(error["message"]?.string == "card expired")
  }

  @Test(
    "A presenter that cannot, and one that answers nonsense",
    arguments: [
      ["error": ["message": "no window"]], ["outcome": "maybe"], [:], ["outcome": 5],
    ] as [JSON])
  func broken(reply: JSON) throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    #expect(try rig.respond(rig.request("checkout", "present"), reply))
    #expect(try rig.error(of: purchase)["code"]?.string == "checkout_failed")
  }

  @Test("A bank debit is pending, and its success is a change") func pending() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    let request = try rig.request("checkout", "present")
    let paid = try rig.simulate([
      "action": "complete_checkout", "url": request["params"]?["url"] ?? .null, "outcome": "pending",
    ])
    #expect(try rig.respond(request, ["outcome": "returned", "url": paid["redirect_url"] ?? .null]))
    let result = try rig.result(of: purchase)
    #expect(result["outcome"]?.string == "pending")
    #expect(result["receipt_id"]?.string?.hasPrefix("pay_") == true)
    #expect(!rig.hasAccess(Rig.pro))
    try rig.simulate(["action": "settle_payment"])
    rig.letTimePass(inStepsOf: 10_000) { rig.hasAccess(Rig.pro) }
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test(
    "A forged return grants nothing",
    arguments: [
      "https://x.example/?receipt_id=pay_forged&status=success", "https://x.example/?payment=pay_1&status=succeeded",
      "myapp://back?checkout_status=success", "nonsense", "",
    ])
  func forged(url: String) throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    #expect(try rig.respond(rig.request("checkout", "present"), ["outcome": "returned", "url": JSON(url)]))
    let result = try rig.result(of: purchase)
    #expect(result["membership"]?.isNull == true)
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("kassa_cancel ends a purchase as cancelled, and withdraws the request") func cancelOperation() throws {
    let rig = try hosted()
    let purchase = rig.client.purchase(Rig.monthly, [:])
    let request = try rig.request("checkout", "present")
    #expect(rig.client.cancel(purchase))
    #expect(try rig.result(of: purchase)["outcome"]?.string == "cancelled")
    #expect(try !rig.respond(request, ["outcome": "cancelled"]))
    #expect(!rig.client.cancel(purchase))
  }

  @Test("One purchase at a time") func inProgress() throws {
    let rig = try hosted()
    let first = rig.client.purchase(Rig.monthly, [:])
    let request = try rig.request("checkout", "present")
    #expect(try rig.error(of: rig.client.purchase(Rig.lifetime, [:]))["code"]?.string == "purchase_in_progress")
    try rig.pay(request)
    try rig.result(of: first)
    #expect(rig.client.purchase(Rig.lifetime, [:]) != 0)
  }

  @Test(
    "Bad input buys nothing and says what is wrong",
    arguments: [
      ("prod_1", [:], "plan_id must start with \"plan_\" (got \"prod_1\")"), ("", [:], "plan_id must start with"),
      ("plan_", [:], "plan_id must start with"), ("plan_\u{1F600}", [:], "plan_id must be at most 256"),
      (Rig.monthly, ["methd": "whop"], "options.methd is not a known key; did you mean \"method\"?"),
      (Rig.monthly, ["method": "shop"], "options.method must be one of \"whop\", \"store\""),
      (Rig.monthly, ["method": 5], "options.method must be a string (got a number)"),
      (
        Rig.monthly, ["offer": "all"], "options.offer must be \"automatic\", \"none\" or {\"id\":\"...\"} (got \"all\")"
      ),
      (Rig.monthly, ["quantity": 0], "options.quantity must be 1 to 10 (got 0)"),
    ] as [(String, JSON, String)])
  func badInput(plan: String, options: JSON, message: String) throws {
    let rig = try hosted()
    let error = try rig.error(of: rig.client.purchase(plan, options))
    #expect(error["code"]?.string == "invalid_argument")
    #expect(error["message"]?.string?.hasPrefix(message) == true)
    #expect(!rig.network.requests.contains { $0.method == "POST" })
  }

  @Test("A plan that is not for sale") func unknownPlan() throws {
    let rig = try hosted()
    #expect(try rig.error(of: rig.client.purchase("plan_none", [:]))["code"]?.string == "plan_not_found")
  }

  @Test("Switched off, every purchase is disabled") func disabled() throws {
    var wishes = Rig.Wishes()
    wishes.isEnabled = false
    let rig = try Rig(wishes)
    #expect(try rig.buy()["outcome"]?.string == "disabled")
  }

  @Test("Offline nothing is presented") func offline() throws {
    let rig = try hosted()
    rig.network.set(.offline)
    #expect(try rig.error(of: rig.client.purchase(Rig.monthly, [:]))["code"]?.string == "offline")
    #expect(!rig.events().contains { $0["type"]?.string == "request" })
  }

  @Test("Before configure every operation ends with not_configured") func notConfigured() throws {
    let rig = try Rig(configure: false)
    for operation in [
      rig.client.purchase(Rig.monthly, [:]), rig.client.refreshPlans(), rig.client.restorePurchases(),
      rig.client.logIn("ada"), rig.client.simulate(["action": "state"]),
    ] {
      #expect(try rig.error(of: operation)["code"]?.string == "not_configured")
    }
    #expect(!rig.hasAccess(Rig.pro))
    #expect(rig.client.plans.elements.isEmpty && rig.client.memberships.elements.isEmpty)
  }

  @Test("S001 killed after the payment: the next start finds the purchase") func killedAfterPayment() throws {
    let directory = TemporaryDirectory()
    var wishes = Rig.Wishes()
    wishes.presenter = ["presenter": "host"]
    let network: Network
    let time: ManualTime
    do {
      let rig = try Rig(wishes, storage: directory.path)
      (network, time) = (rig.network, rig.time)
      _ = rig.client.purchase(Rig.monthly, [:])
      let request = try rig.request("checkout", "present")
      try rig.simulate(["action": "complete_checkout", "url": request["params"]?["url"] ?? .null])
    }
    let rig = try Rig(wishes, storage: directory.path, time: time, network: network)
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("Access tokens come from the host, once for any number of calls") func tokens() throws {
    var wishes = Rig.Wishes()
    wishes.credential = ("access_token", "host")
    let rig = try Rig(wishes, configure: false)
    let configure = rig.client.configure(rig.configuration)
    let others = (0..<1_000).map { _ in rig.client.refreshPlans() }
    let request = try rig.request("auth", "access_token")
    #expect(request["params"]?["reason"]?.string == "first")
    #expect(request["params"]?["company_id"]?.string == Rig.company)
    let end = (rig.time.wallMilliseconds + 3_600_000) / 1_000
    #expect(try rig.respond(request, ["token": "sandbox_key", "expires_at": JSON(end)]))
    try rig.result(of: configure)
    for other in others { try rig.result(of: other) }
    #expect(!rig.events().contains { $0["type"]?.string == "request" })
    // A minute before its end the next one is fetched.
    rig.advance(milliseconds: 3_541_000)
    let later = rig.client.refreshPlans()
    let again = try rig.request("auth", "access_token")
    #expect(again["params"]?["reason"]?.string == "expiring")
    #expect(try rig.respond(again, ["access_token": "sandbox_key", "expires_at": JSON(end + 7_200)]))
    try rig.result(of: later)
  }

  @Test("A refused token is replaced once; a host that fails is left alone for a while") func refusedToken() throws {
    var wishes = Rig.Wishes()
    wishes.credential = ("access_token", "host")
    let rig = try Rig(wishes, configure: false)
    let configure = rig.client.configure(rig.configuration)
    let end = JSON((rig.time.wallMilliseconds + 3_600_000) / 1_000)
    #expect(try rig.respond(rig.request("auth", "access_token"), ["token": "old", "expires_at": end]))
    let second = try rig.request("auth", "access_token")
    #expect(second["params"]?["reason"]?.string == "refused")
    #expect(try rig.respond(second, ["error": ["message": "the token endpoint is down"]]))
    let error = try rig.error(of: configure)
    #expect(error["code"]?.string == "token_unavailable")
    #expect(error["message"]?.string == "the token endpoint is down")
    // Without letting time pass, in which the host would be asked again.
    let again = rig.client.wait(rig.client.refreshPlans(), timeoutMilliseconds: 10_000)
    #expect(again?["error"]?["code"]?.string == "token_unavailable")
    #expect(!rig.events().contains { $0["type"]?.string == "request" })
  }
}
