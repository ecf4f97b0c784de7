import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

@Suite("Buying from the simulated App Store")
struct SimulatedStoreTests {
  @Test func aPurchaseIsSignedVerifiedAndUnfinishedUntilItIsFinished() async throws {
    let shop = try Counter()
    let token = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
    let coins = try await shop.buy("coins", quantity: 3, token: token)
    #expect(coins.productID == "coins" && coins.quantity == 3 && coins.price?.amountText == "2.97")
    #expect(coins.environment == .sandbox && coins.platform == .apple && coins.storefront == "US")
    #expect(coins.appAccountToken == token && coins.purchasedAt == Counter.start && coins.originalID == coins.id)
    #expect(coins.id.allSatisfy(\.isNumber) && coins.proof.split(separator: ".").count == 3)
    // The answer of a call is not an event too; what Apple's servers know of is registered once.
    #expect(shop.takeUpdates().isEmpty && shop.registrations.map(\.id) == [coins.id])
    #expect(try await shop.unfinished() == [coins])
    try await shop.store.finish(coins)
    try await shop.store.finish(coins)
    #expect(try await shop.unfinished() == [])
    #expect(try await shop.owned() == [])
    #expect(await refusal { try await shop.buy("coins", quantity: 11) } == "invalid_argument invalid_quantity")
    #expect(await refusal { try await shop.buy("lifetime", quantity: 2) } == "invalid_argument invalid_quantity")
    #expect(await refusal { try await shop.buy("coin") } == "product_not_found product_unavailable")
    #expect(try await Counter(isXcode: true).buy("coins").environment == .xcode)
  }

  @Test("S129 things to keep are listed however old they are; consumables never")
  func everyAge() async throws {
    let shop = try Counter()
    let lifetime = try await shop.buy("lifetime")
    try await shop.buy("coins")
    try await shop.buy("pass")
    try await shop.store.finish(lifetime)
    try shop.advance(days: 20 * 365)
    #expect(try await shop.store.restore())
    #expect(try await shop.owned() == ["lifetime", "pass"])
    // Buying it again charges nothing and gives the old one.
    #expect(try await shop.buy("lifetime").id == lifetime.id)
  }

  @Test("S005 a call that fails after the charge does not say that nothing was bought, and the next scan finds it")
  func failsAfterTheCharge() async throws {
    let shop = try Counter(Goods.with { $0.failures[.purchase] = "generic 1" })
    do {
      _ = try await shop.store.purchase(StoreOrder(productID: "coins"))
      Issue.record("the call did not fail")
    } catch {
      #expect(error.code == .storeFailed && !error.retryable)
      #expect(error.message.contains("unfinished") && !error.message.contains("nothing"))
    }
    #expect(shop.takeUpdates().isEmpty)
    #expect(try await shop.unfinished().map(\.productID) == ["coins"])
    #expect(shop.registrations.map(\.productID) == ["coins"])
  }

  @Test func eachSwitchOfTheFileMakesItsCallFail() async throws {
    func shop(_ call: StoreSettings.FailingCall) throws -> Counter {
      try Counter(Goods.with { $0.failures[call] = "generic 3" })
    }
    let failed = "store_failed store_error"
    let closed = try shop(.loadProducts), lost = try shop(.sync)
    #expect(await refusal { _ = try await closed.store.products(["coins"]) } == failed)
    #expect(await refusal { _ = try await lost.store.restore() } == failed)
    for (call, method) in [
      (StoreSettings.FailingCall.refundRequest, StoreMethod.beginRefund), (.subscriptionStatus, .subscriptionStatus),
      (.appTransaction, .appTransaction), (.manageSubscriptions, .manageSubscriptions),
      (.offerCodeRedemption, .presentCodeRedemption),
    ] {
      let shop = try shop(call)
      #expect(await refusal { _ = try await shop.store.call(method, .null) } == failed, "\(method)")
    }
    let unverified = try await shop(.verification).store.purchase(StoreOrder(productID: "coins"))
    guard case .purchased(.unverified(_, "coins", "simulated_failure", _)) = unverified else {
      Issue.record("\(unverified)")
      return
    }
    let declined = try Counter(Goods.with { $0.failsTransactions = true })
    #expect(await refusal { try await declined.buy("coins") } == "payment_failed declined")
    #expect(try await declined.unfinished() == [])
    let barred = try Counter(Goods.with { $0.isPaymentDisabled = true })
    #expect(await refusal { try await barred.buy("coins") } == "store_failed purchase_not_allowed")
    #expect(try await barred.store.call(.canMakePayments, .null) == ["can_make_payments": false])
  }

  // MARK: Offers

