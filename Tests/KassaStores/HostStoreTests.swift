import KassaCore
import KassaJSON
import KassaReceipts
import Testing

@testable import KassaStores

@Suite struct HostStoreTests {
  let shop = HostShop()

  // MARK: Products

  @Test func readsAProduct() async throws {
    shop.replies["products"] = ["products": [HostShop.product]]
    let product = try #require(try await shop.store().products(["monthly"]).first)
    #expect(shop.asked.map(\.method) == ["products"])
    #expect(shop.asked.first?.params == ["ids": ["monthly"]])
    #expect(product.kind == .subscription)
    #expect(
      product.price.document == ["amount": "9.99", "amount_micros": 9_990_000, "currency": "USD", "formatted": "$9.99"])
    #expect(product.isFamilyShareable)
    #expect(product.subscription?.period == Period(1, .month))
    #expect(product.subscription?.level == 2)
    let offer = try #require(product.subscription?.offers.first)
    #expect(offer.period == Period(1, .week))
    #expect(offer.price.money.amount == .zero)
    #expect(offer.isEligible == true)
  }

  @Test("What a host may leave out has its default") func productDefaults() async throws {
    shop.replies["products"] = [
      "products": [
        [
          "id": "p", "type": "subscription", "display_name": "",
          "price": ["amount": "500", "currency": "jpy", "formatted": "¥500"], "subscription": ["period": "P1Y"],
        ]
      ]
    ]
    let product = try #require(try await shop.store().products(["p"]).first)
    #expect(product.description == "")
    #expect(product.price.money.currency == "JPY")
    #expect(product.subscription?.groupID == "p")
    #expect(product.subscription?.level == 1)
    #expect(product.subscription?.offers == [])
  }

  @Test("S045 a price that the store formatted is passed on byte for byte") func formattedPrice() async throws {
    let text = "\u{200F}٩٫٩٩ \u{200E}ر.س.\u{00A0}"
    shop.replies["products"] = ["products": [HostShop.product.setting("price.formatted", to: JSON(text))]]
    let product = try #require(try await shop.store().products(["monthly"]).first)
    #expect(Array(product.price.formatted.utf8) == Array(text.utf8))
  }

  @Test func onlyWhatWasAskedForIsGiven() async throws {
    shop.replies["products"] = ["products": [HostShop.product.setting("id", to: "other"), HostShop.product]]
    #expect(try await shop.store().products(["monthly"]).map(\.id) == ["monthly"])
    #expect(try await shop.store().products([]) == [])
    #expect(shop.asked.count == 1)
  }

  static let wrongProducts: [(String, JSON?, String)] = [
    ("id", nil, "products[0].id is missing"),
    ("id", 7, "products[0].id must be a string"),
    ("id", "", "products[0].id must be text"),
    ("id", JSON(String(repeating: "a", count: 257)), "products[0].id must have at most 256 bytes (got 257)"),
    ("id", "a\u{7}", "products[0].id must be text without control characters"),
    ("type", nil, "products[0].type is missing"),
    ("type", "auto", "products[0].type must be one of \"consumable\""),
    ("type", "consumable", "products[0].subscription must be absent"),
    ("display_name", nil, "products[0].display_name is missing"),
    ("display_name", JSON(String(repeating: "a", count: 16_385)), "products[0].display_name must have at most"),
    ("description", 1, "products[0].description must be a string"),
    ("family_shareable", "yes", "products[0].family_shareable must be true or false"),
    ("famly_shareable", true, "products[0].famly_shareable is not a known key; did you mean \"family_shareable\"?"),
    ("price", nil, "products[0].price is missing"),
    ("price", "9.99", "products[0].price must be an object"),
    ("price.amount", nil, "products[0].price.amount is missing"),
    ("price.amount", JSON(9.99), "products[0].price.amount must be a string"),
    ("price.amount", "9,99", "products[0].price.amount must be a decimal number"),
    ("price.amount", "-1", "products[0].price.amount must not be negative"),
    ("price.amount", JSON(String(repeating: "9", count: 40)), "products[0].price.amount must be a decimal number"),
    ("price.amount_micros", 9_980_000, "products[0].price.amount_micros is another amount"),
    ("price.amount_micros", "9990000", "products[0].price.amount_micros must be a whole number"),
    ("price.currency", nil, "products[0].price.currency is missing"),
    ("price.currency", "$", "products[0].price.currency must be three letters"),
    ("price.formatted", nil, "products[0].price.formatted is missing"),
    ("price.formatted", "", "products[0].price.formatted must be text"),
    ("price.tax", 1, "products[0].price.tax is not a known key"),
    ("subscription", nil, "products[0].subscription is missing"),
    ("subscription", [], "products[0].subscription must be an object"),
    ("subscription.group_id", "", "products[0].subscription.group_id must be text"),
    ("subscription.group_name", 1, "products[0].subscription.group_name must be a string"),
    ("subscription.level", 0, "products[0].subscription.level must be 1 to 10000 (got 0)"),
    ("subscription.level", JSON(Int64.max), "products[0].subscription.level must be 1 to 10000"),
    ("subscription.period", nil, "products[0].subscription.period is missing"),
    ("subscription.period", "P1X", "products[0].subscription.period must be a period such as \"P1M\" (got \"P1X\")"),
    ("subscription.period", "P99999999Y", "products[0].subscription.period must be a period"),
    ("subscription.period", ["unit": "hour", "count": 1], "products[0].subscription.period.unit must be one of"),
    ("subscription.period", ["unit": "day", "count": 0], "products[0].subscription.period.count must be 1"),
    ("subscription.period", ["unit": "day"], "products[0].subscription.period.count is missing"),
    ("subscription.offers", "none", "products[0].subscription.offers must be an array"),
    ("subscription.offers", [1], "products[0].subscription.offers[0] must be an object"),
    ("subscription.offers.0.kind", nil, "products[0].subscription.offers[0].kind is missing"),
    ("subscription.offers.0.kind", "promotional", "products[0].subscription.offers[0].id is missing"),
    ("subscription.offers.0.payment_mode", "free", "products[0].subscription.offers[0].payment_mode must be one of"),
    ("subscription.offers.0.price", nil, "products[0].subscription.offers[0].price is missing"),
    ("subscription.offers.0.price.amount_micros", 10, "products[0].subscription.offers[0].price must be 0"),
    ("subscription.offers.0.period", nil, "products[0].subscription.offers[0].period is missing"),
    ("subscription.offers.0.period_count", 0, "products[0].subscription.offers[0].period_count must be 1"),
    ("subscription.offers.0.eligible", 1, "products[0].subscription.offers[0].eligible must be true or false"),
  ]

  @Test("A wrong field of a product is named", arguments: wrongProducts)
  func wrongProduct(_ path: String, _ value: JSON?, _ complaint: String) async throws {
    shop.replies["products"] = ["products": [HostShop.product.setting(path, to: value)]]
    let error = try #require(await failure { try await shop.store().products(["monthly"]) })
    #expect(error.code == .storeFailed)
    #expect(error.reason == "invalid_reply")
    #expect(error.message.hasPrefix("the host's reply to store/products is wrong: \(complaint)"), "\(error.message)")
  }

  @Test func productsThatOccurTwiceAreRefused() async throws {
    shop.replies["products"] = ["products": [HostShop.product, HostShop.product]]
    let error = try #require(await failure { try await shop.store().products(["monthly"]) })
    #expect(error.message.contains("products[1].id occurs twice"))
    let offer: JSON = HostShop.product["subscription"]?["offers"]?.elements.first ?? .null
    shop.replies["products"] = ["products": [HostShop.product.setting("subscription.offers", to: [offer, offer])]]
    let second = try #require(await failure { try await shop.store().products(["monthly"]) })
    #expect(second.message.contains("offers[1].id occurs twice"))
  }

  @Test("A reply that is no reply is refused", arguments: [.null, [], "text", 7, [:], ["products": nil]] as [JSON])
  func noReply(_ reply: JSON) async throws {
    shop.replies["products"] = reply
    let error = try #require(await failure { try await shop.store().products(["monthly"]) })
    #expect(error.reason == "invalid_reply")
  }

  @Test func aListThatIsFarTooLongIsRefused() async throws {
    shop.replies["products"] = ["products": .array(Array(repeating: HostShop.product, count: 10_001))]
    let error = try #require(await failure { try await shop.store().products(["monthly"]) })
    #expect(error.message.contains("products must have at most 10000 elements (got 10001)"))
  }

  // MARK: Purchases

  @Test func buys() async throws {
    shop.replies["purchase"] = ["outcome": "purchased", "transaction": ["store": "apple", "jws": "monthly"]]
    let order = StoreOrder(
      productID: "monthly", quantity: 1, offer: .id("winback"), appAccountToken: "6f1e", confirmIn: ["window": 3])
    let outcome = try await shop.store().purchase(order)
    guard case .purchased(.verified(let transaction)) = outcome else {
      Issue.record("the outcome is \(outcome)")
      return
    }
    #expect(transaction.productID == "monthly")
    #expect(
      shop.asked.first?.params == [
        "product_id": "monthly", "quantity": 1, "offer": "id", "offer_id": "winback", "offer_signature": nil,
        "app_account_token": "6f1e",
        "simulates_ask_to_buy": false, "confirm_in": ["window": 3],
      ])
  }

  @Test func offersAreAskedForByTheirWords() {
    #expect(StoreOrder(productID: "p").parameters["offer"] == "automatic")
    #expect(StoreOrder(productID: "p", offer: .none).parameters["offer"] == "none")
    #expect(StoreOrder(productID: "p", offer: .none).parameters["offer_id"]?.isNull == true)
  }

  @Test(arguments: [("cancelled", StoreOutcome.cancelled), ("pending", .pending)])
  func otherOutcomes(_ word: String, _ outcome: StoreOutcome) async throws {
    shop.replies["purchase"] = ["outcome": JSON(word)]
    #expect(try await shop.store().purchase(StoreOrder(productID: "monthly")) == outcome)
  }

  @Test("What cannot be verified is passed on as such, and is no error") func forged() async throws {
    shop.replies["purchase"] = ["outcome": "purchased", "transaction": ["store": "apple", "jws": "forged"]]
    let outcome = try await shop.store().purchase(StoreOrder(productID: "monthly"))
    #expect(
      outcome
        == .purchased(
          .unverified(
            id: nil, productID: nil, reason: "wrong_signature", message: "the signature does not hold")))
  }

  static let wrongPurchases: [(JSON, String)] = [
    ([:], "outcome is missing"),
    (["outcome": "bought"], "outcome must be one of \"purchased\", \"pending\", \"cancelled\" (got \"bought\")"),
    (["outcome": 1], "outcome must be a string"),
    (["outcome": "purchased"], "transaction is missing"),
    (["outcome": "purchased", "transaction": "jws"], "transaction must be an object"),
    (["outcome": "purchased", "transaction": [:]], "transaction.store is missing"),
    (["outcome": "purchased", "transaction": ["store": "apple"]], "transaction.jws is missing"),
    (["outcome": "purchased", "transaction": ["store": "apple", "jws": 5]], "transaction.jws must be a string"),
    (["outcome": "purchased", "transaction": ["store": "apple", "jws": ""]], "transaction.jws must be text"),
    (
      ["outcome": "purchased", "transaction": ["store": "apple", "jws": JSON(String(repeating: "a", count: 70_000))]],
      "transaction.jws must have at most 65536 bytes"
    ),
    (
      ["outcome": "purchased", "transaction": ["store": "apple", "jws": "monthly", "verified": true]],
      "transaction.verified is not a known key"
    ),
    (["outcome": "cancelled", "transactions": []], "transactions is not a known key; did you mean \"transaction\"?"),
  ]

  @Test("A wrong field of a purchase is named", arguments: wrongPurchases)
  func wrongPurchase(_ reply: JSON, _ complaint: String) async throws {
    shop.replies["purchase"] = reply
    let error = try #require(await failure { try await shop.store().purchase(StoreOrder(productID: "monthly")) })
    #expect(error.code == .storeFailed)
    #expect(error.reason == "invalid_reply")
    #expect(error.message.hasPrefix("the host's reply to store/purchase is wrong: \(complaint)"), "\(error.message)")
  }

  @Test("A transaction of another product counts, but does not end this purchase") func otherProduct() async throws {
    shop.replies["purchase"] = ["outcome": "purchased", "transaction": ["store": "apple", "jws": "yearly"]]
    let error = try #require(await failure { try await shop.store().purchase(StoreOrder(productID: "monthly")) })
    #expect(error.message.contains("\"monthly\" was asked for, and the transaction is of \"yearly\""))
    guard case .updated(.verified(let transaction)) = shop.events.first else {
      Issue.record("the transaction was lost")
      return
    }
    #expect(transaction.productID == "yearly")
  }

  @Test("What was bought in another number than asked for counts, and is told of", arguments: [1, 2, 3])
  func quantity(_ ordered: Int) async throws {
    shop.replies["purchase"] = ["outcome": "purchased", "transaction": ["store": "apple", "jws": "coins"]]
    shop.quantity = 2
    let outcome = try await shop.store().purchase(StoreOrder(productID: "coins", quantity: ordered))
    guard case .purchased(.verified(let transaction)) = outcome else {
      Issue.record("the outcome is \(outcome)")
      return
    }
    #expect(transaction.quantity == 2)
    guard ordered != 2 else {
      #expect(shop.reports.isEmpty)
      return
    }
    #expect(shop.reports.map(\.code) == ["quantity_differs"])
    #expect(shop.reports.first?.message.contains("\(ordered) of \"coins\" asked for, and 2 bought") == true)
    #expect(
      shop.reports.first?.details == [
        "transaction_id": JSON(transaction.id), "store_product_id": "coins", "ordered": JSON(ordered), "bought": 2,
      ])
  }

  /// A host that writes every key of its language's records.
  @Test("A null reads as absent, in members too that the library does not know") func nulls() async throws {
    let store = try shop.store()
    shop.replies["purchase"] = ["error": nil, "outcome": "cancelled", "transaction": nil, "note": nil]
    #expect(try await store.purchase(StoreOrder(productID: "monthly")) == .cancelled)
    shop.replies["purchase"] = [
      "error": nil, "outcome": "purchased",
      "transaction": ["store": "apple", "jws": "monthly", "purchase_token": nil, "verified": nil],
    ]
    guard case .purchased(.verified) = try await store.purchase(StoreOrder(productID: "monthly")) else {
      Issue.record("nothing was bought")
      return
    }
    shop.replies["finish"] = ["error": nil, "outcome": nil]
    try await store.finish(try HostShop.verify("monthly"))
    shop.replies["restore"] = ["error": nil, "outcome": "completed"]
    #expect(try await store.restore())
    shop.replies["storefront"] = ["error": nil, "storefront": ["country_code": "DE", "currency": nil, "name": nil]]
    #expect(try await store.storefront()?.country == "DE")
    let price = HostShop.product.setting("price.tax", to: .null).setting("trial", to: .null)
    shop.replies["products"] = [
      "error": nil, "products": [price.setting("subscription.offers.0.code", to: .null).setting("note", to: .null)],
    ]
    #expect(try await store.products(["monthly"]).count == 1)
    for method in ["unfinished", "entitlements"] { shop.replies[method] = ["error": nil, "transactions": []] }
    #expect(try await store.unfinished() == [])
    #expect(try await store.entitlements() == [])
    try store.notify(["type": "purchase_intent", "product_id": "monthly", "offer_id": nil, "transaction": nil])
    #expect(shop.events == [.intent(StoreOrder(productID: "monthly"))])
    // Another unknown member is still named, and not the null before it.
    shop.replies["purchase"] = ["error": nil, "outcome": "cancelled", "nothing": nil, "transactions": []]
    let error = try #require(await failure { try await store.purchase(StoreOrder(productID: "monthly")) })
    #expect(error.message.contains("transactions is not a known key; did you mean \"transaction\"?"))
  }

  @Test("What a store can do whose transactions nobody can check", arguments: StoreMethod.allCases)
  func callsOfAnUnsupportedStore(_ method: StoreMethod) async throws {
    let params: [StoreMethod: JSON] = [
      .beginRefund: ["transaction_id": "1"], .subscriptionStatus: ["group_id": "g"], .displayMessage: ["id": "m"],
    ]
    let store = try shop.store(["kind": "host", "platform": "steam"])
    shop.replies["storefront"] = ["storefront": ["country_code": "DE"]]
    switch method {
    case .storefront: #expect(try await store.storefront()?.country == "DE")
    case .entitlements: #expect(try await store.entitlements() == [])
    default:
      #expect(await failure { try await store.call(method, params[method] ?? .null) }?.code == .unsupportedStore)
    }
    #expect(shop.asked.map(\.method) == (method == .storefront ? ["storefront"] : []))
  }

  @Test("A store whose transactions nobody can check is not even asked to sell") func unsupportedStore() async throws {
    let store = try shop.store(["kind": "host", "platform": "steam"])
    // What it says by itself is heard.
    try store.notify(["type": "purchase_intent", "product_id": "monthly"])
    try store.notify(["type": "transaction_updated", "transaction": ["store": "steam"]])
    #expect(shop.events.first == .intent(StoreOrder(productID: "monthly")))
    guard case .updated(let delivery) = shop.events.last else {
      Issue.record("\(shop.events)")
      return
    }
    #expect(delivery.reason == "unsupported_store")
    for error in [
      await failure { try await store.purchase(StoreOrder(productID: "monthly")) },
      await failure { try await store.products(["monthly"]) },
      await failure { try await store.call(.canMakePayments, .null) },
    ] {
      #expect(error?.code == .unsupportedStore)
      #expect(error?.message.contains("\"steam\"") == true)
    }
    #expect(try await store.unfinished() == [])
    #expect(try await store.entitlements() == [])
    #expect(try await store.restore())
    #expect(shop.asked.isEmpty)
    shop.replies["storefront"] = ["storefront": ["country_code": "DE"]]
    #expect(try await store.storefront()?.country == "DE")
  }

  @Test("Transactions of another store are not believed")
  func otherStore() async throws {
    shop.replies["unfinished"] = [
      "transactions": [["store": "amazon", "receipt": "r"], ["store": "google", "product_id": "p"]]
    ]
    #expect(try await shop.store().unfinished().map(\.reason) == ["unsupported_store", "wrong_store"])
  }

  @Test func cancellationReachesTheHost() async throws {
    let store = try shop.store()
    let purchase = Task { [shop = UncheckedBox(shop), store = UncheckedBox(store)] in
      _ = shop
      return await failure { try await store.value.purchase(StoreOrder(productID: "monthly")) }?.code
    }
    await Task.yield()
    purchase.cancel()
    #expect(await purchase.value == .cancelled)
  }

  // MARK: Errors of the host

  @Test(
    "A host's error keeps its meaning",
    arguments: [
      (["code": "offline", "message": "no network"], ErrorCode.offline, nil, true),
      (["code": "timed_out", "message": "no network"], .timedOut, nil, true),
      (["code": "payment_failed", "message": "no network"], .paymentFailed, nil, false),
      (["code": "unsupported", "message": "no network"], .unsupported, nil, false),
      (["code": "item_already_owned", "message": "no network"], .storeFailed, "item_already_owned", false),
      (["code": "internal", "message": "no network"], .storeFailed, "internal", false),
      (["message": "no network"], .storeFailed, nil, false),
      ("no network", .storeFailed, nil, false),
    ] as [(JSON, ErrorCode, String?, Bool)])
  func hostError(_ error: JSON, _ code: ErrorCode, _ reason: String?, _ isRetryable: Bool) async throws {
    for method in ["products", "purchase", "restore", "unfinished", "entitlements", "storefront"] {
      shop.replies[method] = ["error": error]
    }
    let store = try shop.store()
    for thrown in [
      await failure { try await store.products(["monthly"]) },
      await failure { try await store.purchase(StoreOrder(productID: "monthly")) },
      await failure { try await store.restore() },
      await failure { try await store.unfinished() },
      await failure { try await store.entitlements() },
      await failure { try await store.storefront() },
    ] {
      #expect(thrown?.code == code)
      #expect(thrown?.reason == reason)
      #expect(thrown?.retryable == isRetryable)
      #expect(thrown?.message == "no network")
    }
  }

  // MARK: Looking

  @Test("One transaction that cannot be read keeps no other from its buyer") func oneBroken() async throws {
    shop.replies["unfinished"] = [
      "transactions": [["store": "apple", "jws": 5], ["store": "apple", "jws": "monthly"], "text"]
    ]
    let found = try await shop.store().unfinished()
    #expect(found.map(\.reason) == ["malformed_transaction", nil, "malformed_transaction"])
    #expect(found.first?.message == "transactions[0].jws must be a string (got a number)")
    #expect(found.last?.message == "transactions[2] must be an object (got a string)")
  }

  @Test func consumablesAreNoEntitlements() async throws {
    let reply: JSON = ["transactions": [["store": "apple", "jws": "coins"], ["store": "apple", "jws": "monthly"]]]
    shop.replies = ["unfinished": reply, "entitlements": reply]
    let store = try shop.store()
    #expect(try await store.unfinished().count == 2)
    #expect(try await store.entitlements().compactMap(\.verifiedTransaction?.productID) == ["monthly"])
  }

  @Test(
    "A wrong list is named",
    arguments: [
      ([:], "transactions is missing"), (["transactions": [:]], "transactions must be an array"),
      (["transaction": []], "transaction is not a known key"),
    ] as [(JSON, String)])
  func wrongList(_ reply: JSON, _ complaint: String) async throws {
    shop.replies = ["unfinished": reply, "entitlements": reply]
    let store = try shop.store()
    for error in [await failure { try await store.unfinished() }, await failure { try await store.entitlements() }] {
      #expect(error?.message.contains(complaint) == true, "\(String(describing: error))")
    }
  }

  @Test func restores() async throws {
    let store = try shop.store()
    shop.replies["restore"] = ["outcome": "completed"]
    #expect(try await store.restore())
    shop.replies["restore"] = ["outcome": "cancelled"]
    #expect(try await !store.restore())
    shop.replies["restore"] = ["outcome": "purchased"]
    #expect(await failure { try await store.restore() }?.reason == "invalid_reply")
  }

  @Test func finishes() async throws {
    let store = try shop.store()
    shop.replies["finish"] = [:]
    let transaction = try HostShop.verify("monthly")
    try await store.finish(transaction)
    #expect(
      shop.asked.first?.params == [
        "store": "apple", "id": "2000000000000001", "original_id": "2000000000000001", "product_id": "monthly",
        "type": "subscription", "purchase_token": nil,
      ])
    shop.replies["finish"] = ["done": true]
    #expect(await failure { try await store.finish(transaction) }?.reason == "invalid_reply")
  }

  @Test func storefronts() async throws {
    let store = try shop.store()
    shop.replies["storefront"] = ["storefront": ["country_code": "DEU", "currency": "eur"]]
    #expect(try await store.storefront()?.document == ["country_code": "DE", "currency": "EUR"])
    shop.replies["storefront"] = ["storefront": nil]
    #expect(try await store.storefront() == nil)
    for wrong: JSON in [
      [:], ["storefront": "DE"], ["storefront": [:]], ["storefront": ["country_code": "Germany"]],
      ["storefront": ["country_code": "DE", "currency": "€"]], ["storefront": ["country_code": "DE", "county": 1]],
    ] {
      shop.replies["storefront"] = wrong
      #expect(await failure { try await store.storefront() }?.reason == "invalid_reply")
    }
  }
}

/// For values of one test that a task takes along while nothing else touches them.
final class UncheckedBox<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
