import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

@Suite struct WhopDecodingTests {
  private func plan(_ json: JSON) throws -> Plan { try WhopDecoding.plan(Fields(json)) }
  private func membership(_ json: JSON) throws -> Membership {
    try WhopDecoding.membership(Fields(json), confirmedAt: moment)
  }

  /// The smallest row with other members; null removes one.
  private func row(_ members: (String, JSON)...) -> JSON {
    let base: JSON = ["id": "mem_1", "product_id": "prod_1", "plan_id": "plan_1", "status": "active"]
    return .object(base.merging(members).members.filter { !$0.1.isNull })
  }

  // MARK: Samples

  @Test("The documented plan", .enabled(if: Samples.areHere, Samples.comment)) func samplePlan() throws {
    let plan = try plan(Samples.document("plan.json"))
    #expect(plan.id == "plan_xxxxxxxxxxxxx")
    #expect(plan.productID == "prod_xxxxxxxxxxxxx")
    #expect(plan.title == "Pro Monthly")
    #expect(plan.summary?.hasPrefix("Monthly access") ?? false)
    #expect(plan.type == .renewal)
    #expect(plan.billingPeriodDays == 42)
    #expect(plan.trialPeriodDays == 42)
    #expect(plan.currency == "usd")
    #expect(plan.initialPrice.text == "6.9" && plan.renewalPrice.text == "6.9")
    #expect(plan.isAvailable)
  }

  @Test("A plan of placeholders", .enabled(if: Samples.areHere, Samples.comment)) func placeholders() throws {
    let plan = try plan(Samples.document("plan-placeholders.json"))
    #expect(plan.productID == nil)
    #expect(plan.billingPeriodDays == nil)
    #expect(plan.initialPrice == .zero)
    #expect(plan.isAvailable)
  }

