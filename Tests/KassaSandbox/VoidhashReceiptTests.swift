import Glibc
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Voidhash: receipts")
struct VoidhashReceiptTests {
  @Test func aReceiptGrantsThePerksOfItsProduct() throws {
    let shop = try VoidhashShop()
    try shop.register(sale())
    #expect(try shop.sync("2000").json == ["accepted": true])
    let person = try shop.person().json
    let personID = person.at("personId")
    #expect(
      person.at("entitlements", "grants") == [
        [
          "perkId": "premium", "status": "active", "source": "subscription", "sourceId": "sub_apple_2000",
          "sourcePersonId": personID, "expiresAt": "2026-11-19T10:00:00.000Z",
        ]
      ])
    #expect(
      person.at("subscriptions", "current") == [
        "status": "active", "productId": "prod_vh_monthly", "subscriptionId": "sub_apple_2000",
        "expiresAt": "2026-11-19T10:00:00.000Z",
      ])
    #expect(
      person.at("purchases", "history") == [
        [
          "purchaseId": "purchase_apple_2000", "productId": "prod_vh_monthly", "providerKey": "apple-app-store",
          "type": "subscription", "createdAt": "2026-10-20T10:00:00.000Z", "sourcePersonId": personID,
        ]
      ])
    #expect(person.at("snapshotContext", "includedPersonIds") == [personID])
  }

  @Test func whatNoStoreRegisteredIsRefusedAsTheSwitchSays() throws {
    let usual = try VoidhashShop().sync("9")
    #expect(usual.status == 500)
    #expect(usual["_tag"] == "Api/SdkServiceError")
    #expect(usual["cause"].string?.contains("transactionId") == true)
    let refused = try VoidhashShop(switches: ["unknown_receipts": "refused"]).sync("9")
    #expect(refused.status == 422)
    #expect(refused["_tag"] == "Api/SdkTransactionNotFoundError")
    let declined = try VoidhashShop(switches: ["unknown_receipts": "not_accepted"]).sync("9")
    #expect(declined.status == 200)
    #expect(declined.json == ["accepted": false])
  }

  @Test func aRefusedReceiptLeavesNothingAndIsTakenOnceTheStoreTold() throws {
    let shop = try VoidhashShop()
    try shop.sync("2000")
    #expect(try shop.person().status == 404)
    #expect(try shop.log() == [])
    try shop.register(sale())
    #expect(try shop.sync("2000").status == 200)
    #expect(try shop.log() == ["2000 user-123 1"])
  }

  @Test(
    "S115: of a transaction from a developer's machine no store's servers know",
    arguments: [
      StoreTransaction.Environment.xcode, .localTesting,
    ])
  func madeOnThisMachine(environment: StoreTransaction.Environment) throws {
    let shop = try VoidhashShop()
    try shop.register(sale { $0.environment = environment })
    #expect(try shop.sync("2000").status == 500)
    #expect(try shop.log() == [])
  }

  @Test func aStoreThatIsNotConnectedRefusesForGood() throws {
    let shop = try VoidhashShop()
    try shop.register(sale())
    let answer = try shop.sync("2000", with: ["x-client-bundle-id": "com.example.other"])
    #expect(answer.status == 422)
    #expect(answer["_tag"] == "Api/SdkStoreNotConnectedError")
    #expect(answer["message"].string?.contains("com.example.other") == true)
    let older = try VoidhashShop(switches: ["unconnected_store": "service_error"])
    #expect(try older.sync("2000", with: ["x-client-bundle-id": "com.example.other"])["_tag"] == "Api/SdkServiceError")
    let appleOnly = try VoidhashShop(switches: [:], ("bundle_ids", ["com.example.app": ["app_store"]]))
    let google = try appleOnly.sdk("POST", "sync-transaction", ["platform": "android", "purchaseToken": "token-1"])
    #expect(google["message"] == "The Google Play is not connected for the bundle id com.example.app.")
  }

  @Test func repeatsChangeOnlyTheCount() throws {
    let shop = try VoidhashShop()
    try shop.register(sale())
    try shop.sync("2000")
    let first = try shop.person().json
    for _ in 0..<3 { #expect(try shop.sync("2000").json == ["accepted": true]) }
    #expect(try shop.person().json == first)
    #expect(try shop.log() == ["2000 user-123 4"])
  }

  @Test func aProductWithoutMappingIsParked() throws {
    let shop = try VoidhashShop()
    try shop.register(sale("7", of: "7", "com.example.unmapped", .nonConsumable))
    #expect(try shop.sync("7").json == ["accepted": true])
    #expect(try shop.perks() == [])
    #expect(try shop.person().json.at("purchases", "history") == [])
    #expect(try shop.state().at("receipts").elements.first?["outcome"] == "parked_pending_product_mapping")
  }

  @Test func aParkedReceiptAppliesOnceThereIsAMapping() throws {
    let path = "/tmp/kassa-voidhash-parked-\(getpid()).db"
    defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
    let sold = sale("7", of: "7", "com.example.new", .nonConsumable)
    do {
      let shop = try VoidhashShop(path: path)
      try shop.register(sold)
      try shop.sync("7")
    }
    let mapped: JSON = [
      "new": [
        "id": "prod_new", "type": "one-time", "name": "New", "perks": ["premium"],
        "providers": ["appleAppStore": ["productId": "com.example.new"]],
      ]
    ]
    let shop = try VoidhashShop(switches: [:], ("products", mapped), path: path)
    #expect(try shop.perks() == ["premium"])
    #expect(try shop.state().at("receipts").elements.first?["outcome"] == "applied")
  }

  @Test func idsKeepEveryDigit() throws {
    let shop = try VoidhashShop()
    let id = "18446744073709551615"
    try shop.register(sale(id, of: id, "com.example.app.coins.100", .consumable))
    #expect(try shop.sync(id).status == 200)
    #expect(try shop.sync("18446744073709551616").status == 500)
    #expect(try shop.log() == ["\(id) user-123 1"])
  }

  @Test func googlesTokenNamesTheLatestOfItsTransactions() throws {
    let shop = try VoidhashShop()
    func google(_ id: String, at moment: Int64) -> StoreTransaction {
      sale(id, of: "GPA.1", "pro", at: moment) {
        $0.platform = .google
        $0.proof = "token-1"
      }
    }
    let body: JSON = ["platform": "android", "purchaseToken": "token-1"]
    #expect(try shop.sdk("POST", "sync-transaction", body).status == 500)
    try shop.register(google("GPA.1", at: Shop.start))
    try shop.register(google("GPA.1..0", at: Shop.start + VoidhashShop.month))
    #expect(try shop.sdk("POST", "sync-transaction", body).json == ["accepted": true])
    #expect(try shop.perks() == ["premium"])
    #expect(try shop.person().json.at("purchases", "history").elements.first?["providerKey"] == "google-play")
    #expect(try shop.log() == ["GPA.1..0 user-123 1"])
    #expect(try !shop.act(["action": "state"]).text().contains("token-1"))
  }

  @Test(arguments: [
    (#"{}"#, "HttpApiDecodeError", "platform is missing"),
    (#"{"platform":"steam","transactionId":"1"}"#, "HttpApiDecodeError", "platform must be one of ios, android"),
    (#"{"platform":"ios","transactionId":2000}"#, "HttpApiDecodeError", "transactionId must be a string"),
    (#"{"platform":"ios"}"#, "Api/SdkValidationError", "transactionId is missing or blank"),
    (#"{"platform":"ios","transactionId":" \t"}"#, "Api/SdkValidationError", "transactionId is missing or blank"),
    (#"{"platform":"android","transactionId":"1"}"#, "Api/SdkValidationError", "purchaseToken is missing or blank"),
    (#"[]"#, "HttpApiDecodeError", "must be an object"), (#"{"#, "HttpApiDecodeError", "not valid JSON"),
  ])
  func wrongBodies(body: String, tag: String, message: String) throws {
    let shop = try VoidhashShop().shop
    let headers = VoidhashShop.headers.map { HTTPHeader($0.0, $0.1) }
    let answer = try shop.response(
      shop.sandbox.answer(
        HTTPRequest("POST", "embedded:/api/v1/sdk/sync-transaction", headers: headers, body: Array(body.utf8))))
    #expect(answer.status == 400)
    #expect(answer["_tag"] == JSON(tag))
    #expect(answer["message"].string?.contains(message) == true, "\(answer.text)")
  }

  @Test func theLogOutlivesTheProcess() throws {
    let path = "/tmp/kassa-voidhash-\(getpid()).db"
    defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
    let before = try VoidhashShop(path: path)
    try before.register(sale())
    try before.sync("2000")
    _ = try before.sdk("POST", "person/traits", ["traits": ["plan": "pro"], "clientEventId": "event-1"])
    let person = try before.person().json, state = try before.state()
    let after = try VoidhashShop(path: path)
    #expect(try after.state() == state)
    #expect(try after.person().json == person)
    try after.sync("2000")
    #expect(try before.log() == ["2000 user-123 2"])
  }
}

@Suite("Voidhash: what the store says later")
struct VoidhashRenewalTests {
  private func opened() throws -> VoidhashShop {
    let shop = try VoidhashShop()
    try shop.register(sale())
    try shop.sync("2000")
    return shop
  }

  private func grant(_ shop: VoidhashShop) throws -> JSON {
    try shop.person().json.at("entitlements", "grants").elements.first ?? .null
  }

  @Test func aPeriodEndsByTheSandboxesClock() throws {
    let shop = try opened()
    _ = try shop.act(["action": "advance", "ms": JSON(VoidhashShop.month - 1)])
    #expect(try shop.perks() == ["premium"])
    _ = try shop.act(["action": "advance", "ms": 1])
    #expect(try grant(shop)["status"] == "expired")
    let person = try shop.person().json
    #expect(person.at("subscriptions", "current") == JSON.null)
    #expect(person.at("subscriptions", "history").elements.first?["status"] == "expired")
  }

  @Test func aRenewalMovesTheEndBeforeItsReceipt() throws {
    let shop = try opened()
    try shop.register(sale("2001", at: Shop.start + VoidhashShop.month))
    try shop.advance(days: 31)
    #expect(try shop.perks() == ["premium"])
    #expect(try grant(shop)["expiresAt"] == "2026-12-19T10:00:00.000Z")
    #expect(try shop.person().json.at("purchases", "history").elements.count == 2)
    #expect(try shop.person().json.at("subscriptions", "history").elements.count == 1)
    #expect(try shop.log() == ["2000 user-123 1"])
  }

  @Test func inGraceItStaysActivePastItsEnd() throws {
    let shop = try opened()
    try shop.register(sale { $0.graceEndsAt = Shop.start + VoidhashShop.month + 16 * 86_400_000 })
    try shop.advance(days: 45)
    #expect(try grant(shop)["status"] == "active")
    #expect(try grant(shop)["expiresAt"] == "2026-11-19T10:00:00.000Z")
    #expect(try shop.person().json.at("subscriptions", "current", "status") == "active")
    try shop.advance(days: 1)
    #expect(try grant(shop)["status"] == "expired")
  }

  @Test func aRefundEndsItAndWhatItGave() throws {
    let shop = try opened()
    try shop.register(
      sale {
        $0.revocation = StoreTransaction.Revocation(at: Shop.start + 5)
        $0.signedAt = Shop.start + 5
      })
    #expect(try shop.perks() == [])
    let history = try shop.person().json.at("subscriptions", "history").elements.first
    #expect(history?["status"] == "canceled")
    #expect(history?["canceledAt"] == "2026-10-20T10:00:00.005Z")
    #expect(try shop.sync("2000").json == ["accepted": true])
    #expect(try shop.perks() == [])
  }

  @Test func aRefundedRenewalLeavesThePeriodBeforeIt() throws {
    let shop = try opened()
    let renewed = Shop.start + VoidhashShop.month - 3_600_000
    try shop.register(
      sale("2001", at: renewed) { $0.revocation = StoreTransaction.Revocation(at: renewed + 1) })
    _ = try shop.act(["action": "advance", "ms": JSON(VoidhashShop.month - 1)])
    #expect(try shop.perks() == ["premium"])
    _ = try shop.act(["action": "advance", "ms": 1])
    #expect(try shop.perks() == [])
  }

  @Test func anUpgradeBringsItsProduct() throws {
    let shop = try opened()
    try shop.register(
      sale {
        $0.isUpgraded = true
        $0.signedAt = Shop.start + 1
      })
    try shop.register(sale("2001", "com.example.app.pro.annual", days: 365))
    #expect(try shop.person().json.at("subscriptions", "current", "productId") == "prod_vh_annual")
    #expect(try grant(shop)["expiresAt"] == "2027-10-20T10:00:00.000Z")
  }

  @Test func aTrialIsTrialing() throws {
    let shop = try VoidhashShop()
    try shop.register(
      sale(days: 7) {
        $0.offer = StoreTransaction.Offer(id: nil, kind: .introductory, paymentMode: .freeTrial)
      })
    try shop.sync("2000")
    #expect(try shop.person().json.at("subscriptions", "current", "status") == "trialing")
    #expect(try shop.person().json.at("subscriptions", "history").elements.first?["isTrial"] == true)
  }

  @Test func whatIsBoughtOnceHasNoEndButARefund() throws {
    let shop = try VoidhashShop()
    try shop.register(sale("3000", of: "3000", "com.example.app.pro.lifetime", .nonConsumable))
    try shop.sync("3000")
    try shop.advance(days: 3_000)
    #expect(try grant(shop)["expiresAt"] == JSON.null)
    #expect(try grant(shop)["source"] == "purchase")
    try shop.register(
      sale("3000", of: "3000", "com.example.app.pro.lifetime", .nonConsumable) {
        $0.revocation = StoreTransaction.Revocation(at: Shop.start)
        $0.signedAt = Shop.start + 1
      })
    #expect(try grant(shop)["status"] == "expired")
  }

  @Test func oneGrantForEachPerkAndTheBestOfThem() throws {
    let shop = try opened()
    try shop.register(
      sale("4000", of: "4000", "com.example.app.pro.annual", days: 365) { $0.environment = .production })
    try shop.register(sale("5000", of: "5000", "com.example.app.pro.monthly", days: 400))
    for id in ["4000", "5000"] { try shop.sync(id) }
    // Production counts more than Sandbox, even where that lasts longer.
    #expect(try grant(shop)["sourceId"] == "sub_apple_4000")
    #expect(try shop.person().json.at("entitlements", "grants").elements.count == 1)
    // An active one counts more than one that ended.
    try shop.advance(days: 380)
    #expect(try grant(shop)["sourceId"] == "sub_apple_5000")
    #expect(try grant(shop)["status"] == "active")
  }
}
