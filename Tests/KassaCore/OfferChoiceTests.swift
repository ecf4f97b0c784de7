import KassaCore
import Testing

@Suite struct OfferChoiceTests {
  private func product(
    intro: Bool? = true, promotional: Bool? = true, winBack: Bool? = true, introID: String? = nil
  ) throws -> Product {
    let offers = [
      try Shop.offer(introID, .introductory, eligible: intro),
      try Shop.offer("ios_half", .promotional, eligible: promotional),
      try Shop.offer("unlisted", .promotional, eligible: true), try Shop.offer("back", .winBack, eligible: winBack),
      try Shop.offer("code", .code, eligible: true),
    ]
    let listed = Shop.listed(
      "pro", offers: [.init(id: "half", storeOfferID: "ios_half"), .init(id: "old", storeOfferID: "ios_old")])
    return try #require(Product(listed, Shop.sold("pro", offers: offers)))
  }

  @Test(
    "What is ordered, and whether it has to be signed",
    arguments: [
      (.automatic, .automatic, false), (.none, .none, false), (.introductory, .automatic, false),
      (.id("half"), .id("ios_half"), true), (.id("ios_half"), .id("ios_half"), true), (.id("back"), .id("back"), false),
    ] as [(OfferChoice, StoreOrder.Offer, Bool)])
  func ordered(_ choice: OfferChoice, _ order: StoreOrder.Offer, _ needsSignature: Bool) throws {
    let chosen = try choice.resolved(for: product())
    #expect(chosen.order == order)
    #expect({ if case .promotional = chosen { true } else { false } }() == needsSignature)
  }

  private func refusal(_ choice: OfferChoice, _ product: Product) -> KassaError? {
    do throws(KassaError) {
      _ = try choice.resolved(for: product)
      return nil
    } catch { return error }
  }

  @Test(
    "An offer that is not there is no other price",
    arguments: [
      ("nothing", "unknown_offer"), ("", "unknown_offer"), ("unlisted", "unknown_offer"), ("old", "unknown_offer"),
      ("ios_old", "unknown_offer"), ("HALF", "unknown_offer"), ("code", "unsupported"),
    ])
  func unknown(_ id: String, _ reason: String) throws {
    let error = try #require(refusal(.id(id), product()))
    #expect(error.code == .offerUnavailable)
    #expect(error.reason == reason)
    #expect(error.message.hasSuffix("nothing was bought"))
    #expect(!error.retryable)
  }

  @Test("Who may not have an offer is told so") func ineligible() throws {
    let product = try product(intro: false, promotional: false, winBack: false, introID: "intro")
    for choice in [OfferChoice.introductory, .id("intro"), .id("half"), .id("ios_half"), .id("back")] {
      #expect(refusal(choice, product)?.reason == "ineligible_for_offer", "\(choice)")
    }
    #expect(refusal(.automatic, product) == nil)
  }

  @Test("Where only the store knows, it decides; but it would sell without the introductory offer") func storeDecides()
    throws
  {
    let product = try product(intro: nil, promotional: nil, winBack: nil)
    #expect(try OfferChoice.id("half").resolved(for: product).order == .id("ios_half"))
    #expect(try OfferChoice.id("back").resolved(for: product).order == .id("back"))
    #expect(refusal(.introductory, product)?.reason == "unsupported")
  }

  @Test("The seller's id comes before the store's") func sellersID() throws {
    let offers = [try Shop.offer("a", .promotional, eligible: true), try Shop.offer("b", .promotional, eligible: true)]
    let listed = Shop.listed("pro", offers: [.init(id: "b", storeOfferID: "a"), .init(id: "a", storeOfferID: "b")])
    let product = try #require(Product(listed, Shop.sold("pro", offers: offers)))
    #expect(try OfferChoice.id("a").resolved(for: product).order == .id("b"))
  }

  @Test("A product without offers has none") func noSubscription() throws {
    let coins = try #require(Product(Shop.listed("coins", .consumable), Shop.sold("coins", .consumable)))
    #expect(refusal(.introductory, coins)?.reason == "unknown_offer")
    #expect(refusal(.id("half"), coins)?.reason == "unknown_offer")
    #expect(try OfferChoice.automatic.resolved(for: coins) == .automatic)
  }
}