  @Test("S054 one subscription of the group uses up the introductory offer of all")
  func eligibilityIsOfTheGroup() async throws {
    let shop = try Counter()
    #expect(try await shop.eligibility("basic.monthly", .introductory) == true)
    #expect(try await shop.eligibility("basic.monthly", .promotional) == false)
    #expect(try await shop.eligibility("basic.monthly", .winBack) == false)
    #expect(try await shop.eligibility("basic.monthly", .code) == nil)
    try await shop.buy("basic.yearly")
    #expect(try await shop.eligibility("basic.monthly", .introductory) == false)
    #expect(try await shop.eligibility("basic.monthly", .promotional) == true)
    try shop.act(["action": "cancel_subscription"])
    try shop.advance(days: 366)
    #expect(try await shop.eligibility("basic.monthly", .introductory) == false)
    #expect(try await shop.eligibility("basic.monthly", .winBack) == true)
    let back = try await shop.buy("basic.monthly")
    #expect(back.offer == nil && back.price?.amountText == "9.99")
  }

  @Test("S055 what is not known is said to be unknown, and the automatic offer still works")
  func unknownEligibility() async throws {
    let shop = try Counter(Goods.with { $0.failures[.subscriptionStatus] = "generic 2" })
    #expect(try await shop.eligibility("basic.monthly", .introductory) == nil)
    #expect(try await shop.buy("basic.monthly").offer?.kind == .introductory)
  }

  @Test func offersOfOthersAreRefused() async throws {
    let shop = try Counter()
    func trying(_ offer: String) async -> String {
      await refusal { try await shop.buy("basic.monthly", offer: .id(offer)) }
    }
    #expect(await trying("half") == "offer_unavailable ineligible_for_offer")
    #expect(await trying("back") == "offer_unavailable ineligible_for_offer")
    #expect(await trying("hafl") == "offer_unavailable invalid_offer")
    #expect(await trying("WELCOME") == "offer_unavailable invalid_offer")
    #expect(try await shop.unfinished() == [])
    #expect(try await shop.buy("basic.monthly", offer: .none).offer == nil)
  }

