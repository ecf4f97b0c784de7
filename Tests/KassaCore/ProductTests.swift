import Foundation
import KassaCore
import KassaJSON
import Testing

private typealias Decimal = KassaCore.Decimal

/// What a test sells, apart from what it says.
enum Shop {
  static func listed(
    _ slug: String, _ kind: Catalogue.Product.Kind = .subscription, apple: String? = "same",
    offers: [Catalogue.ListedOffer] = []
  ) -> Catalogue.Product {
    let id = apple.map { $0 == "same" ? "com.example.\(slug)" : $0 }
    return Catalogue.Product(
      id: "prod_\(slug)", slug: slug, name: "Name of \(slug)", kind: kind,
      storeProductIDs: id.map { [.apple: $0] } ?? [:], offers: offers)
  }

  static func price(_ amount: String, _ currency: String = "USD") throws -> StorePrice {
    StorePrice(Money(try #require(Decimal(amount)), currency), formatted: "<\(amount) \(currency)>")
  }

  static func offer(
    _ id: String?, _ kind: StoreOffer.Kind, eligible: Bool?, mode: StoreOffer.PaymentMode = .payAsYouGo
  ) throws -> StoreOffer {
    StoreOffer(
      id: id, kind: kind, paymentMode: mode, price: try price("0.99"), period: try #require(Period(1, .month)),
      periodCount: 3, isEligible: eligible)
  }

  static func sold(
    _ slug: String, _ kind: StoreProduct.Kind = .subscription, price: String = "49.99", currency: String = "USD",
    period: Period? = Period(1, .year), offers: [StoreOffer] = []
  ) throws -> StoreProduct {
    let subscription = kind == .subscription ? period : nil
    return StoreProduct(
      id: "com.example.\(slug)", kind: kind, displayName: "Display", description: "Description",
      price: try self.price(price, currency),
      subscription: subscription.map { StoreSubscription(groupID: "group", level: 1, period: $0, offers: offers) })
  }
}

@Suite struct ProductTests {
  private func text(_ amount: Decimal, _ currency: String, _ digits: Int?) -> String { "\(amount.text) \(currency)" }

  @Test("The document joins what the seller says and what the store says") func document() throws {
    let offers = [
      try Shop.offer(nil, .introductory, eligible: true, mode: .freeTrial),
      try Shop.offer("ios_half", .promotional, eligible: true), try Shop.offer("back", .winBack, eligible: true),
    ]
    let store = try Shop.sold("pro", offers: offers)
    let product = try #require(
      Product(Shop.listed("pro", offers: [.init(id: "half", storeOfferID: "ios_half")]), store))
    let document = product.document(text: text)
    #expect(document["id"] == "pro")
    #expect(document["slug"] == "pro")
    #expect(document["product_id"] == "prod_pro")
    #expect(document["name"] == "Name of pro")
    #expect(document["store_product_id"] == "com.example.pro")
    #expect(document["type"] == "subscription")
    #expect(document["display_name"] == "Display")
    #expect(document["description"] == "Description")
    #expect(
      document["price"] == [
        "amount": "49.99", "amount_micros": 49_990_000, "currency": "USD", "formatted": "<49.99 USD>",
      ])
    #expect(document["store"] == store.document)
    let subscription = try #require(document["subscription"])
    #expect(subscription["period"] == ["unit": "year", "count": 1])
    #expect(subscription["group_id"] == "group")
    #expect(
      subscription["price_per_month"] == [
        "amount": "4.17", "amount_micros": 4_170_000, "currency": "USD", "formatted": "4.17 USD",
      ])
    let phases: (JSON) -> JSON = { mode in
      let price: JSON = ["amount": "0.99", "amount_micros": 990_000, "currency": "USD", "formatted": "<0.99 USD>"]
      return [["payment_mode": mode, "price": price, "period": ["unit": "month", "count": 1], "cycles": 3]]
    }
    #expect(
      subscription["intro_offer"] == [
        "id": nil, "kind": "introductory", "phases": phases("free_trial"), "store_offer_id": nil,
      ])
    #expect(
      document["offers"] == [
        [
          "id": "half", "kind": "promotional", "phases": phases("pay_as_you_go"), "store_offer_id": "ios_half",
        ],
        ["id": "back", "kind": "win_back", "phases": phases("pay_as_you_go"), "store_offer_id": "back"],
      ])
  }

  @Test("The store's own text stands where the price is the store's own") func ownText() throws {
    let product = try #require(Product(Shop.listed("pro"), Shop.sold("pro")))
    let subscription = product.document(text: text)["subscription"]
    #expect(subscription?["price_per_year"]?["formatted"] == "<49.99 USD>")
    let twoYears = try #require(Product(Shop.listed("pro"), Shop.sold("pro", period: Period(2, .year))))
    #expect(twoYears.document(text: text)["subscription"]?["price_per_year"]?["formatted"] == "25 USD")
  }

  @Test("What is no subscription has none") func once() throws {
    let product = try #require(Product(Shop.listed("coins", .consumable), Shop.sold("coins", .consumable)))
    #expect(product.document(text: text)["subscription"]?.isNull == true)
    #expect(product.document(text: text)["offers"] == [])
    #expect(product.document(text: text)["type"] == "consumable")
  }

  @Test(
    "Only offers that the store says the user may have are listed", arguments: [nil, false, true] as [Bool?])
  func eligibility(_ eligible: Bool?) throws {
    let offers = [
      try Shop.offer(nil, .introductory, eligible: eligible),
      try Shop.offer("listed", .promotional, eligible: eligible),
      try Shop.offer("unlisted", .promotional, eligible: true), try Shop.offer("back", .winBack, eligible: eligible),
      try Shop.offer("code", .code, eligible: true),
    ]
    let listed = Shop.listed("pro", offers: [.init(id: "ours", storeOfferID: "listed")])
    let product = try #require(Product(listed, Shop.sold("pro", offers: offers)))
    #expect((product.introductoryOffer != nil) == (eligible == true))
    #expect(product.offers.map(\.id) == (eligible == true ? ["ours", "back"] : []))
    #expect(product.document(text: text)["store"]?["subscription"]?["offers"]?.elements.count == 5)
  }

  @Test("S042 the document's prices per unit, of 1,000 prices and periods") func unitPrices() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/unit_prices.tsv").path
    let rows = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(rows.count == 1000)
    for row in rows {
      let fields = row.split(separator: "\t").map(String.init)
      let period = try Period(#require(Int(fields[2])), #require(Period.Unit(rawValue: fields[3])))
      let store = try Shop.sold("pro", price: fields[0], currency: fields[1], period: period)
      let subscription = try #require(Product(Shop.listed("pro"), store)).document(text: text)["subscription"]
      let amounts = ["day", "week", "month", "year"].map { subscription?["price_per_\($0)"]?["amount"]?.string }
      #expect(amounts == fields[4...].map { $0 }, "\(row)")
    }
  }

  @Test("A price per unit that does not fit is null") func tooLarge() throws {
    let product = try #require(Product(Shop.listed("pro"), Shop.sold("pro", period: Period(.max, .week))))
    #expect(product.document(text: text)["subscription"]?["price_per_day"]?.isNull == true)
  }

  @Test("Which types of a store a seller's type may be sold as") func types() throws {
    var fitting: [String] = []
    for listed in [Catalogue.Product.Kind.subscription, .oneTime, .consumable] {
      for sold in StoreProduct.Kind.allCases where try Product(Shop.listed("p", listed), Shop.sold("p", sold)) != nil {
        fitting.append("\(listed.rawValue) \(sold.rawValue)")
      }
    }
    #expect(
      Set(fitting) == [
        "subscription subscription", "consumable consumable", "one_time non_consumable",
        "one_time non_renewing_subscription",
      ])
  }
}