  @Test(
    "The documented membership", .enabled(if: Samples.areHere, Samples.comment),
    arguments: [
      ("membership.json", nil), ("webhook-membership-activated.json", "data"),
    ] as [(String, String?)])
  func sampleMembership(_ file: String, _ key: String?) throws {
    let document = try Samples.document(file)
    let membership = try membership(try #require(key.map { document[$0] } ?? document))
    #expect(membership.id == "mem_xxxxxxxxxxxxxx")
    #expect(membership.productID == "prod_xxxxxxxxxxxxx")
    #expect(membership.planID == "plan_xxxxxxxxxxxxx")
    #expect(membership.status.word == "trialing")
    #expect(membership.createdAt == 1_701_406_800_401)
    #expect(membership.renewalPeriodEnd == 1_701_406_800_401)
    #expect(membership.expiresAt == nil)
    #expect(membership.cancelAtPeriodEnd)
    #expect(membership.manageURL == "https://whop.com/billing/manage/mem_abc123")
    #expect(membership.buyerID == "user_xxxxxxxxxxxxx")
    #expect([membership.deviceID, membership.nonce, membership.receiptID] == [nil, nil, nil])
    #expect(membership.appUserID == nil)
  }

  @Test(
    "Rows that name product and plan are read, however small or old", .enabled(if: Samples.areHere, Samples.comment),
    arguments: [
      ("membership-trialing-small.json", nil, "prod_1", "plan_creator_month", "trialing", 1_787_054_400_000),
      (
        "webhook-membership-activated-second-precision.json", "data", "prod_xxxxxxxxxxxxx", "plan_xxxxxxxxxxxxx",
        "active", 1_816_603_200_000
      ),
      (
        "webhook-legacy-membership-went-valid.json", "data", "pass_m11FQfj0mJV3p", "plan_nJUM2MyD9lX0Q", "completed",
        nil
      ),
    ] as [(String, String?, String, String, String, Int64?)])
  func otherSamples(
    _ file: String, _ key: String?, _ product: String, _ plan: String, _ status: String, _ periodEnd: Int64?
  ) throws {
    let document = try Samples.document(file)
    let membership = try membership(try #require(key.map { document[$0] } ?? document))
    #expect(membership.productID == product)
    #expect(membership.planID == plan)
    #expect(membership.status.word == status)
    #expect(membership.renewalPeriodEnd == periodEnd)
  }

  @Test(
    "S099 rows that do not name product or plan are refused, by name", .enabled(if: Samples.areHere, Samples.comment),
    arguments: [
      ("membership-active-small.json", nil, "plan_id"),
      ("webhook-membership-activated-older.json", "data", "product_id"),
      ("webhook-membership-activated-null-metadata.json", "data", "plan_id"),
      ("webhook-membership-activated-plan-id.json", "data", "product_id"),
      ("webhook-underscore-event.json", "data", "product_id"),
    ] as [(String, String?, String)])
  func incompleteSamples(_ file: String, _ key: String?, _ missing: String) throws {
    let document = try Samples.document(file)
    let json = try #require(key.map { document[$0] } ?? document)
    let error = try #require(throws: JSONShapeError.self) { try membership(json) }
    #expect([missing, "id"].contains(error.path))
    #expect(error.problem == "is missing")
  }

  @Test("Every status and plan type of the official SDK is known", .enabled(if: Samples.areHere, Samples.comment))
  func words() throws {
    let words = try Samples.document("enums-2.6.0.json")
    let statuses = (words["MembershipStatus"]?.elements ?? []).compactMap(\.string)
    #expect(statuses.count == 9)
    for word in statuses { #expect(MembershipStatus(word).word == word) }
    let types = (words["PlanPlanType"]?.elements ?? []).compactMap(\.string)
    #expect(types.count == 2)
    for word in types { #expect(PlanType(rawValue: word) != nil) }
  }

  // MARK: Rows

  @Test(
    "S033 times come in every form",
    arguments: [
      ("1792490400", moment), ("1792490400000", moment), (#""1792490400""#, moment),
      (#""2026-10-20T10:00:00Z""#, moment),
      (#""2026-10-20T10:00:00.000000Z""#, moment), (#""2026-10-20T15:45:00+05:45""#, moment), ("0", 0), ("-1", -1_000),
      ("null", nil),
      (#""4001-01-01T00:00:00Z""#, 64_092_211_200_000),
    ] as [(String, Int64?)])
  func times(_ text: String, _ expected: Int64?) throws {
    let time = try JSON.parse(text)
    #expect(try membership(row(("expires_at", time))).expiresAt == expected)
    #expect(try membership(row(("renewal_period_end", time))).renewalPeriodEnd == expected)
    #expect(
      try membership(row(("current_period_end", time), ("renewal_period_end", time))).renewalPeriodEnd == expected)
    #expect(try membership(row(("created_at", time))).createdAt == expected ?? moment)
  }

  @Test("S033 what is no time is an error, not a missing end", arguments: ["soon", "", "<string>", "2026-10-20"])
  func wrongTimes(_ text: String) throws {
    for key in ["expires_at", "renewal_period_end", "current_period_end", "created_at"] {
      let error = try #require(throws: JSONShapeError.self) { try membership(row((key, JSON(text)))) }
      #expect(error.path == key)
    }
  }

  @Test("A fixed end leaves no renewal; the newer name of the period's end counts") func ends() throws {
    let fixed = try membership(row(("expires_at", 1_792_490_400), ("renewal_period_end", 1_700_000_000)))
    #expect(fixed.expiresAt == moment)
    #expect(fixed.renewalPeriodEnd == nil)
    let renewing = try membership(row(("current_period_end", 1_792_490_400), ("renewal_period_end", 1_700_000_000)))
    #expect(renewing.renewalPeriodEnd == moment)
  }

  @Test(
    "A related object is named in four ways",
    arguments: [
      ["product_id": "prod_1"], ["product": ["id": "prod_1", "title": "x"]], ["product": "prod_1"],
      ["product_id": nil, "product": ["id": "prod_1"]], ["product_id": "prod_1", "product": ["id": "prod_2"]],
    ] as [JSON])
  func related(_ json: JSON) throws {
    #expect(try WhopDecoding.related(Fields(json), "product") == "prod_1")
  }

  @Test(
    "An empty object, a null and a number name nothing",
    arguments: [[:], ["product": [:]], ["product": nil], ["product": 5]] as [JSON])
  func unrelated(_ json: JSON) throws {
    #expect(try WhopDecoding.related(Fields(json), "product") == nil)
  }

  @Test("What cannot be done without is required", arguments: ["id", "product_id", "plan_id", "status"])
  func required(_ key: String) throws {
    let error = try #require(throws: JSONShapeError.self) { try membership(row((key, nil))) }
    #expect(error == JSONShapeError(path: key, problem: "is missing"))
  }

  @Test("S131 words that are new are kept, and nothing else is disturbed") func unknownWords() throws {
    let membership = try membership(row(("status", "hibernating"), ("new", ["x": 1])))
    #expect(membership.status.raw == "hibernating")
    #expect(membership.status.word == "unknown")
    #expect(!membership.status.grants)
    let plan = try plan([
      "id": "plan_1", "plan_type": "lease", "currency": "xyz", "visibility": "shy", "release_method": "raffle",
      "billing_period": 30,
    ])
    #expect(plan.type == .unknown)
    #expect(plan.currency == "xyz")
    #expect(plan.visibility == "shy")
    #expect(!plan.isAvailable)
  }

  @Test("Who bought is read from the metadata; texts that are empty, and other kinds, name nobody") func metadata()
    throws
  {
    let owned = try membership(
      row(
        (
          "metadata", ["kassa_device_id": "d", "kassa_app_user_id": "u", "kassa_nonce": "n", "seller": ["own": 1]]
        )))
    #expect([owned.deviceID, owned.appUserID?.text, owned.nonce] == ["d", "u", "n"])
    let nobody = try membership(row(("metadata", ["kassa_device_id": "", "kassa_app_user_id": 5, "kassa_nonce": nil])))
    #expect([nobody.deviceID, nobody.appUserID?.text, nobody.nonce] == [nil, nil, nil])
    #expect(try membership(row()).deviceID == nil)
  }

  @Test("The buyer is named by id or by object") func buyer() throws {
    #expect(try membership(row(("user_id", "user_1"))).buyerID == "user_1")
    #expect(try membership(row(("user", ["id": "user_1"]))).buyerID == "user_1")
    #expect(try membership(row()).buyerID == nil)
  }

  @Test(
    "S039 prices are numbers or texts, and exact",
    arguments: [
      ("6.9", "6.9"), ("0", "0"), (#""10.5""#, "10.5"), ("114.99", "114.99"), ("9800", "9800"), ("null", "0"),
      (#""0.0""#, "0"),
    ])
  func prices(_ text: String, _ expected: String) throws {
    let plan = try plan(["id": "plan_1", "initial_price": JSON.parse(text), "renewal_price": JSON.parse(text)])
    #expect(plan.initialPrice.text == expected)
    #expect(plan.renewalPrice.text == expected)
  }

  @Test("A plan without optional members has their defaults") func smallestPlan() throws {
    let plan = try plan(["id": "plan_1"])
    #expect(plan.currency == "usd")
    #expect(plan.visibility == "visible")
    #expect(plan.type == .unknown)
    #expect(plan.isAvailable)
    #expect(plan.billingPeriodDays == nil && plan.trialPeriodDays == nil && plan.displayDigits == nil)
    #expect(try self.plan(["id": "plan_1", "base_currency": "eur"]).currency == "eur")
    #expect(try self.plan(["id": "plan_1", "base_currency": "eur", "currency": "gbp"]).currency == "gbp")
  }

  @Test(
    "Only what can be bought now is available",
    arguments: [
      (["stock": 0, "unlimited_stock": false], false), (["stock": 1, "unlimited_stock": false], true),
      (["stock": 0, "unlimited_stock": true], true), (["stock": -1, "unlimited_stock": false], false),
      (["unlimited_stock": false], true),
      (["visibility": "archived"], false), (["visibility": "hidden"], true), (["visibility": "quick_link"], true),
      (["release_method": "waitlist"], false), (["release_method": "buy_now"], true),
    ] as [(JSON, Bool)])
  func availability(_ members: JSON, _ expected: Bool) throws {
    #expect(try plan(members.merging([("id", "plan_1")])).isAvailable == expected)
  }

  @Test("Digits to show are believed from 0 to 8", arguments: [(0, 0), (8, 8), (9, nil), (-1, nil)] as [(Int, Int?)])
  func displayDigits(_ digits: Int, _ expected: Int?) throws {
    let plan = try plan(["id": "plan_1", "initial_price_due": ["display_decimals": JSON(digits)]])
    #expect(plan.displayDigits == expected)
  }
}
