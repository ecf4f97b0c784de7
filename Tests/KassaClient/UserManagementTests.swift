import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// The rules of WhopCheckout's page "User Management", and each answer of its FAQ.
@Suite struct UserManagementTests {
  @Test("A guest's purchase is tied to the device") func guestPurchase() throws {
    let rig = try Rig()
    #expect(!rig.isSubscribed)
    let purchase = try rig.buy()
    #expect(purchase["outcome"]?.string == "purchased")
    #expect(purchase["receipt_id"]?.string?.hasPrefix("pay_") == true)
    #expect(purchase["membership"]?["is_claimed"]?.bool == false)
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.isSubscribed)
    #expect(rig.client.appUserID == nil)
  }

  @Test("Logging in claims what the device bought") func claim() throws {
    let rig = try Rig()
    let bought = try rig.buy()["membership"]?["id"]?.string
    let login = try rig.result(of: rig.client.logIn("ada"))
    #expect(login["claimed"]?.elements.compactMap(\.string) == [try #require(bought)])
    #expect(login["deferred"]?.bool == false)
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.client.memberships.elements.first?["is_claimed"]?.bool == true)
  }

  @Test("S085 claiming is immediate and idempotent") func claimOnce() throws {
    let rig = try Rig()
    try rig.buy()
    #expect(try rig.result(of: rig.client.logIn("ada"))["claimed"]?.elements.count == 1)
    #expect(try rig.result(of: rig.client.logIn("ada"))["claimed"]?.elements.isEmpty == true)
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("After logging out the user's memberships are hidden, and come back at login") func logOut() throws {
    let rig = try Rig()
    try rig.buy()
    try rig.result(of: rig.client.logIn("ada"))
    rig.client.logOut()
    #expect(rig.client.appUserID == nil)
    #expect(!rig.hasAccess(Rig.pro))
    #expect(rig.client.memberships.elements.isEmpty)
    try rig.result(of: rig.client.logIn("ada"))
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("After logging out, what nobody has claimed still counts") func guestPurchasePersists() throws {
    let rig = try Rig()
    try rig.result(of: rig.client.logIn("ada"))
    rig.client.logOut()
    try rig.buy()
    #expect(rig.hasAccess(Rig.pro))
    // Another user's visit changes nothing for the guest, unless that user logs in on this device.
    rig.client.logOut()
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("A purchase made while logged in is the user's at once") func purchaseWhileLoggedIn() throws {
    let rig = try Rig()
    try rig.result(of: rig.client.logIn("ada"))
    #expect(try rig.buy()["membership"]?["is_claimed"]?.bool == true)
    rig.client.logOut()
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("The same user on a new device has the memberships after login") func newDevice() throws {
    let first = try Rig()
    try first.buy()
    try first.result(of: first.client.logIn("ada"))
    let second = try Rig(time: first.time, network: first.network, seed: 2)
    #expect(!second.hasAccess(Rig.pro))
    #expect(second.client.deviceID != first.client.deviceID)
    try second.result(of: second.client.logIn("ada"))
    #expect(second.hasAccess(Rig.pro))
  }

  @Test("FAQ: bought on two devices before logging in; a login on either claims both") func twoDevices() throws {
    let first = try Rig()
    let second = try Rig(time: first.time, network: first.network, seed: 2)
    try first.buy()
    try second.buy(Rig.lifetime)
    #expect(try first.result(of: first.client.logIn("ada"))["claimed"]?.elements.count == 2)
    #expect(first.client.memberships.elements.count == 2)
    try second.result(of: second.client.logIn("ada"))
    #expect(second.client.memberships.elements.count == 2)
  }

  @Test("FAQ: the same product on different plans; when one ends, the other continues") func differentPlans() throws {
    let rig = try Rig()
    let monthly = try #require(try rig.buy()["membership"]?["id"]?.string)
    try rig.buy(Rig.lifetime)
    #expect(rig.client.memberships.elements.count == 2)
    try rig.simulate(["action": "cancel_membership", "membership_id": JSON(monthly)])
    try rig.refresh()
    #expect(rig.client.memberships.elements.count == 1)
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("S125 FAQ: the same plan twice stays twice; access ends when the last one does") func duplicates() throws {
    let rig = try Rig()
    let first = try #require(try rig.buy()["membership"]?["id"]?.string)
    let second = try #require(try rig.buy()["membership"]?["id"]?.string)
    #expect(first != second)
    try rig.simulate(["action": "cancel_membership", "membership_id": JSON(first)])
    try rig.refresh()
    #expect(rig.hasAccess(Rig.pro))
    try rig.simulate(["action": "cancel_membership", "membership_id": JSON(second)])
    try rig.refresh()
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("FAQ: a changed user id starts fresh, and the old one keeps what it had") func changedUser() throws {
    let rig = try Rig()
    try rig.buy()
    try rig.result(of: rig.client.logIn("old"))
    rig.client.logOut()
    try rig.result(of: rig.client.logIn("new"))
    #expect(!rig.hasAccess(Rig.pro))
    rig.client.logOut()
    try rig.result(of: rig.client.logIn("old"))
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("S082 FAQ: accounts on one device are independent") func accounts() throws {
    let rig = try Rig()
    try rig.result(of: rig.client.logIn("ada"))
    try rig.buy()
    rig.client.logOut()
    try rig.result(of: rig.client.logIn("bob"))
    #expect(!rig.hasAccess(Rig.pro))
    #expect(try rig.result(of: rig.client.restorePurchases())["restored"]?.bool == false)
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("S081 a guest's purchase on a second device, then login: the account has it") func guestThenLogin() throws {
    let first = try Rig()
    try first.result(of: first.client.logIn("ada"))
    let second = try Rig(time: first.time, network: first.network, seed: 2)
    try second.buy()
    try second.result(of: second.client.restorePurchases())
    try second.result(of: second.client.logIn("ada"))
    try first.refresh()
    #expect(first.hasAccess(Rig.pro))
  }

  @Test("Offline the switch is immediate, guest purchases keep counting, and the claim follows") func offline() throws {
    let rig = try Rig()
    try rig.buy()
    rig.network.set(.offline)
    let login = try rig.result(of: rig.client.logIn("ada"))
    #expect(login["deferred"]?.bool == true)
    #expect(rig.client.appUserID == "ada")
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.client.memberships.elements.first?["is_claimed"]?.bool == true)
    rig.client.logOut()
    #expect(!rig.hasAccess(Rig.pro))
    rig.network.set(.fine)
    // The library's own retry tells the service.
    rig.letTimePass(inStepsOf: 5_000) { rig.network.hasAnswered("PATCH") }
    let other = try Rig(time: rig.time, network: rig.network, seed: 2)
    try other.result(of: other.client.logIn("ada"))
    #expect(other.hasAccess(Rig.pro))
  }

  @Test("S079 an answer for the guest that comes after the login does not count for the user") func lateAnswer() throws
  {
    let rig = try Rig()
    try rig.buy()
    try rig.result(of: rig.client.logIn("ada"))
    rig.client.logOut()
    let held = Locked(true)
    rig.network.hold { request in held.with { $0 } && request.url.contains("kassa_device_id") }
    let slow = rig.client.restorePurchases()
    rig.settle()
    let login = rig.client.logIn("ada")
    held.with { $0 = false }
    try rig.result(of: login)
    try rig.result(of: slow)
    #expect(rig.client.appUserID == "ada")
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("S086 a purchase belongs to who started it") func ownerOfPurchase() throws {
    var wishes = Rig.Wishes()
    wishes.presenter = ["presenter": "host"]
    let rig = try Rig(wishes)
    try rig.result(of: rig.client.logIn("ada"))
    let purchase = rig.client.purchase(Rig.monthly, [:])
    let request = try rig.request("checkout", "present")
    rig.client.logOut()
    try rig.result(of: rig.client.logIn("bob"))
    try rig.pay(request)
    try rig.result(of: purchase)
    #expect(!rig.hasAccess(Rig.pro))
    rig.client.logOut()
    try rig.result(of: rig.client.logIn("ada"))
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test(
    "S087 user ids of every kind",
    arguments: [
      " ", "a/b", "..", "%2F", "a?b#c&d=e", "\u{1F600}", "\u{5D0}\u{5D1}", "e\u{301}", "\u{E9}", "user_x",
      String(repeating: "x", count: 500),
    ])
  func userIDs(id: String) throws {
    let rig = try Rig()
    try rig.buy()
    #expect(try rig.result(of: rig.client.logIn(id))["claimed"]?.elements.count == 1)
    #expect(rig.client.appUserID.map { Array($0.utf8) } == Array(id.utf8))
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test(
    "S087 user ids that cannot be",
    arguments: ["", String(repeating: "x", count: 501), String(repeating: "x", count: 10_240)])
  func refusedUserIDs(id: String) throws {
    let rig = try Rig()
    let error = try rig.error(of: rig.client.logIn(id))
    #expect(error["code"]?.string == "invalid_argument")
    #expect(rig.client.appUserID == nil)
  }

  @Test("Ids that look alike are different users") func normalisation() throws {
    let rig = try Rig()
    try rig.buy()
    try rig.result(of: rig.client.logIn("e\u{301}"))
    rig.client.logOut()
    try rig.result(of: rig.client.logIn("\u{E9}"))
    #expect(!rig.hasAccess(Rig.pro))
  }
}

/// Who owns what, when several log in on one device and the service hears of it late.
@Suite struct OwnershipOverTimeTests {
  @Test("What a deferred login owns is not claimed by the next one") func deferredThenAnother() throws {
    let rig = try Rig()
    try rig.buy()
    rig.network.set(.offline)
    #expect(try rig.result(of: rig.client.logIn("ada"))["deferred"]?.bool == true)
    rig.client.logOut()
    rig.network.set(.fine)
    let bob = try rig.result(of: rig.client.logIn("bob"))
    #expect(bob["claimed"]?.elements.isEmpty == true)
    #expect(!rig.hasAccess(Rig.pro))
    rig.client.logOut()
    try rig.result(of: rig.client.logIn("ada"))
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("A guest's payment that settles after a login is the user's") func settledAfterLogin() throws {
    var wishes = Rig.Wishes()
    wishes.presenter = ["presenter": "host"]
    let rig = try Rig(wishes)
    let purchase = rig.client.purchase(Rig.monthly, [:])
    let request = try rig.request("checkout", "present")
    try rig.simulate(["action": "complete_checkout", "url": request["params"]?["url"] ?? .null, "outcome": "pending"])
    #expect(try rig.respond(request, ["outcome": "returned"]))
    #expect(try rig.result(of: purchase)["outcome"]?.string == "pending")
    try rig.result(of: rig.client.logIn("ada"))
    try rig.simulate(["action": "settle_payment"])
    rig.letTimePass(inStepsOf: 10_000) { rig.hasAccess(Rig.pro) }
    #expect(rig.hasAccess(Rig.pro))
    // The service hears of it too.
    rig.letTimePass(inStepsOf: 5_000) { rig.network.hasAnswered("PATCH") }
    let other = try Rig(wishes, time: rig.time, network: rig.network, seed: 2)
    try other.result(of: other.client.logIn("ada"))
    #expect(other.hasAccess(Rig.pro))
  }

  @Test("A logout is not undone by another client's write", arguments: ["library", "host"])
  func logoutBesideAWriter(thread: String) throws {
    let directory = TemporaryDirectory()
    let first = try Rig(storage: directory.path, thread: thread)
    let second = try Rig(storage: directory.path, time: first.time, network: first.network, thread: thread)
    for number in 0..<20 {
      try first.result(of: first.client.logIn("user\(number)"))
      try second.buy(Rig.lifetime)
      first.client.logOut()
      #expect(first.client.appUserID == nil)
      try first.refresh()
      #expect(first.client.appUserID == nil)
    }
  }

  @Test("A claim that the service refuses holds up neither restore nor the first answer") func refusedClaim() throws {
    let rig = try Rig()
    try rig.buy()
    try rig.simulate(["action": "fault", "kind": "status", "status": 403, "method": "PATCH", "times": 2])
    #expect(try rig.error(of: rig.client.logIn("ada"))["code"]?.string == "permission_denied")
    #expect(rig.hasAccess(Rig.pro))
    #expect(try rig.error(of: rig.client.restorePurchases())["code"]?.string == "permission_denied")
    #expect(try rig.result(of: rig.client.restorePurchases())["restored"]?.bool == true)
  }

  @Test("A cancelled operation does not wait for the host's token") func cancelledWhileWaitingForToken() throws {
    var wishes = Rig.Wishes()
    wishes.credential = ("access_token", "host")
    let rig = try Rig(wishes, configure: false)
    let configure = rig.client.configure(rig.configuration)
    _ = try rig.request("auth", "access_token")
    #expect(rig.client.cancel(configure))
    #expect(try rig.error(of: configure)["code"]?.string == "cancelled")
  }
}
