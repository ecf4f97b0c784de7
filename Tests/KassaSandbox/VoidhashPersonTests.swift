import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Voidhash: persons")
struct VoidhashPersonTests {
  private let anonymous = VoidhashShop.anonymous

  @Test func nobodyKnowsAStranger() throws {
    let answer = try VoidhashShop().person()
    #expect(answer.status == 404)
    #expect(answer.json == ["_tag": "Api/SdkPersonNotFoundError", "message": "Person not found"])
  }

  @Test func anAnonymousPersonBecomesTheUser() throws {
    let shop = try VoidhashShop()
    try shop.register(sale())
    try shop.sync("2000", as: anonymous)
    let answer = try shop.identify(anonymous, as: "user-1", ("email", "a@example.com"), ("name", "Ada"))
    #expect(answer.status == 200)
    #expect(answer["distinctId"] == "user-1")
    #expect(answer["email"] == "a@example.com")
    #expect(answer["name"] == "Ada")
    #expect(try shop.perks("user-1") == ["premium"])
    #expect(try shop.person(anonymous)["personId"] == answer["personId"])
    #expect(try shop.identify(anonymous, as: "user-1").json == answer.json, "again changes nothing")
  }

  @Test("S081 what another device bought as a guest is the account's from the log-in on")
  func secondDevice() throws {
    let shop = try VoidhashShop()
    try shop.identify(anonymous, as: "user-1")
    let person = try shop.person("user-1")["personId"]
    let second = "vh:anon:second"
    try shop.register(sale("3000", of: "3000", "com.example.app.pro.lifetime", .nonConsumable))
    try shop.sync("3000", as: second)
    #expect(try shop.identify(second, as: "user-1")["personId"] == person)
    #expect(try shop.perks("user-1") == ["premium"])
    #expect(try shop.perks(second) == ["premium"])
  }

  @Test func anAnonymousIdThatIsSomebodyElsesIsRefused() throws {
    let shop = try VoidhashShop()
    try shop.identify(anonymous, as: "user-1")
    let answer = try shop.identify(anonymous, as: "user-2")
    #expect(answer.status == 409)
    #expect(answer.json == ["_tag": "Api/SdkPersonAlreadyIdentifiedError", "distinctId": "user-2"])
    #expect(try shop.person("user-2").status == 404)
  }

  @Test func withoutAnAnonymousIdThereIsNoMerge() throws {
    let shop = try VoidhashShop()
    #expect(try shop.identify("user-1", as: "user-2").status == 404)
    try shop.identify(anonymous, as: "user-2")
    let other = try shop.identify("user-1", as: "user-2", ("email", "a@example.com"))
    #expect(other["distinctId"] == "user-2")
    #expect(other["email"] == JSON.null, "another user's attributes are not theirs to write")
    #expect(try shop.identify("user-2", as: "user-2", ("email", "a@example.com"))["email"] == "a@example.com")
    #expect(try shop.person("user-1").status == 404)
  }

  @Test(arguments: ["vh:anon:else", "", "  "])
  func whoCannotBeIdentified(id: String) throws {
    let answer = try VoidhashShop().identify(anonymous, as: id)
    #expect(answer.status == 400)
    #expect(answer["_tag"] == "Api/SdkValidationError")
  }

  @Test("S087 ids are the same only byte for byte", arguments: ["a/b", "..", "%2F", "naïve", "😀", "user 1", "עברית"])
  func ids(id: String) throws {
    let shop = try VoidhashShop()
    #expect(try shop.identify(anonymous, as: id)["distinctId"] == JSON(id))
    #expect(try shop.person(id).status == 200)
    for other in [id + "x", id.uppercased() + "%", "nai\u{308}ve"] where !other.utf8.elementsEqual(id.utf8) {
      #expect(try shop.person(other).status == 404, "\(other)")
    }
  }

  // MARK: Attributes

  private func traits(_ shop: VoidhashShop) throws -> (set: JSON, once: JSON) {
    let person = try shop.state().at("persons").elements.first ?? .null
    return (person.at("traits"), person.at("traits_once"))
  }

  @Test func theNewestSetCountsAndTheEarliestSetOnce() throws {
    let shop = try VoidhashShop()
    func write(_ body: JSON) throws {
      #expect(try shop.sdk("POST", "person/traits", body, as: anonymous).status == 200)
    }
    try write(["traits": ["plan": "free", "seats": 1], "setOnce": ["source": "ad"]])
    try write(["traits": ["plan": "pro"], "setOnce": ["source": "friend", "first": true], "email": "a@example.com"])
    #expect(try traits(shop).set == ["plan": "pro", "seats": 1])
    #expect(try traits(shop).once == ["source": "ad", "first": true])
    #expect(try shop.person(anonymous)["email"] == "a@example.com")
  }

