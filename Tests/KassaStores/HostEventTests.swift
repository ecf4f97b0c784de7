import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

@Suite struct HostEventTests {
  let shop = HostShop()

  @Test func aTransactionThatWasUpdatedIsHeard() throws {
    let store = try shop.store()
    try store.notify(["type": "transaction_updated", "transaction": ["store": "apple", "jws": "monthly"]])
    try store.notify(["type": "transaction_updated", "transaction": ["store": "apple", "jws": "forged"]])
    #expect(
      shop.events == [
        .updated(.verified(try HostShop.verify("monthly"))),
        .updated(
          .unverified(id: nil, productID: nil, reason: "wrong_signature", message: "the signature does not hold")),
      ])
  }

  @Test func anIntentIsHeard() throws {
    let store = try shop.store()
    try store.notify(["type": "purchase_intent", "product_id": "monthly"])
    try store.notify(["type": "purchase_intent", "product_id": "coins", "offer_id": "o", "quantity": 2])
    #expect(
      shop.events == [
        .intent(StoreOrder(productID: "monthly")),
        .intent(StoreOrder(productID: "coins", quantity: 2, offer: .id("o"))),
      ])
  }

  @Test func messagesAndStorefrontsAreHeard() throws {
    let store = try shop.store()
    let message: JSON = ["id": "m1", "reason": "billing_issue", "more": [1]]
    try store.notify(["type": "store_message", "message": message])
    try store.notify(["type": "storefront_changed", "storefront": ["country_code": "JPN", "currency": "JPY"]])
    try store.notify(["type": "storefront_changed", "storefront": nil])
    #expect(
      shop.events == [
        .message(message), .storefrontChanged(Storefront(country: "JP", currency: "JPY")), .storefrontChanged(nil),
      ])
  }

  @Test(
    "What is no event of a store is refused, with its place",
    arguments: [
      (nil, "event must be an object"), ([], "event must be an object"), ([:], "event.type is missing"),
      (
        ["type": "refunded"],
        "event.type must be one of \"transaction_updated\", \"purchase_intent\", \"store_message\", "
          + "\"storefront_changed\" (got \"refunded\")"
      ),
      (["type": 1], "event.type must be a string"),
      (["type": "transaction_updated"], "event.transaction is missing"),
      (["type": "transaction_updated", "transaction": "t"], "event.transaction must be an object"),
      (["type": "transaction_updated", "transaction": ["store": "apple"]], "event.transaction.jws is missing"),
      (
        ["type": "transaction_updated", "transaction": ["store": "apple", "jws": "a"], "synced": true],
        "event.synced is not a known key"
      ),
      (["type": "purchase_intent"], "event.product_id is missing"),
      (["type": "purchase_intent", "product_id": ""], "event.product_id must be text"),
      (["type": "purchase_intent", "product_id": "p", "quantity": 0], "event.quantity must be 1"),
      (["type": "purchase_intent", "product_id": "p", "offer": "o"], "event.offer is not a known key"),
      (["type": "store_message"], "event.message is missing"),
      (["type": "store_message", "message": ["id": "m"]], "event.message.reason is missing"),
      (["type": "store_message", "message": ["reason": "generic"]], "event.message.id is missing"),
      (["type": "storefront_changed"], "event.storefront is missing"),
      (["type": "storefront_changed", "storefront": ["country_code": "XX"]], "event.storefront.country_code must be"),
    ] as [(JSON, String)])
  func wrongEvent(_ event: JSON, _ complaint: String) async throws {
    let store = try shop.store()
    let error = try #require(await failure { try store.notify(event) })
    #expect(error.code == .invalidArgument)
    #expect(error.message.hasPrefix(complaint), "\(error.message)")
    #expect(shop.events.isEmpty)
  }

  @Test func aClosedStoreHearsNothing() async throws {
    let store = try shop.store()
    store.close()
    let event: JSON = ["type": "storefront_changed", "storefront": nil]
    #expect(await failure { try store.notify(event) }?.code == .closed)
    #expect(shop.events.isEmpty)
  }

  // MARK: Sheets and questions

  @Test(
    "Each sheet and question asks its request",
    arguments: [
      (
        .manageSubscriptions, [:], ["group_id": nil, "confirm_in": nil], ["outcome": "completed"],
        ["outcome": "completed"]
      ),
      (
        .manageSubscriptions, ["group_id": "g", "confirm_in": 3], ["group_id": "g", "confirm_in": 3],
        ["outcome": "cancelled"], ["outcome": "cancelled"]
      ),
      (.presentCodeRedemption, nil, ["confirm_in": nil], ["outcome": "completed"], ["outcome": "completed"]),
      (.canMakePayments, nil, [:], ["can_make_payments": false], ["can_make_payments": false]),
      (
        .beginRefund, ["transaction_id": "1"], ["transaction_id": "1", "confirm_in": nil], ["outcome": "success"],
        ["outcome": "success"]
      ),
      (
        .messages, nil, [:], ["messages": [["id": "m", "reason": "generic"]]],
        ["messages": [["id": "m", "reason": "generic"]]]
      ),
      (
        .displayMessage, ["id": "m"], ["id": "m", "confirm_in": nil], ["outcome": "completed"],
        ["outcome": "completed"]
      ),
      (
        .appTransaction, nil, [:], ["jws": "app"],
        [
          "bundle_id": "com.example.app", "environment": "Production", "application_version": nil,
          "original_application_version": nil, "original_purchased_at": 1_790_000_000_000,
        ]
      ),
    ] as [(StoreMethod, JSON, JSON, JSON, JSON)])
  func calls(_ method: StoreMethod, _ params: JSON, _ asked: JSON, _ reply: JSON, _ result: JSON) async throws {
    shop.replies[method.rawValue] = reply
    let given = try await shop.store().call(method, params)
    #expect(given == result, "\(given.text())")
    #expect(shop.asked.map(\.method) == [method.rawValue])
    #expect(shop.asked.first?.params == asked)
  }

  @Test func statusesAreChecked() async throws {
    let status: JSON = [
      "state": "grace_period", "transaction": ["store": "apple", "jws": "monthly"], "will_renew": true,
      "grace_period_ends_at": 5,
    ]
    shop.replies["subscription_status"] = [
      "statuses": [status, status.setting("transaction.jws", to: "forged"), ["state": "expired"]]
    ]
    let store = try shop.store()
    let result = try await store.call(.subscriptionStatus, ["group_id": "g"])
    #expect(shop.asked.first?.params == ["group_id": "g", "product_id": nil])
    let statuses = try #require(result["statuses"]?.elements)
    #expect(statuses.map { $0["state"] } == ["grace_period", "grace_period", "expired"])
    #expect(statuses.map { $0["transaction"]?.isNull } == [false, true, true])
    #expect(statuses.map { $0["unverified_reason"] } == [.null, "wrong_signature", .null])
    for (key, value, complaint): (String, JSON?, String) in [
      ("state", nil, "statuses[0].state is missing"), ("state", "active", "statuses[0].state must be one of"),
      ("will_renew", 1, "statuses[0].will_renew must be true or false"),
      ("transaction.jws", nil, "statuses[0].transaction.jws is missing"),
      ("grace_period_ends_at", "x", "statuses[0].grace_period_ends_at must be a whole number"),
    ] {
      shop.replies["subscription_status"] = ["statuses": [status.setting(key, to: value)]]
      let error = try #require(await failure { try await store.call(.subscriptionStatus, ["product_id": "p"]) })
      #expect(error.message.contains(complaint), "\(error.message)")
    }
  }

  @Test(
    "Wrong parameters are refused before the host is asked",
    arguments: [
      (.manageSubscriptions, ["group": "g"], "params.group is not a known key"),
      (.presentCodeRedemption, [], "params must be an object"),
      (.canMakePayments, ["country": "DE"], "params.country is not a known key"),
      (.beginRefund, nil, "params.transaction_id is missing"),
      (.beginRefund, ["transaction_id": 7], "params.transaction_id must be a string"),
      (.subscriptionStatus, nil, "params must have one of"),
      (.subscriptionStatus, ["group_id": "g", "product_id": "p"], "params must have one of"),
      (.displayMessage, [:], "params.id is missing"),
    ] as [(StoreMethod, JSON, String)])
  func wrongParameters(_ method: StoreMethod, _ params: JSON, _ complaint: String) async throws {
    let error = try #require(await failure { try await shop.store().call(method, params) })
    #expect(error.code == .invalidArgument)
    #expect(error.message.hasPrefix(complaint), "\(error.message)")
    #expect(shop.asked.isEmpty)
  }

  @Test func everyMethodRefusesAWrongReply() async throws {
    let params: [StoreMethod: JSON] = [
      .beginRefund: ["transaction_id": "1"], .subscriptionStatus: ["group_id": "g"], .displayMessage: ["id": "m"],
    ]
    let store = try shop.store()
    func ask(_ method: StoreMethod) async -> KassaError? {
      switch method {
      case .storefront: await failure { try await store.storefront() }
      case .entitlements: await failure { try await store.entitlements() }
      default: await failure { try await store.call(method, params[method] ?? .null) }
      }
    }
    for method in StoreMethod.allCases {
      for wrong: JSON in [nil, "yes", [:], ["outcome": "done"], ["transactions": 1], ["more": 1]] {
        shop.replies[method.rawValue] = wrong
        let error = await ask(method)
        #expect(error?.code == .storeFailed, "\(method)")
        #expect(error?.message.contains("store/\(method.rawValue)") == true)
      }
      shop.replies[method.rawValue] = ["error": ["code": "offline", "message": "m"]]
      #expect(await ask(method)?.code == .offline)
    }
  }

  @Test func anAppTransactionIsApplesAndMustHold() async throws {
    shop.replies["app_transaction"] = ["jws": "forged"]
    let error = try #require(await failure { try await shop.store().call(.appTransaction, .null) })
    #expect(error.reason == "wrong_bundle_id")
    let google = try shop.store(HostShop.google)
    #expect(await failure { try await google.call(.appTransaction, .null) }?.code == .unsupported)
  }
}