@Suite struct ProductListingTests {
  private let catalogue = Catalogue(products: [
    Shop.listed("yearly"), Shop.listed("coins", .consumable), Shop.listed("web", apple: nil), Shop.listed("gone"),
    Shop.listed("wrong"),
  ])
  private func sold() throws -> [StoreProduct] {
    [try Shop.sold("yearly"), try Shop.sold("coins", .consumable), try Shop.sold("wrong", .consumable)]
  }

  @Test("All products are those that the store sells, by slug; what is not mapped is no news") func all() throws {
    let listing = ProductListing(catalogue, on: .apple, storeProducts: try sold())
    #expect(listing.products.map { $0?.listed.slug } == ["coins", "yearly"])
    #expect(listing.missing == [.init(slug: "gone", reason: .notSold)])
    #expect(listing.mismatched == [.init(slug: "wrong", listed: .subscription, sold: .consumable)])
    #expect(listing.mismatched.first?.reason == "subscription_sold_as_consumable")
  }

  @Test("Named products come in their order, with null for what cannot be bought, and each is reported once")
  func named() throws {
    let slugs = ["yearly", "nothing", "web", "coins", "gone", "yearly", "gone", "wrong", "", "wrong"]
    let listing = ProductListing(catalogue, on: .apple, storeProducts: try sold(), slugs: slugs)
    #expect(
      listing.products.map { $0?.listed.slug }
        == ["yearly", nil, nil, "coins", nil, "yearly", nil, nil, nil, nil])
    #expect(
      listing.missing == [
        .init(slug: "nothing", reason: .unknownProduct), .init(slug: "web", reason: .notMapped),
        .init(slug: "gone", reason: .notSold), .init(slug: "", reason: .unknownProduct),
      ])
    #expect(listing.mismatched.map(\.slug) == ["wrong"])
  }

  @Test("Nothing asked for, nothing mapped on this store, nothing there") func nothing() throws {
    #expect(ProductListing(catalogue, on: .apple, storeProducts: try sold(), slugs: []).products.isEmpty)
    let google = ProductListing(catalogue, on: .google, storeProducts: try sold())
    #expect(google.products.isEmpty && google.missing.isEmpty)
    #expect(ProductListing(Catalogue(), on: .apple, storeProducts: []).products.isEmpty)
  }

  @Test("The store is asked once for each id, of the products that are wanted") func ids() {
    let twice = Catalogue(products: [Shop.listed("a", apple: "x"), Shop.listed("b", apple: "x"), Shop.listed("c")])
    #expect(ProductListing.storeProductIDs(of: twice, on: .apple) == ["x", "com.example.c"])
    #expect(ProductListing.storeProductIDs(of: twice, on: .apple, slugs: ["c", "c", "d"]) == ["com.example.c"])
    #expect(ProductListing.storeProductIDs(of: twice, on: .google) == [])
  }
}