  @Test func aWriteThatComesAgainDoesNothing() throws {
    let shop = try VoidhashShop()
    func write(_ plan: String, _ event: String) throws {
      _ = try shop.sdk(
        "POST", "person/traits", ["traits": ["plan": JSON(plan)], "clientEventId": JSON(event)], as: anonymous)
    }
    try write("free", "event-1")
    try write("pro", "event-2")
    try write("free", "event-1")
    #expect(try traits(shop).set == ["plan": "pro"])
  }

  @Test func whoIsUnknownHasNoAttributes() throws {
    let shop = try VoidhashShop()
    #expect(try shop.sdk("POST", "person/traits", ["traits": ["a": 1]]).status == 404)
    #expect(try shop.sdk("POST", "person/traits", [:], as: anonymous)["_tag"] == "Api/SdkValidationError")
    let wrong = try shop.sdk("POST", "person/traits", ["traits": ["a": ["b": 1]]], as: anonymous)
    #expect(wrong["message"] == "traits.a must be a string, a number, a boolean or null (got an object)")
    #expect(try shop.state().at("persons") == [])
  }

  @Test func theCatalogueKnowsPersonsFromTheStart() throws {
    let shop = try VoidhashShop(
      switches: [:],
      ("persons", [["distinct_ids": ["user-7", "vh:anon:7"], "email": "b@example.com", "perks": ["premium"]]]))
    #expect(try shop.perks("vh:anon:7") == ["premium"])
    #expect(try shop.person("user-7").json.at("entitlements", "grants").elements.first?["source"] == "manual")
    #expect(try shop.perks("user-7", "development") == [])
    let person = try shop.person("user-7")["personId"]
    try shop.identify("vh:anon:new", as: "user-7")
    #expect(try shop.person("vh:anon:new")["personId"] == person)
  }
}

@Suite("Voidhash: paid access sharing")
struct VoidhashSharingTests {
  /// Two users of one store account: one bought, then the other restores. Who has access?
  private func restored(_ sharing: String, _ shop: VoidhashShop? = nil) throws -> [Bool] {
    let shop = try shop ?? VoidhashShop(switches: ["paid_access_sharing": JSON(sharing)])
    try shop.register(sale())
    try shop.sync("2000", as: "user-a")
    try shop.sync("2000", as: "user-b")
    return try ["user-a", "user-b"].map { try shop.perks($0) == ["premium"] }
  }

  @Test(
    "S082, S083: who keeps access after another user's restore",
    arguments: [
      ("transfer_to_new_owner", [false, true]), ("keep_with_previous_owner", [true, false]),
      ("transfer_if_no_active_on_target", [false, true]), ("both_keep", [true, true]),
    ])
  func restore(sharing: String, expected: [Bool]) throws {
    #expect(try restored(sharing) == expected)
  }

  @Test func somebodyWhoHasAccessTakesNoneFromOthers() throws {
    let shop = try VoidhashShop(switches: ["paid_access_sharing": "transfer_if_no_active_on_target"])
    try shop.register(sale("3000", of: "3000", "com.example.app.pro.lifetime", .nonConsumable))
    try shop.sync("3000", as: "user-b")
    #expect(try restored("", shop) == [true, true])
    let owners = try shop.state().at("series").elements.map { $0.at("owners").elements.count }
    #expect(owners == [1, 1])
  }

  @Test func aRenewalThatSurfacesUnderAnotherUserStaysWithTheOwner() throws {
    for (onlyRestores, expected) in [(true, "user-a"), (false, "user-b")] {
      let shop = try VoidhashShop(switches: ["only_restores_move_access": JSON(onlyRestores)])
      try shop.register(sale())
      try shop.sync("2000", as: "user-a")
      try shop.register(sale("2001", at: Shop.start + VoidhashShop.month))
      #expect(try shop.sync("2001", as: "user-b").json == ["accepted": true])
      #expect(try shop.perks(expected) == ["premium"])
      #expect(try shop.perks(expected == "user-a" ? "user-b" : "user-a") == [])
      #expect(try shop.log() == ["2000 user-a 1", "2001 user-b 1"])
    }
  }

  @Test func consumablesNeverMove() throws {
    let shop = try VoidhashShop()
    try shop.register(sale("6000", of: "6000", "com.example.app.coins.100", .consumable))
    for user in ["user-a", "user-b"] { #expect(try shop.sync("6000", as: user).json == ["accepted": true]) }
    #expect(try shop.person("user-a").json.at("purchases", "history").elements.count == 1)
    #expect(try shop.person("user-b").json.at("purchases", "history").elements.isEmpty)
  }

  @Test func theLogNamesEachOwner() throws {
    let shop = try VoidhashShop()
    try shop.register(sale())
    for user in ["user-a", "user-b", "user-a"] { try shop.sync("2000", as: user) }
    #expect(try shop.log() == ["2000 user-a 2", "2000 user-b 1"])
    #expect(try shop.perks("user-a") == ["premium"])
  }
}
