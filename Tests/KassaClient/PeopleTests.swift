import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// People: who asks, what they have, and what they buy.
@Suite struct PeopleTests {
  // MARK: Buying

  @Test("A purchase: charged, on disk, accepted, finished; then the person has the perk")
  func purchase() throws {
    let booth = try Booth()
    #expect(!booth.rig.hasPerk("premium"))
    let result = try booth.buy("pro_monthly", booth.sold("1001"))
    #expect(result["outcome"]?.string == "purchased")
    #expect(result["synced"]?.bool == true)
    #expect(result["transaction"]?["product_slug"]?.string == "pro_monthly")
    booth.waitUntil { booth.rig.hasPerk("premium") && !booth.store.finished.isEmpty }
    #expect(booth.store.finished == ["1001"])
    #expect(booth.rig.hasPerk("premium"))
    #expect(booth.rig.hasAccess("pro_monthly"))
    #expect(booth.rig.isSubscribed)
    #expect(!booth.rig.hasPerk("pro_monthly"))
    #expect(try booth.accepted()["1001"]?.deliveries == 1)
    #expect(booth.pendingCount == 0)
  }

  @Test(
    "S001 S002 While the service is out of reach the receipt waits, over a restart; then it is sent once and finished")
  func outage() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path)
    let transaction = try before.sold("1001")
    before.rig.network.set(.offline)
    let result = try before.buy("pro_monthly", transaction)
    #expect(result["outcome"]?.string == "purchased")
    #expect(result["synced"]?.bool == false)
    #expect(before.pendingCount == 1)
    #expect(before.store.finished.isEmpty)
    before.rig.close()
    before.store.change { $0.unfinished = [.verified(transaction)] }
    before.rig.network.set(.fine)
    let after = try Booth(storage: directory.path, after: before)
    after.waitUntil { !after.store.finished.isEmpty }
    #expect(after.store.finished == ["1001"])
    #expect(try after.accepted()["1001"]?.deliveries == 1)
    #expect(after.pendingCount == 0)
  }

  @Test("Perks stand offline and after a restart; an end is exact once the person is out of date")
  func offline() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path)
    let transaction = try before.sold("1")
    try before.buy("pro_monthly", transaction)
    before.waitUntil { before.rig.hasPerk("premium") && before.pendingCount == 0 }
    before.rig.advance(milliseconds: 10_000)
    before.rig.close()
    let after = try Booth(storage: directory.path, after: before, offline: true)
    #expect(after.rig.hasPerk("premium"))
    #expect(after.rig.hasAccess("pro_monthly"))
    let end = try #require(transaction.expiresAt)
    after.rig.advance(milliseconds: end - after.rig.time.wallMilliseconds - 1)
    #expect(after.rig.hasPerk("premium"))
    after.rig.advance(milliseconds: 1)
    #expect(!after.rig.hasPerk("premium"))
    #expect(!after.rig.isSubscribed)
    #expect(after.client.explain("premium")["access"]?.bool == false)
    #expect(after.client.explain("pro_monthly")["considered"]?.elements.count == 1)
  }

  @Test("Cancelled, pending and disabled are outcomes; another purchase meanwhile is an error")
  func outcomes() throws {
    let booth = try Booth { $0.outcome = .success(.cancelled) }
    let cancelled = try booth.rig.result(of: booth.client.purchase("pro_monthly", [:]))
    #expect(cancelled["outcome"]?.string == "cancelled")
    booth.store.change { $0.outcome = .success(.pending) }
    #expect(try booth.rig.result(of: booth.client.purchase("pro_monthly", [:]))["outcome"]?.string == "pending")
    booth.store.change { $0.isSheetOpen = true }
    let open = booth.client.purchase("pro_monthly", [:])
    booth.waitUntil { booth.store.calls.filter { $0.hasPrefix("purchase ") }.count == 3 }
    let error = try booth.rig.error(of: booth.client.purchase("pro_monthly", [:]))
    #expect(error["code"]?.string == "purchase_in_progress")
    booth.store.change { $0.isSheetOpen = false }
    try booth.rig.result(of: open)
    let disabled = try Booth(isEnabled: false)
    let nothing = try disabled.rig.result(of: disabled.client.purchase("pro_monthly", [:]))
    #expect(nothing["outcome"]?.string == "disabled")
    #expect(try disabled.rig.result(of: disabled.client.products(nil))["products"]?.elements.isEmpty == true)
  }

  @Test("Disabled: nothing is asked of the service, and nothing is lost")
  func disabled() throws {
    let booth = try Booth(isEnabled: false)
    #expect(try booth.logIn("ada")["deferred"]?.bool == true)
    #expect(try booth.rig.result(of: booth.client.setAttributes(["a": 1], [:]))["deferred"]?.bool == true)
    #expect(try booth.rig.result(of: booth.client.restorePurchases())["outcome"]?.string == "disabled")
    #expect(try booth.rig.result(of: booth.client.syncPurchases())["synced"]?.bool == false)
    try booth.rig.result(of: booth.client.report(transaction: "1"))
    booth.rig.advance(days: 1)
    #expect(booth.rig.network.requests.isEmpty)
    #expect(booth.pendingCount == 1)
    #expect(booth.client.pending?["writes"]?.elements.count == 2)
  }

  @Test("What cannot be bought is said before anything is shown")
  func impossible() throws {
    let booth = try Booth()
    let unknown = try booth.rig.error(of: booth.client.purchase("nothing", [:]))
    #expect(unknown["code"]?.string == "product_not_found")
    #expect(unknown["reason"]?.string == "unknown_product")
    let unsold = try booth.rig.error(of: booth.client.purchase("pro_annual", [:]))
    #expect(unsold["reason"]?.string == "not_sold")
    let two = try booth.rig.error(of: booth.client.purchase("pro_monthly", ["quantity": 2]))
    #expect(two["code"]?.string == "invalid_argument")
    let offer = try booth.rig.error(of: booth.client.purchase("pro_monthly", ["offer": ["id": "nonsense"]]))
    #expect(offer["code"]?.string == "offer_unavailable")
    #expect(offer["reason"]?.string == "unknown_offer")
    #expect(!booth.store.calls.contains { $0.hasPrefix("purchase ") })
  }

  @Test("Products: all by slug, the named ones in order with null, what is left out said once per call")
  func products() throws {
    let booth = try Booth()
    let all = try #require(try booth.rig.result(of: booth.client.products(nil))["products"]?.elements)
    #expect(all.compactMap { $0["slug"]?.string } == ["coins_100", "pro_lifetime", "pro_monthly"])
    _ = booth.rig.events()
    let named = try booth.rig.result(of: booth.client.products(["pro_annual", "pro_monthly", "nothing"]))
    let list = try #require(named["products"]?.elements)
    #expect(list.map { $0["slug"]?.string } == [nil, "pro_monthly", nil])
    let reports = booth.rig.events().filter { $0["code"]?.string == "product_not_found" }
    #expect(reports.count == 1)
    #expect(reports.first?["details"]?["products"]?.elements.count == 2)
    booth.store.change { $0.products = [Booth.product(Booth.monthly, .consumable)] }
    #expect(
      try booth.rig.result(of: booth.client.products(["pro_monthly"]))["products"]?.elements.first?.isNull == true)
    #expect(booth.rig.diagnostics().contains("product_type_mismatch"))
  }

  @Test("S057 Every list of products asks the store again")
  func freshOffers() throws {
    let booth = try Booth()
    try booth.rig.result(of: booth.client.products(nil))
    let before = booth.store.calls.filter { $0 == "products" }.count
    _ = try booth.logIn("ada")
    try booth.rig.result(of: booth.client.products(nil))
    #expect(booth.store.calls.filter { $0 == "products" }.count == before + 1)
  }

  // MARK: Identity

  @Test("Logging in merges who asked without a name; attributes travel with it")
  func logIn() throws {
    let booth = try Booth()
    try booth.buy("pro_lifetime", booth.sold("1", Booth.lifetime, kind: .nonConsumable))
    booth.waitUntil { booth.rig.hasPerk("premium") }
    let result = try booth.logIn("ada", ["email": "ada@example.com", "team": "blue"])
    #expect(result["deferred"]?.bool == false)
    #expect(booth.client.appUserID == "ada")
    #expect(booth.rig.hasPerk("premium"))
    #expect(booth.client.person["email"]?.string == "ada@example.com")
    booth.client.logOut()
    #expect(!booth.rig.hasPerk("premium"))
    booth.rig.advance(milliseconds: 1_000)
    #expect(booth.client.appUserID == nil)
    #expect(!booth.rig.hasPerk("premium"))
    _ = try booth.logIn("ada")
    #expect(booth.rig.hasPerk("premium"))
  }

  @Test("From one user to another nothing goes over")
  func switchUser() throws {
    let booth = try Booth()
    _ = try booth.logIn("ada")
    try booth.buy("pro_lifetime", booth.sold("1", Booth.lifetime, kind: .nonConsumable))
    booth.waitUntil { booth.rig.hasPerk("premium") }
    _ = try booth.logIn("bob")
    #expect(!booth.rig.hasPerk("premium"))
    let previous = booth.rig.network.requests.last { $0.url.hasSuffix("/identify") }?
      .headers.first { $0.name == "x-distinct-id" }?.value
    #expect(previous?.hasPrefix("vh:anon:") == true)
  }

  @Test("A refused login is taken back; one that cannot be told now waits, and is told later")
  func refusedLogIn() throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    try booth.receiptsMeet(status: 409, tag: "Api/SdkPersonAlreadyIdentifiedError", route: "/api/v1/sdk/identify")
    let error = try booth.rig.error(of: booth.client.logIn("ada"))
    #expect(error["code"]?.string == "already_identified")
    #expect(booth.client.appUserID == nil)
    booth.rig.network.set(.offline)
    let result = try booth.logIn("bob", ["team": "red"])
    #expect(result["deferred"]?.bool == true)
    #expect(booth.client.appUserID == "bob")
    #expect(booth.client.pending?["writes"]?.elements.first?["kind"]?.string == "identify")
    booth.rig.close()
    booth.rig.network.set(.fine)
    let again = try Booth(storage: directory.path, after: booth)
    #expect(again.client.appUserID == "bob")
    again.waitUntil { again.client.pending?["writes"]?.elements.isEmpty == true }
    #expect(again.client.pending?["writes"]?.elements.isEmpty == true)
    let people = try again.rig.network.serviceState()["voidhash"]?.text() ?? ""
    #expect(people.contains("red"))
  }

  @Test("S085 Logging in as the same user again asks nothing")
  func sameUser() throws {
    let booth = try Booth()
    _ = try booth.logIn("ada")
    let before = booth.rig.network.requests.filter { $0.url.hasSuffix("/identify") }.count
    #expect(try booth.logIn("ada")["deferred"]?.bool == false)
    #expect(booth.rig.network.requests.filter { $0.url.hasSuffix("/identify") }.count == before)
  }

  @Test("S086 A receipt is its buyer's, whoever logs in while it waits")
  func ownerAtCapture() throws {
    let booth = try Booth()
    _ = try booth.logIn("ada")
    let transaction = try booth.sold("1")
    booth.rig.network.set(.offline)
    #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    booth.client.logOut()
    #expect(try booth.logIn("bob")["deferred"]?.bool == true)
    booth.rig.network.set(.fine)
    booth.waitLonger { booth.pendingCount == 0 }
    #expect(try booth.accepted()["1"]?.owner == "ada")
    #expect(!booth.rig.hasPerk("premium"))
  }

  @Test("S079 An answer about somebody who does not ask any more shows nothing of them")
  func lateAnswer() throws {
    let booth = try Booth()
    try booth.buy("pro_lifetime", booth.sold("1", Booth.lifetime, kind: .nonConsumable))
    booth.waitUntil { booth.rig.hasPerk("premium") }
    booth.rig.network.hold { request in
      request.url.hasSuffix("/person")
        && request.headers.contains { $0.name == "x-distinct-id" && $0.value.hasPrefix("vh:anon:") }
    }
    let refresh = booth.client.configure(booth.rig.configuration)
    _ = try booth.logIn("bob")
    booth.client.logOut()
    booth.rig.network.hold(nil)
    _ = try? booth.rig.completion(of: refresh)
    booth.rig.advance(milliseconds: 5_000)
    #expect(!booth.rig.hasPerk("premium"))
    #expect(booth.client.person.isNull)
  }

  @Test("Attributes: on disk first, sent when they can be, refused ones said and forgotten")
  func attributes() throws {
    let booth = try Booth()
    _ = try booth.logIn("ada")
    let result = try booth.rig.result(of: booth.client.setAttributes(["name": "Ada", "level": 3], ["source": "ad"]))
    #expect(result["deferred"]?.bool == false)
    #expect(booth.client.person["name"]?.string == "Ada")
    booth.rig.network.set(.offline)
    #expect(try booth.rig.result(of: booth.client.setAttributes(["level": 4], [:]))["deferred"]?.bool == true)
    #expect(booth.client.pending?["writes"]?.elements.count == 1)
    booth.rig.network.set(.fine)
    booth.waitUntil { booth.client.pending?["writes"]?.elements.isEmpty == true }
    #expect(booth.client.pending?["writes"]?.elements.isEmpty == true)
    let error = try booth.rig.error(of: booth.client.setAttributes(["a": ["b": 1]], [:]))
    #expect(error["code"]?.string == "invalid_argument")
    #expect(error["message"]?.string?.contains("set.a") == true)
  }

  @Test("Logins and attributes go before receipts")
  func order() throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    booth.rig.network.set(.offline)
    _ = try booth.logIn("ada")
    #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    booth.rig.network.forget()
    booth.rig.network.set(.fine)
    booth.waitUntil { booth.pendingCount == 0 }
    let paths = booth.rig.network.requests.filter { $0.method == "POST" }.compactMap {
      $0.url.split(separator: "/").last
    }
    let identify = try #require(paths.lastIndex(of: "identify")),
      sync = try #require(paths.lastIndex(of: "sync-transaction"))
    #expect(identify < sync)
  }

  @Test("The saved person is told of first; a stale one is asked for again by whoever reads it")
  func ages() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path)
    _ = try before.logIn("ada")
    before.rig.close()
    let booth = try Booth(storage: directory.path, after: before, offline: true)
    #expect(booth.client.person["distinct_id"]?.string == "ada")
    #expect(booth.rig.events().contains { $0["what"]?.string == "person" })
    #expect(booth.client.person["stale"]?.bool == false)
    booth.rig.advance(milliseconds: 300_001)
    #expect(booth.client.person["stale"]?.bool == true)
    booth.rig.network.set(.fine)
    booth.rig.advance(milliseconds: 61_000)
    _ = booth.client.person
    booth.waitUntil { booth.client.person["stale"]?.bool == false }
    #expect(booth.client.person["from"]?.string == "network")
    booth.rig.network.set(.offline)
    booth.rig.advance(days: 2.1)
    #expect(booth.client.person["expired"]?.bool == true)
  }

  @Test("Who has a cached person waits half a second for news, no longer")
  func budget() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path)
    _ = try before.logIn("ada")
    before.rig.close()
    before.rig.network.hold { $0.url.hasSuffix("/person") }
    let started = before.rig.time.bootNanoseconds
    let booth = try Booth(storage: directory.path, after: before)
    #expect(booth.client.isInitialized)
    let waited = (booth.rig.time.bootNanoseconds - started) / 1_000_000
    #expect((500...1_500).contains(waited))
    booth.rig.network.hold(nil)
  }
}
