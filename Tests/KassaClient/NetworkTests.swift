import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// Answers that are not the service's own, or not the whole truth: nothing is lost by them.
@Suite struct NetworkTests {
  @Test(
    "S105 S003 what is no answer of the service changes nothing",
    arguments: [
      HTTPResponse(status: 200, headers: [HTTPHeader("Content-Type", "text/html")], body: Array("<html>".utf8)),
      HTTPResponse(status: 200), HTTPResponse(status: 200, body: Array("null".utf8)),
      HTTPResponse(status: 200, body: Array("[]".utf8)), HTTPResponse(status: 204),
      HTTPResponse(status: 200, body: Array("{\"data\":5}".utf8)), HTTPResponse(status: 200, body: Array("{}".utf8)),
      HTTPResponse(status: 200, body: Array("{\"data\":[{\"id\":\"mem".utf8)),
      HTTPResponse(status: 302, headers: [HTTPHeader("Location", "http://portal/")]), HTTPResponse(status: 511),
      HTTPResponse(status: 403, body: Array("<h1>Blocked</h1>".utf8)),
      HTTPResponse(status: 404, body: Array("<h1>404</h1>".utf8)),
      HTTPResponse(status: 500), HTTPResponse(status: 503, body: Array("busy".utf8)),
    ])
  func notTheService(response: HTTPResponse) throws {
    let rig = try Rig()
    try rig.buy()
    _ = rig.events()
    rig.network.set(.answers(response))
    let restore = try rig.error(of: rig.client.restorePurchases())
    #expect(["not_service_answer", "service_unavailable", "not_found"].contains(restore["code"]?.string))
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.changes().isEmpty)
  }

  @Test("S106 an empty list does not end what has not ended") func emptyList() throws {
    let rig = try Rig()
    let id = try #require(try rig.buy()["membership"]?["id"]?.string)
    let network = rig.network
    // The list is empty; the membership itself still says that it is active.
    network.rewrite { request, response in
      guard request.method == "GET", request.url.contains("/memberships?") else { return response }
      return HTTPResponse(
        status: 200,
        body: Array("{\"data\":[],\"page_info\":{\"has_next_page\":false,\"has_previous_page\":false}}".utf8),
        date: response.date)
    }
    try rig.refresh()
    #expect(rig.hasAccess(Rig.pro))
    // Nor does a membership that cannot be found.
    network.rewrite { request, response in
      request.url.contains("/memberships") && request.method == "GET"
        ? HTTPResponse(
          status: request.url.contains("?") ? 200 : 404,
          body: Array(
            (request.url.contains("?")
              ? "{\"data\":[],\"page_info\":{\"has_next_page\":false,\"has_previous_page\":false}}"
              : "{\"error\":{\"type\":\"not_found\",\"message\":\"no\"}}").utf8), date: response.date) : response
    }
    try rig.refresh()
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.diagnostics().contains("downgrade_refused"))
    // Its own row ends it.
    network.rewrite(nil)
    try rig.simulate(["action": "cancel_membership", "membership_id": JSON(id)])
    try rig.refresh()
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("An empty list from a credential that may not read says nothing") func noPermission() throws {
    var wishes = Rig.Wishes()
    wishes.credential = ("api_key", "sandbox_iap_key")
    wishes.productIDs = [Rig.pro]
    let rig = try Rig(wishes, configure: false)
    let error = try rig.error(of: rig.client.configure(rig.configuration))
    #expect(error["code"]?.string == "permission_denied")
    #expect(rig.diagnostics() == ["credential_lacks_permission"])
    #expect(rig.client.explain(Rig.pro)["answer"]?.string == "unknown")
  }

  @Test("A wrong key is told apart") func wrongKey() throws {
    var wishes = Rig.Wishes()
    wishes.credential = ("api_key", "wrong")
    let rig = try Rig(wishes, configure: false)
    #expect(try rig.error(of: rig.client.configure(rig.configuration))["code"]?.string == "unauthorized")
  }

  @Test("S109 S110 S031 a first start offline knows nothing, says so, and mends itself") func firstStartOffline() throws
  {
    let rig = try Rig(configure: false)
    rig.network.set(.offline)
    let error = try rig.error(of: rig.client.configure(rig.configuration))
    #expect(error["code"]?.string == "offline")
    #expect(error["retryable"]?.bool == true)
    #expect(!rig.client.isInitialized)
    #expect(rig.client.explain(Rig.pro)["answer"]?.string == "unknown")
    #expect(!rig.hasAccess(Rig.pro))
    _ = rig.events()
    rig.network.set(.fine)
    rig.letTimePass(inStepsOf: 2_000) { rig.client.isInitialized }
    #expect(rig.client.isInitialized)
    #expect(rig.client.explain(Rig.pro)["answer"]?.string == "no")
    #expect(rig.changes("plans").count == 1)
  }

  @Test("Offline with a cache, configure completes from it") func cache() throws {
    let directory = TemporaryDirectory()
    let network: Network
    let time: ManualTime
    do {
      let rig = try Rig(storage: directory.path)
      (network, time) = (rig.network, rig.time)
      try rig.buy()
    }
    network.set(.offline)
    let rig = try Rig(storage: directory.path, time: time, network: network, configure: false)
    let operation = rig.client.configure(rig.configuration)
    #expect(rig.hasAccess(Rig.pro))
    #expect(try rig.result(of: operation)["source"]?.string == "cache")
    #expect(rig.client.plans.elements.count > 3)
    #expect(rig.client.explain(Rig.pro)["considered"]?.elements.first?["from"]?.string == "cache")
  }

  @Test("S107 memberships over many pages", arguments: [0, 1, 10, 11, 250]) func pages(count: Int) throws {
    let rig = try Rig()
    for _ in 0..<count { try rig.buy(Rig.lifetime) }
    let fresh = try Rig(time: rig.time, network: rig.network, seed: 1)
    #expect(fresh.client.memberships.elements.count == count)
  }

  @Test("S087 product_ids limit what counts; others are false and reported once") func productIDs() throws {
    var wishes = Rig.Wishes()
    wishes.productIDs = ["prod_desktop"]
    let rig = try Rig(wishes)
    #expect(rig.client.plans.elements.allSatisfy { $0["product_id"]?.string == "prod_desktop" })
    try rig.buy()
    #expect(!rig.hasAccess(Rig.pro))
    #expect(!rig.isSubscribed)
    rig.client.askedForUnknown(Rig.pro)
    rig.client.askedForUnknown(Rig.pro)
    rig.client.askedForUnknown("prod_desktop")
    #expect(rig.diagnostics() == ["product_not_configured"])
    #expect(rig.client.explain(Rig.pro)["reason"]?.string == "product_not_configured")
  }

  @Test("S131 unknown words are kept, and grant nothing") func unknownStatus() throws {
    let rig = try Rig()
    let id = try #require(try rig.buy()["membership"]?["id"])
    rig.network.rewrite { request, response in
      guard request.url.contains("/memberships") else { return response }
      var response = response
      response.body = Array(
        String(decoding: response.body, as: UTF8.self).replacing("\"status\":\"active\"", with: "\"status\":\"paused\"")
          .utf8)
      return response
    }
    try rig.refresh()
    #expect(!rig.hasAccess(Rig.pro))
    let entitlement = try #require(rig.client.entitlements.elements.first { $0["id"] == id })
    #expect(entitlement["status"]?.string == "unknown")
    #expect(entitlement["rule"]?.string == "status")
  }

  @Test("S099 fields that are new, and optional ones that are missing") func drift() throws {
    let rig = try Rig()
    try rig.buy()
    rig.network.rewrite { request, response in
      guard request.url.contains("/memberships") else { return response }
      var response = response
      response.body = Array(
        String(decoding: response.body, as: UTF8.self)
          .replacing("\"manage_url\":", with: "\"brand_new\":{\"a\":[1]},\"manage_link\":").utf8)
      return response
    }
    try rig.refresh()
    #expect(rig.hasAccess(Rig.pro))
    // A required field that is missing is no answer; the last good state stays.
    rig.network.rewrite { request, response in
      guard request.url.contains("/memberships") else { return response }
      var response = response
      response.body = Array(
        String(decoding: response.body, as: UTF8.self).replacing("\"status\":", with: "\"state\":").utf8)
      return response
    }
    #expect(try rig.error(of: rig.client.restorePurchases())["code"]?.string == "not_service_answer")
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("Identical answers make no event") func quiet() throws {
    let rig = try Rig()
    try rig.buy()
    _ = rig.events()
    for _ in 0..<3 { try rig.refresh() }
    #expect(rig.events().isEmpty)
  }
}