  @Test func codesAreRedeemedByWhomTheyAreFor() async throws {
    var catalogue = Goods.catalogue
    catalogue.codeTerms = ["basic.monthly": ["WELCOME": StoreCodeTerms(customers: [.new], isStackable: false)]]
    let shop = try Counter(catalogue)
    #expect(try await shop.store.call(.presentCodeRedemption, ["code": "WELCOME"]) == ["outcome": "completed"])
    let bought = try #require(shop.takeUpdates().first)
    #expect(bought.offer?.kind == .code && bought.offer?.paymentMode == .payUpFront)
    #expect(day(bought.expiresAt) == "2027-01-20" && bought.price?.amountText == "15.00")
    let again = await refusal { try shop.act(["action": "redeem_code", "code": "WELCOME"]) }
    #expect(again == "offer_unavailable ineligible_for_offer")
    #expect(
      await refusal { try shop.act(["action": "redeem_code", "code": "OTHER"]) } == "offer_unavailable invalid_offer")
  }

  /// Three months by the code, then the free week, then the regular price; in every process.
  @Test func aStackableCodeLeavesTheIntroductoryOffer() async throws {
    for (isStackable, wanted) in [(true, ["15.00 P3M", "0.00 P1W", "9.99 none"]), (false, ["15.00 P3M", "9.99 none"])] {
      var catalogue = Goods.catalogue
      catalogue.codeTerms = ["basic.monthly": ["WELCOME": StoreCodeTerms(customers: [.new], isStackable: isStackable)]]
      try await withFolder { folder in
        let path = "\(folder)/store.db"
        let shop = try Counter(catalogue, path: path)
        try shop.act(["action": "redeem_code", "code": "WELCOME"])
        #expect(try await shop.eligibility("basic.monthly", .introductory) == false)
        let next = try Counter(catalogue, path: path, time: shop.time)
        try next.advance(days: 92 + 8)
        let found = next.store.ledger.transactions.all.map { "\($0.price.amountText) \($0.offer?.period ?? "none")" }
        #expect(found == wanted)
      }
    }
    // Who had the introductory offer before, in another subscription of the group, has it no more.
    var catalogue = Goods.catalogue
    catalogue.codeTerms = ["basic.monthly": ["WELCOME": StoreCodeTerms(customers: [.expired], isStackable: true)]]
    let shop = try Counter(catalogue)
    try await shop.buy("basic.other")
    try shop.act(["action": "cancel_subscription"])
    try shop.advance(days: 40)
    try shop.act(["action": "redeem_code", "code": "WELCOME"])
    try shop.advance(days: 100)
    #expect(shop.store.ledger.transactions.all.map(\.price.amountText) == ["8.99", "15.00", "9.99"])
  }

  @Test func anOfferThatTheFileSwitchesOffIsForNobody() async throws {
    let text = """
      {"subscriptionGroups": [{"id": "g", "subscriptions": [{"productID": "p", "displayPrice": "1", "groupNumber": 1,
        "recurringSubscriptionPeriod": "P1M", "type": "RecurringSubscription", "winbackOffers": [
          {"offerID": "no", "paymentMode": "free", "subscriptionPeriod": "P1W", "isEligible": false},
          {"offerID": "yes", "paymentMode": "free", "subscriptionPeriod": "P1W", "isEligible": true}]}]}]}
      """
    let shop = try Counter(StoreKitFile.read(Array(text.utf8)))
    try await shop.buy("p")
    try shop.act(["action": "cancel_subscription"])
    try shop.advance(days: 40)
    let offers = try await shop.store.products(["p"]).first?.subscription?.offers ?? []
    #expect(offers.map(\.isEligible) == [false, true])
    #expect(try await shop.status()["win_back_offers"] == nil)
    #expect(try await shop.status("g")["win_back_offers"] == ["yes"])
    #expect(await refusal { try await shop.buy("p", offer: .id("no")) } == "offer_unavailable ineligible_for_offer")
    #expect(try await shop.buy("p", offer: .id("yes")).offer?.id == "yes")
  }

  @Test func whatIsShownIsChargedAndSigned() async throws {
    let text = #"{"products": [{"productID": "c", "type": "Consumable", "displayPrice": "0.99"}]}"#
    let shop = try Counter(StoreKitFile.read(Array(text.utf8), storefront: "JPN"))
    #expect(try await shop.store.products(["c"]).first?.price.money.amountText == "1")
    #expect(try await shop.buy("c", quantity: 3).price == Money(minorUnits: 3, "JPY"))
    try shop.act(["action": "price_increase", "product_id": "c", "price": "1.5"])
    #expect(try await shop.store.products(["c"]).first?.price.money.amountText == "2")
    #expect(try await shop.buy("c").price == Money(minorUnits: 2, "JPY"))
  }

  // MARK: Sheets

  @Test("S058, S059 Ask to Buy: pending at once and without an id; approved a week later, in another process")
  func askToBuy() async throws {
    try await withFolder { folder in
      let child = try Counter(path: "\(folder)/store.db")
      let order = StoreOrder(productID: "lifetime", simulatesAskToBuy: true)
      #expect(try await child.store.purchase(order) == .pending)
      #expect(try await child.store.purchase(order) == .pending)
      #expect(try await child.unfinished() == [])
      #expect(try await child.owned() == [])
      try child.advance(days: 7)
      let parent = try Counter(path: "\(folder)/store.db", time: child.time)
      try parent.act(["action": "approve"])
      // Asking twice was one question.
      #expect(await refusal { try parent.act(["action": "approve"]) } == "not_found nothing_there")
      #expect(child.takeUpdates().isEmpty)
      try child.store.refresh()
      let updates = child.takeUpdates()
      #expect(updates.map(\.productID) == ["lifetime"])
      #expect(updates.first?.purchasedAt == Counter.start + 7 * Counter.day)
      #expect(try await child.owned() == ["lifetime"])
    }
  }

  @Test("S058 a declined request arrives as nothing owed")
  func declined() async throws {
    let shop = try Counter(Goods.with { $0.asksToBuy = true })
    #expect(try await shop.store.purchase(StoreOrder(productID: "coins")) == .pending)
    #expect(
      await refusal { try shop.act(["action": "decline", "product_id": "lifetime"]) } == "not_found nothing_there")
    try shop.act(["action": "decline", "product_id": "coins"])
    #expect(try await shop.unfinished() == [])
    #expect(shop.takeUpdates().isEmpty)
  }

  @Test("S062 a purchase that looked cancelled and succeeds later is an update")
  func interrupted() async throws {
    let shop = try Counter(Goods.with { $0.interruptsPurchases = true })
    #expect(try await shop.store.purchase(StoreOrder(productID: "lifetime")) == .cancelled)
    #expect(try await shop.unfinished() == [])
    shop.time.advance(milliseconds: 60_000)
    try shop.act(["action": "approve"])
    #expect(shop.takeUpdates().map(\.productID) == ["lifetime"])
    #expect(try await shop.unfinished().map(\.productID) == ["lifetime"])
  }

  @Test func thePolicyDecides() async throws {
    let shop = try Counter(policy: .always(.cancel))
    let order = StoreOrder(productID: "coins")
    #expect(try await shop.store.purchase(order) == .cancelled)
    try shop.act(["action": "set_policy", "policy": "fail"])
    #expect(await refusal { _ = try await shop.store.purchase(order) } == "payment_failed declined")
    try shop.act(["action": "set_policy", "policy": "ask_to_buy"])
    #expect(try await shop.store.purchase(order) == .pending)
    try shop.act(["action": "set_policy", "policy": "host"])
    #expect(await refusal { _ = try await shop.store.purchase(order) } == "unsupported")
    let presenter = Presenter(.approve)
    shop.store.presenter = presenter
    #expect(try await shop.store.purchase(StoreOrder(productID: "coins", quantity: 2)) != .pending)
    guard case .purchase(_, let product, let price, nil)? = presenter.seen.first else {
      Issue.record("\(presenter.seen)")
      return
    }
    #expect(product.id == "coins" && price.formatted == "$1.98")
  }
}

private final class Presenter: SheetPresenter {
  private let decision: SheetDecision
  private(set) var seen: [StoreSheet] = []
  init(_ decision: SheetDecision) { self.decision = decision }
  func decide(_ sheet: StoreSheet) async throws(KassaError) -> SheetDecision {
    seen.append(sheet)
    return decision
  }
}
