import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

@Suite struct VoidhashDecodingTests {
  private func person(_ text: String) throws -> Person { try VoidhashDecoding.person(Fields(JSON.parse(text))) }
  private func catalogue(_ text: String) throws -> Catalogue {
    try VoidhashDecoding.catalogue(Fields(JSON.parse(text)))
  }

  // MARK: People

  @Test("A person is read field by field") func wholePerson() throws {
    let read = try person(
      #"""
      {"distinctId":"u","personId":"p","email":"a@example.com","name":"Ada","new":{},
       "entitlements":{"grants":[{"perkId":"pro","status":"active","source":"subscription","sourceId":"sub_1",
         "sourcePersonId":"p","expiresAt":"2026-10-20T10:00:00.000Z"}]},
       "subscriptions":{"current":{"status":"trialing","productId":"prod_1","subscriptionId":"sub_1",
         "expiresAt":"2026-10-20T10:00:00Z"},
        "history":[{"subscriptionId":"sub_1","productId":null,"status":"canceled","startsAt":"2026-10-20T10:00:00.123Z",
         "expiresAt":null,"canceledAt":"2026-10-20T10:00:00+00:00","isTrial":true,"sourcePersonId":"p"}]},
       "purchases":{"history":[{"purchaseId":"pur_1","productId":"prod_1","providerKey":"google-play",
         "type":"one_time","createdAt":"2026-10-20T10:00:00.000Z","sourcePersonId":"p"}]},
       "snapshotContext":{"mode":"new_mode"}}
      """#)
    #expect(
      read
        == Person(
          distinctID: DistinctID("u"), personID: "p", email: "a@example.com", name: "Ada",
          grants: [
            .init(
              perk: "pro", status: "active", source: "subscription", sourceID: "sub_1", sourcePersonID: "p",
              expiresAt: moment)
          ],
          currentSubscription: .init(
            status: "trialing", productID: "prod_1", subscriptionID: "sub_1", expiresAt: moment),
          subscriptions: [
            .init(
              subscriptionID: "sub_1", productID: nil, status: "canceled", startsAt: moment + 123, canceledAt: moment,
              isTrial: true, sourcePersonID: "p")
          ],
          purchases: [
            .init(
              purchaseID: "pur_1", productID: "prod_1", provider: "google-play", kind: "one_time", createdAt: moment,
              sourcePersonID: "p")
          ]))
  }

  @Test(
    "Words that are not known grant nothing", arguments: [#""paused""#, "1", #""ACTIVE""#, #""""#])
  func unknownWords(_ status: String) throws {
    let read = try person(
      #"{"distinctId":"u","personId":"p","entitlements":{"grants":[{"perkId":"pro","status":\#(status)}]}}"#)
    #expect(read.grants.count == 1)
    #expect(!read.grants.contains { $0.isActive })
  }

  @Test("The status none is no subscription") func none() throws {
    let read = try person(#"{"distinctId":"u","personId":"p","subscriptions":{"current":{"status":"none"}}}"#)
    #expect(read.currentSubscription == nil)
  }

  @Test(
    "What access hangs on has to be there",
    arguments: [
      (#"{"personId":"p"}"#, "distinctId is missing"), (#"{"distinctId":"u"}"#, "personId is missing"),
      (
        #"{"distinctId":"u","personId":"p","entitlements":{"grants":{}}}"#,
        "entitlements.grants must be an array (got an object)"
      ),
      (
        #"{"distinctId":"u","personId":"p","entitlements":{"grants":[{"status":"active"}]}}"#,
        "entitlements.grants[0].perkId is missing"
      ),
      (
        #"{"distinctId":"u","personId":"p","entitlements":{"grants":[{"perkId":"a","status":"active","expiresAt":"soon"}]}}"#,
        "entitlements.grants[0].expiresAt must be a time (got a string)"
      ),
      (
        #"{"distinctId":"u","personId":"p","subscriptions":{"history":[{"subscriptionId":"s","status":"active"}]}}"#,
        "subscriptions.history[0].startsAt is missing"
      ),
    ])
  func incompletePerson(_ text: String, _ message: String) {
    let error = #expect(throws: JSONShapeError.self) { try person(text) }
    #expect(error?.description == message)
  }

  // MARK: The catalogue

  @Test("A catalogue is read field by field") func wholeCatalogue() throws {
    let read = try catalogue(
      #"""
      {"version":"sha256:1","perks":{"pro":{"slug":"pro","name":"Pro"},"sync":{}},"locations":{"x":5},
       "products":{
        "yearly":{"id":"prod_1","slug":"yearly","type":"subscription","duration":"annual","properties":{"name":"Yearly"},
         "configuration":{"perks":{"pro":true,"sync":false},"providers":{
          "appleAppStore":{"productId":"com.example.yearly","offers":[{"id":"half","storeOfferId":"ios_half"},
            {"id":"same"},{"offerId":"only"},"text",5,{}]},
          "googlePlay":{"productId":"yearly","basePlanId":"base"},
          "development":{"currencyCode":"USD","period":"year","periodCount":1,"price":49.99,"priceInMinorUnits":4999}}}},
        "coins":{"type":"one-time-consumable","configuration":{"providers":{"development":{"period":"lifetime",
          "periodCount":1,"price":4.99}}}},
        "lifetime":{"type":"one-time"},
        "odd":{"type":"bundle"}}}
      """#)
    let yearly = Catalogue.Product(
      id: "prod_1", slug: "yearly", name: "Yearly", kind: .subscription, perks: ["pro"],
      storeProductIDs: [.apple: "com.example.yearly", .google: "yearly"],
      offers: [
        .init(id: "half", storeOfferID: "ios_half"), .init(id: "same", storeOfferID: "same"),
        .init(id: "only", storeOfferID: "only"), .init(id: "text", storeOfferID: "text"),
      ],
      development: .init(price: Money(try #require(Decimal("49.99")), "USD"), period: Period(1, .year)))
    let coins = Catalogue.Product(
      id: "coins", slug: "coins", name: "coins", kind: .consumable,
      development: .init(price: Money(try #require(Decimal("4.99")), "USD"), period: nil))
    let lifetime = Catalogue.Product(id: "lifetime", slug: "lifetime", name: "lifetime", kind: .oneTime)
    #expect(
      read
        == Catalogue(
          version: "sha256:1", products: [coins, lifetime, yearly], perks: ["pro": "Pro", "sync": "sync"]))
  }

  @Test(
    "What is no catalogue is refused, with the place",
    arguments: [
      (#"{"unexpected":true}"#, "products is missing"), (#"{"version":"1"}"#, "products is missing"),
      (#"{"products":{}}"#, "version is missing"),
      (#"{"version":"1","products":[]}"#, "products must be an object (got an array)"),
      (#"{"version":"1","products":{"a":{}}}"#, "products.a.type is missing"),
      (
        #"{"version":"1","products":{"a":{"type":"one-time","configuration":{"providers":{"appleAppStore":{"productId":5}}}}}}"#,
        "products.a.configuration.providers.appleAppStore.productId must be a string (got a number)"
      ),
    ])
  func noCatalogue(_ text: String, _ message: String) {
    let error = #expect(throws: JSONShapeError.self) { try catalogue(text) }
    #expect(error?.description == message)
  }

  // MARK: Samples

  @Test(
    "The documented people are read", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment),
    arguments: [
      ("person-active-subscription.json", ["pro"], "active"), ("person-empty.json", [], nil),
      ("person-purchase-history.json", ["all-access"], "active"),
      ("person-without-snapshot-context.json", ["pro"], "active"), ("person-minimal.json", [], nil),
    ] as [(String, [String], String?)])
  func samplePeople(_ file: String, _ perks: [String], _ status: String?) throws {
    let read = try person(VoidhashSamples.text(file))
    #expect(read.grants.filter(\.isActive).map(\.perk) == perks)
    #expect(read.currentSubscription?.status == status)
    #expect(read.purchases.count == (file == "person-purchase-history.json" ? 1 : 0))
  }

  @Test(
    "The documented catalogues are read", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment),
    arguments: [
      ("schema-pro-monthly.json", "pro-monthly", "com.voidhash.pro.monthly", ["pro"]),
      ("schema-without-perks.json", "pro-monthly", "com.example.pro.monthly", []), ("schema-empty.json", nil, nil, []),
      ("schema-all-providers.json", "monthly_sub", "com.voidhash.monthly.ios", ["all-access"]),
      ("schema-development-product.json", "pro-monthly", nil, []),
    ] as [(String, String?, String?, [String])])
  func sampleCatalogues(_ file: String, _ slug: String?, _ apple: String?, _ perks: [String]) throws {
    let product = try catalogue(VoidhashSamples.text(file)).products.first
    #expect(product?.slug == slug)
    #expect(product?.storeProductIDs[.apple] == apple)
    #expect(product?.perks ?? [] == perks)
    if file.contains("all-providers") || file.contains("development") {
      #expect(
        product?.development == .init(price: Money(try #require(Decimal("9.99")), "USD"), period: Period(1, .month)))
    }
  }

  @Test(
    "Documents of other routes are neither person nor catalogue",
    .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment),
    arguments: [
      "person-entitlements.json", "persons-list.json", "products-list.json", "product-detail.json",
      "schema-version.json", "project-schema.json", "malformed-success.json", "development-state.json",
      "evaluate-flags-response.json", "evaluate-flags-response-null-variant.json", "resolve-paywall-response.json",
      "resolve-paywall-response-no-version.json", "resolve-paywall-response-null.json", "webhook-delivery.json",
      "sync-transaction-response-no-flag.json", "error-409-already-identified.json",
    ])
  func otherSamples(_ file: String) throws {
    let text = try VoidhashSamples.text(file)
    #expect(throws: JSONShapeError.self) { try person(text) }
    #expect(throws: JSONShapeError.self) { try catalogue(text) }
  }
}
