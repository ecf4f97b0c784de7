import KassaCore
import KassaJSON
import Testing

@Suite struct PersonTests {
  private let full = Person(
    distinctID: DistinctID("user-123"), personID: "person_1", email: "a@example.com", name: "Ada",
    grants: [
      .init(
        perk: "pro", status: "active", source: "subscription", sourceID: "sub_1", sourcePersonID: "person_1",
        expiresAt: moment),
      .init(perk: "old", status: "expired"),
    ],
    currentSubscription: .init(status: "active", productID: "prod_1", subscriptionID: "sub_1", expiresAt: moment),
    subscriptions: [
      .init(
        subscriptionID: "sub_1", productID: "prod_1", status: "active", startsAt: moment - day, expiresAt: moment,
        canceledAt: moment - hour, isTrial: true, sourcePersonID: "person_1"),
      .init(subscriptionID: "sub_0", productID: nil, status: "expired", startsAt: 0),
    ],
    purchases: [
      .init(
        purchaseID: "pur_1", productID: "prod_1", provider: "apple-app-store", kind: "subscription",
        createdAt: moment, sourcePersonID: "person_1")
    ])

  @Test("The document has the service's words in our form") func document() {
    #expect(
      full.document == [
        "distinct_id": "user-123", "person_id": "person_1", "email": "a@example.com", "name": "Ada",
        "grants": [
          [
            "perk": "pro", "status": "active", "source": "subscription", "source_id": "sub_1",
            "source_person_id": "person_1", "expires_at": JSON(moment),
          ],
          [
            "perk": "old", "status": "expired", "source": nil, "source_id": nil, "source_person_id": nil,
            "expires_at": nil,
          ],
        ],
        "subscriptions": [
          "current": [
            "status": "active", "product_id": "prod_1", "subscription_id": "sub_1", "expires_at": JSON(moment),
          ],
          "history": [
            [
              "subscription_id": "sub_1", "product_id": "prod_1", "status": "active", "starts_at": JSON(moment - day),
              "expires_at": JSON(moment), "canceled_at": JSON(moment - hour), "is_trial": true,
              "source_person_id": "person_1",
            ],
            [
              "subscription_id": "sub_0", "product_id": nil, "status": "expired", "starts_at": 0, "expires_at": nil,
              "canceled_at": nil, "is_trial": false, "source_person_id": nil,
            ],
          ],
        ],
        "purchases": [
          [
            "purchase_id": "pur_1", "product_id": "prod_1", "provider": "apple-app-store", "type": "subscription",
            "created_at": JSON(moment), "source_person_id": "person_1",
          ]
        ],
      ])
  }

  @Test("What was written is read back") func roundTrip() throws {
    let nobody = Person(distinctID: DistinctID("vh:anon:1\u{0}é"))
    for person in [full, nobody] {
      #expect(try Person(document: JSON.parse(person.document.text())) == person)
    }
    #expect(nobody.document["subscriptions"]?["current"]?.isNull == true)
  }

  @Test(
    "What is missing is named with its place",
    arguments: [
      (#"[]"#, "the document must be an object (got an array)"),
      (#"{"subscriptions":{}}"#, "distinct_id is missing"),
      (#"{"distinct_id":"a"}"#, "subscriptions is missing"),
      (#"{"distinct_id":"a","subscriptions":{},"grants":[{"perk":"p"}]}"#, "grants[0].status is missing"),
      (
        #"{"distinct_id":"a","subscriptions":{"history":[{"subscription_id":"s","status":"x","starts_at":"now"}]}}"#,
        "subscriptions.history[0].starts_at must be a whole number (got a string)"
      ),
    ])
  func refused(_ text: String, _ message: String) throws {
    let document = try JSON.parse(text)
    let error = #expect(throws: JSONShapeError.self) { try Person(document: document) }
    #expect(error?.description == message)
  }

  @Test("Only the word active grants") func status() {
    #expect(full.grants.map(\.isActive) == [true, false])
    #expect(!Person.Grant(perk: "pro", status: "Active").isActive)
    #expect(!Person.Grant(perk: "pro", status: "1").isActive)
  }
}

@Suite struct CatalogueTests {
  @Test("A catalogue is read back as it was written, prices exact") func roundTrip() throws {
    let catalogue = Catalogue(
      version: "sha256:1",
      products: [
        .init(
          id: "prod_2", slug: "yearly", name: "Yearly", kind: .subscription, perks: ["pro", "sync"],
          storeProductIDs: [.apple: "com.example.yearly", .google: "yearly"],
          offers: [.init(id: "half", storeOfferID: "half_ios")],
          development: .init(price: Money(try #require(Decimal("49.99")), "USD"), period: Period(1, .year))),
        .init(
          id: "prod_1", slug: "lifetime", name: "Lifetime", kind: .oneTime,
          development: .init(price: Money(Decimal(1_999), "JPY"), period: nil)),
        .init(id: "prod_3", slug: "coins", name: "", kind: .consumable),
      ], perks: ["pro": "Pro", "sync": "Sync"])
    #expect(catalogue.products.map(\.slug) == ["coins", "lifetime", "yearly"])
    #expect(try Catalogue(document: JSON.parse(catalogue.document.text())) == catalogue)
    #expect(try Catalogue(document: Catalogue().document) == Catalogue())
  }

  @Test(
    "What cannot be read is named with its place",
    arguments: [
      (
        #"{"perks":{},"products":[{"id":"p","slug":"s","name":"n","kind":"word","store_product_ids":{}}]}"#,
        "products[0].kind must be one of the known words (got a string)"
      ), (#"{"products":[]}"#, "perks is missing"),
      (#"{"perks":{"a":1}}"#, "perks.a must be a string (got a number)"),
    ])
  func refused(_ text: String, _ message: String) throws {
    let document = try JSON.parse(text)
    let error = #expect(throws: JSONShapeError.self) { try Catalogue(document: document) }
    #expect(error?.description == message)
  }
}
