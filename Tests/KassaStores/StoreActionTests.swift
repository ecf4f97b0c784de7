import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

@Suite("What is done to a simulated App Store")
struct StoreActionTests {
  // MARK: Refunds

  @Test("S126 a refund gives its date, its reason and how much of the price came back")
  func refund() async throws {
    let shop = try Counter()
    let pass = try await shop.buy("pass"), coins = try await shop.buy("coins", quantity: 3)
    for bought in [pass, coins] { try await shop.store.finish(bought) }
    try shop.advance(days: 2)
    try shop.act(["action": "refund", "transaction_id": JSON(pass.id), "reason": "app_issue"])
    try shop.act(["action": "refund", "transaction_id": JSON(coins.id), "percentage": "33.333"])
    let changed = shop.takeUpdates()
    // The same ids as before, with another content.
    #expect(changed.map(\.id) == [pass.id, coins.id])
    #expect(changed.map { $0.revocation?.at } == [Counter.start + 2 * Counter.day, Counter.start + 2 * Counter.day])
    #expect(changed.map { $0.revocation?.reason } == ["1", "0"])
    #expect(changed.map { $0.revocation?.percentage } == [100_000, 33_333])
    // Whoever missed the event finds the change in the next scan.
    #expect(try await shop.unfinished().map(\.id) == [pass.id, coins.id])
    #expect(try await shop.owned() == [])
    #expect(
      await refusal { try shop.act(["action": "refund", "transaction_id": JSON(pass.id)]) } == "not_found nothing_there"
    )
    #expect(
      await refusal { try shop.act(["action": "refund", "transaction_id": "1"]) } == "not_found unknown_transaction")
  }

  @Test("S126 a prorated refund of a subscription counts the time that is left, and ends it")
  func proratedRefund() async throws {
    let shop = try Counter()
    let first = try await shop.buy("basic.other")
    try shop.advance(days: 41)
    let second = try #require(shop.takeUpdates().first)
    // 31 days were paid for from 20 November to 20 December; 10 are gone.
    try shop.act(["action": "refund", "transaction_id": JSON(second.id), "prorated": true])
    #expect(shop.takeUpdates().first?.revocation?.percentage == 66_666)
    #expect(try await shop.state() == "revoked")
    #expect(try await shop.owned() == [])
    try shop.advance(days: 100)
    #expect(shop.takeUpdates().isEmpty)
    // Who subscribes again keeps the first transaction, and may not have the introductory offer again.
    let again = try await shop.buy("basic.monthly")
    #expect(again.originalID == first.id && again.offer == nil)
    // A refund of an earlier period leaves the present one alone.
    try shop.act(["action": "refund", "transaction_id": JSON(first.id)])
    #expect(try await shop.owned() == ["basic.monthly"])
  }

  @Test func theRefundSheetIsTheUsers() async throws {
    let shop = try Counter(policy: .always(.approve))
    let lifetime = try await shop.buy("lifetime")
    let request: JSON = ["transaction_id": JSON(lifetime.id)]
    try shop.act(["action": "set_policy", "policy": "cancel"])
    #expect(try await shop.store.call(.beginRefund, request) == ["outcome": "cancelled"])
    #expect(try await shop.owned() == ["lifetime"])
    try shop.act(["action": "set_policy", "policy": "approve"])
    #expect(try await shop.store.call(.beginRefund, request) == ["outcome": "success"])
    #expect(try await shop.owned() == [])
    #expect(
      await refusal { _ = try await shop.store.call(.beginRefund, request) } == "invalid_argument duplicate_request")
    #expect(await refusal { _ = try await shop.store.call(.beginRefund, ["id": "1"]) } == "invalid_argument")
  }

  // MARK: Family

  @Test("S127 what the family shares is owned, is restored, and ends when the user leaves it")
  func family() async throws {
    let shop = try Counter()
    try shop.act(["action": "buy_elsewhere", "product_id": "lifetime", "family": true])
    try shop.act(["action": "buy_elsewhere", "product_id": "pro.monthly", "family": true])
    let shared = shop.takeUpdates()
    #expect(shared.map(\.productID) == ["lifetime", "pro.monthly"])
    #expect(shared.allSatisfy { $0.ownership == .familyShared })
    // The family's subscription does not stand in the way of one's own.
    let own = try await shop.buy("basic.monthly")
    #expect(own.ownership == .purchased && own.offer?.kind == .introductory)
    #expect(try await shop.store.restore())
    #expect(try await shop.owned() == ["lifetime", "pro.monthly", "basic.monthly"])
    try shop.advance(days: 35)
    #expect(shop.takeUpdates().contains { $0.ownership == .familyShared && $0.isRenewal == true })
    try shop.act(["action": "revoke_family"])
    #expect(try await shop.owned() == ["basic.monthly"])
    let revoked = shop.takeUpdates()
    #expect(revoked.map(\.productID) == ["lifetime", "pro.monthly"])
    #expect(revoked.allSatisfy { $0.revocation?.reason == "0" })
    #expect(await refusal { try shop.act(["action": "revoke_family"]) } == "not_found nothing_there")
    let coins: JSON = ["action": "buy_elsewhere", "product_id": "coins", "family": true]
    #expect(await refusal { try shop.act(coins) } == "product_not_found product_unavailable")
  }

  // MARK: Events

  @Test func intentsMessagesAndStorefronts() async throws {
    let shop = try Counter()
    try shop.act(["action": "intent", "product_id": "basic.monthly", "offer": "none"])
    #expect(shop.events == [.intent(StoreOrder(productID: "basic.monthly", offer: .none))])
    try shop.act(["action": "message", "reason": "billing_issue", "product_id": "basic.monthly"])
    guard case .message(let message)? = shop.events.last, let id = message["id"] else {
      Issue.record("\(shop.events)")
      return
    }
    #expect(message["reason"] == "billing_issue" && message["product_id"] == "basic.monthly")
    #expect(try await shop.store.call(.messages, .null)["messages"]?.elements == [message])
    #expect(try await shop.store.call(.displayMessage, ["id": id]) == ["outcome": "completed"])
    #expect(try await shop.store.call(.messages, .null)["messages"]?.elements == [])
    #expect(await refusal { _ = try await shop.store.call(.displayMessage, ["id": id]) } == "not_found nothing_there")
    #expect(try await shop.store.storefront()?.country == "US")
    try shop.act(["action": "set_storefront", "country": "JPN"])
    let japan = try #require(Storefront(country: "JP", currency: "JPY"))
    #expect(shop.events.last == .storefrontChanged(japan))
    #expect(try await shop.store.storefront() == japan)
    #expect(try await shop.buy("coins").storefront == "JP")
  }

  /// The listener shows prices, and reads them again when it hears of the storefront.
  @Test func newPricesAreNews() async throws {
    let shop = try Counter()
    let usa = Storefront(country: "US", currency: "USD")
    try shop.act(["action": "price_increase", "product_id": "basic.monthly", "price": "11", "consent": false])
    #expect(shop.events == [.storefrontChanged(usa)])
    #expect(try await shop.store.products(["basic.monthly"]).first?.price.money == Money(minorUnits: 1100, "USD"))
    try shop.act(["action": "price_increase", "product_id": "basic.monthly", "price": "11", "consent": false])
    try shop.act(["action": "set_storefront", "country": "US"])
    #expect(shop.events.count == 1)
    try shop.act(["action": "clear"])
    #expect(shop.events.last == .storefrontChanged(usa))
    #expect(shop.events.count == 2)
  }

  @Test func whatIsBoughtElsewhereIsAnUpdate() async throws {
    let shop = try Counter()
    try shop.act(["action": "buy_elsewhere", "product_id": "coins", "quantity": 2])
    #expect(shop.takeUpdates().map(\.quantity) == [2])
    #expect(try await shop.unfinished().count == 1)
  }

  @Test func aRenewalCanBeHadAtOnceAndEverythingBeForgotten() async throws {
    let shop = try Counter()
    let first = try await shop.buy("basic.other")
    try shop.act(["action": "renew"])
    let second = try #require(shop.takeUpdates().first)
    #expect(second.isRenewal == true && second.purchasedAt == Counter.start)
    try shop.act(["action": "clear"])
    #expect(try await shop.unfinished() == [])
    #expect(try await shop.state() == "none")
    // Numbers are not used again.
    let third = try await shop.buy("basic.monthly")
    #expect(![first.id, second.id].contains(third.id) && third.offer?.kind == .introductory)
  }

  // MARK: Mistakes

  @Test(
    arguments: [
      (#"{"action":"refnud","transaction_id":"1"}"#, #"action "refnud" is not known; did you mean "refund"?"#),
      (#"{"action":"refund","transaction":"1"}"#, #"transaction is not a known key; did you mean "transaction_id"?"#),
      (#"{"action":"refund"}"#, "transaction_id is missing"),
      (
        #"{"action":"refund","transaction_id":"1","percentage":101}"#,
        "percentage must be a number from 0 to 100 with at most 3 decimal places (got a number)"
      ),
      (
        #"{"action":"refund","transaction_id":"1","percentage":1,"prorated":true}"#,
        "prorated and percentage exclude each other"
      ),
      (
        #"{"action":"price_increase","product_id":"coins","price":"-1"}"#,
        #"price must be a price of 0 or more, such as "12.99" (got a string)"#
      ),
      (
        #"{"action":"set_storefront","country":"XX"}"#,
        "country must be a country of ISO 3166 that has a currency, in two or three letters such as \"DE\" or \"DEU\" "
          + "(got \"XX\")"
      ),
      (#"{"action":"set_policy","policy":"aprove"}"#, "policy must be one of"),
      (#"{"action":"buy_elsewhere","product_id":"coins","quantity":0}"#, "quantity must be 1 to 10 (got 0)"),
      (#"{"action":"renew","product_id":3}"#, "product_id must be a string (got a number)"),
      (#"[]"#, "the document must be an object (got an array)"),
      (#"{}"#, "action is missing"),
    ])
  func mistakesAreNamedWithTheirPlace(_ action: String, _ expected: String) async throws {
    let shop = try Counter()
    do {
      try shop.act(JSON.parse(action))
      Issue.record("\(action) was accepted")
    } catch let error as KassaError {
      #expect(error.code == .invalidArgument)
      #expect(error.message.contains(expected), "\(error.message)")
    }
    #expect(try shop.log() == [])
  }

  @Test func whatCannotHappenSaysWhy() async throws {
    let shop = try Counter()
    for action in ["renew", "cancel_subscription", "resubscribe", "agree_to_price", "approve", "decline"] {
      #expect(await refusal { try shop.act(["action": JSON(action)]) } == "not_found nothing_there", "\(action)")
    }
    #expect(await refusal { try shop.store.notify([:]) } == "unsupported")
    for method in StoreMethod.allCases {
      #expect(
        await refusal { _ = try await shop.store.call(method, ["nonsense": 1]) } == "invalid_argument", "\(method)")
    }
  }
}
