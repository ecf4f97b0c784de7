import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

@Suite(.enabled(if: Corpus.isPresent, "../shared/data is absent")) struct StoreKitFileCorpusTests {
  /// What files that were written by hand have outside of the keys that the INDEX counts.
  static let elsewhere: [String: [StoreProduct.Kind: Int]] = [
    "16": [.nonConsumable: 1], "27": [.nonConsumable: 1], "43": [.subscription: 2], "87": [.nonConsumable: 1],
  ]

  /// Offers that are reported instead: of monthly payments.
  static let monthly: [String: [String: Int]] = ["81": ["promo free": 1, "introList free": 1]]

  @Test func theIndexIsRead() {
    #expect(Corpus.rows.count == 87)
    #expect(Corpus.readable.count == 85)
    #expect(Corpus.rows.reduce(0) { $0 + $1.offers.values.reduce(0, +) } > 100)
    #expect(Set(Corpus.rows.compactMap(\.timeRate)).count == 13)
  }

  @Test("S135 every published file has the products that its INDEX states", arguments: Corpus.readable)
  func products(_ row: Corpus.Row) throws {
    let catalogue = try StoreKitFile.read(Corpus.bytes(row.name))
    let number = String(row.name.prefix(2))
    for kind in StoreProduct.Kind.allCases {
      let expected = (row.counts[kind] ?? 0) + (Self.elsewhere[number]?[kind] ?? 0)
      #expect(catalogue.products.count { $0.kind == kind } == expected, "\(kind)")
    }
    let subscriptions = catalogue.products.compactMap(\.subscription)
    if number != "43" {
      #expect(Set(subscriptions.map(\.groupID)).count <= row.groups)
      #expect(Set(subscriptions.map(\.period)) == Set(row.periods.compactMap { Period(iso8601: $0) }))
    }
    #expect(catalogue.products.allSatisfy { ($0.kind == .subscription) == ($0.subscription != nil) })
  }

  @Test("Every published file has the offers that its INDEX states", arguments: Corpus.readable)
  func offers(_ row: Corpus.Row) throws {
    let catalogue = try StoreKitFile.read(Corpus.bytes(row.name))
    let number = String(row.name.prefix(2))
    let names: [StoreOffer.Kind: String] = [
      .introductory: "intro", .promotional: "promo", .code: "code", .winBack: "winback",
    ]
    let modes: [StoreOffer.PaymentMode: String] = [
      .freeTrial: "free", .payAsYouGo: "payAsYouGo", .payUpFront: "payUpFront",
    ]
    let offers = catalogue.products.compactMap(\.subscription).flatMap(\.offers)
    var found: [String: Int] = [:]
    for offer in offers { found["\(names[offer.kind] ?? "") \(modes[offer.paymentMode] ?? "")", default: 0] += 1 }
    var expected = row.offers.filter { !$0.key.hasSuffix(" none") && !$0.key.hasPrefix("introList") }
    for (name, count) in Self.monthly[number] ?? [:] where expected[name] != nil { expected[name]? -= count }
    if number == "43" { expected = ["intro free": 1] }
    #expect(found == expected)
    #expect(catalogue.unsupported.contains("subscriptionGroups[].subscriptions[].adHocOffers[]") == (number == "81"))
    let periods = Set(row.offerPeriods.compactMap { Period(iso8601: $0) })
    #expect(Set(offers.map(\.period)).isSubset(of: periods))
    if number != "81" { #expect(Set(offers.map(\.period)) == periods) }
  }

  @Test("Every published file has the storefront, locale and rate that its INDEX states", arguments: Corpus.readable)
  func settings(_ row: Corpus.Row) throws {
    let catalogue = try StoreKitFile.read(Corpus.bytes(row.name))
    #expect(catalogue.storefront == Storefront(country: row.storefront ?? "USA"))
    #expect(catalogue.settings.locale == row.locale ?? "en_US")
    #expect(catalogue.settings.timeRate == StoreTimeRate(fileValue: row.timeRate ?? 0))
    let currency = try #require(Territory.currency(row.storefront ?? "USA"))
    for product in catalogue.products {
      #expect(product.price.money.currency == currency)
      #expect(!product.price.formatted.isEmpty)
    }
  }

  @Test("Of all published files these keys are not honoured, and are reported")
  func unsupported() throws {
    var keys: [String: [String]] = [:]
    for row in Corpus.readable {
      for key in try StoreKitFile.read(Corpus.bytes(row.name)).unsupported {
        keys[key, default: []].append(String(row.name.prefix(2)))
      }
    }
    let subscriptions = "subscriptionGroups[].subscriptions[]"
    #expect(keys.removeValue(forKey: "appPolicies") != nil)
    #expect(keys.removeValue(forKey: "subscriptionOffersKeyPair")?.count == 5)
    #expect(
      keys == [
        "products[].promotionalImageID": ["53"], "settings._lastCheckoutTimestamp": ["58"],
        "subscriptionGroups[].localizations[].customAppName": ["21"],
        "\(subscriptions).adHocOffers[]": ["81"], "\(subscriptions).introductoryOffers[]": ["81"],
        "\(subscriptions).billingPlans[]": ["81"],
      ])
  }

  @Test("S135 the files that are no JSON are refused with a place")
  func unreadable() throws {
    let refused = Corpus.rows.filter { !$0.isReadable }
    #expect(refused.count == 2)
    #expect(throws: JSONShapeError(path: "", problem: "is empty: a .storekit file is a JSON object")) {
      try StoreKitFile.read(Corpus.bytes("85-chemsims-chemistry.storekit"))
    }
    let error = try #require(throws: JSONShapeError.self) {
      try StoreKitFile.read(Corpus.bytes("86-fcb1899v-trafficlight_flutter.storekit"))
    }
    #expect(error.path == "line 77, column 21")
    #expect(error.problem.hasPrefix("is not valid JSON: "))
  }

  @Test(
    "A byte order mark, other line ends or a missing last one change nothing",
    arguments: ["24-bom", "24-bom-crlf", "24-crlf", "24-no-final-newline"])
  func derived(_ name: String) throws {
    let original = try Corpus.bytes("24-CofficLab-Cisum_SwiftUI.storekit")
    let copy = try Corpus.bytes("derived/\(name).storekit")
    #expect(copy != original)
    #expect(try StoreKitFile.read(copy) == StoreKitFile.read(original))
    #expect(try StoreKitFile.read(copy).products.count == 11)
  }
}
