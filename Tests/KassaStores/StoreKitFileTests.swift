import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

private typealias Decimal = KassaCore.Decimal

private func money(_ amount: String, _ currency: String) throws -> Money {
  Money(try #require(Decimal(amount)), currency)
}

private func period(_ count: Int, _ unit: Period.Unit) throws -> Period { try #require(Period(count, unit)) }

private func read(_ text: String, storefront: String? = nil, locale: String? = nil) throws -> StoreCatalogue {
  try StoreKitFile.read(Array(text.utf8), storefront: storefront, locale: locale)
}

extension StoreCatalogue {
  fileprivate func product(_ id: String) throws -> StoreProduct { try #require(products.first { $0.id == id }) }
}

@Suite struct StoreKitFileTests {
  @Test("Products of every kind are read, in the file's order of lists")
  func kinds() throws {
    let catalogue = try StoreKitFile.read(fixture("everything.storekit"))
    #expect(
      catalogue.products.map(\.id) == ["coins_100", "full_game", "season_pass", "gold_monthly", "silver_weekly"])
    #expect(
      catalogue.products.map(\.kind)
        == [.consumable, .nonConsumable, .nonRenewingSubscription, .subscription, .subscription])
    #expect(catalogue.products.map(\.isFamilyShareable) == [false, true, false, true, false])
    #expect(catalogue.storefront == Storefront(country: "DE"))
  }

  @Test("A group has its level, period and localized name, and the offers that it can sell")
  func subscriptions() throws {
    let catalogue = try StoreKitFile.read(fixture("everything.storekit"))
    let gold = try #require(catalogue.product("gold_monthly").subscription)
    #expect(gold.groupID == "20000001")
    #expect(gold.groupName == "Spielekreis")
    #expect(gold.level == 1)
    #expect(gold.period == (try period(1, .month)))
    let offers = gold.offers.map { "\($0.kind) \($0.id ?? "-") \($0.paymentMode) \($0.price.money.amountText)" }
    #expect(
      offers == [
        "introductory - freeTrial 0.00", "promotional half_year payUpFront 19.99", "winBack come_back freeTrial 0.00",
        "code Spring freeTrial 0.00", "code Autumn payAsYouGo 0.99",
      ])
    #expect(gold.offers.map(\.periodCount) == [1, 1, 1, 1, 5])
    #expect(gold.offers.map(\.isEligible) == [nil, nil, true, nil, nil])
    let silver = try #require(catalogue.product("silver_weekly").subscription)
    #expect(silver.level == 2)
    #expect(silver.period == (try period(1, .week)))
    #expect(silver.offers.isEmpty)
  }

  @Test("Codes keep who may redeem them, and whether a trial comes on top")
  func codes() throws {
    let terms = try StoreKitFile.read(fixture("everything.storekit")).codeTerms
    #expect(
      terms == [
        "gold_monthly": [
          "Spring": StoreCodeTerms(customers: [.new, .expired], isStackable: true),
          "Autumn": StoreCodeTerms(customers: [.existing], isStackable: false),
        ]
      ])
  }

  @Test("Every switch is read, and absent ones are off")
  func settings() throws {
    let settings = try StoreKitFile.read(fixture("everything.storekit")).settings
    #expect(
      settings
        == StoreSettings(
          timeRate: .everyRenewal(milliseconds: 30000),
          failures: [.purchase: "purchase 1", .refundRequest: "refund request 0"], asksToBuy: true,
          hasBillingGracePeriod: true, hasBillingIssues: true, disablesDialogs: true, locale: "de_DE"))
    #expect(try read(#"{"products":[]}"#).settings == StoreSettings(locale: "en_US"))
    let others = try read(
      """
      {"products":[],"settings":{"_billingIssuesEnabled":true,"_failTransactionsEnabled":true,
       "_storeKitPaymentDisabledByParentalControls":true}}
      """
    ).settings
    #expect(
      others
        == StoreSettings(failsTransactions: true, interruptsPurchases: true, isPaymentDisabled: true, locale: "en_US"))
    #expect(
      try read(#"{"products":[],"settings":{"_interruptedPurchasesEnabled":true}}"#).settings.interruptsPurchases)
  }

  @Test("What is not honoured is reported once by its key, and what only Xcode needs is not")
  func unsupported() throws {
    let subscription = "subscriptionGroups[].subscriptions[]"
    #expect(
      try StoreKitFile.read(fixture("everything.storekit")).unsupported == [
        "subscriptionBundleGroups", "subscriptionOffersKeyPair", "subscriptionGroups[].localizations[].customAppName",
        "\(subscription).billingPlans[]", "\(subscription).introductoryOffers[]", "\(subscription).adHocOffers[]",
      ])
    #expect(try StoreKitFile.read(fixture("first_format.storekit")).unsupported == ["settings._storeKitError"])
    #expect(try StoreKitFile.read(fixture("written_by_hand.storekit")).unsupported.isEmpty)
    #expect(
      try read(#"{"products":[],"version":{"major":7},"appPolicies":{"eula":"x"},"settings":{"_timeRate":7}}"#)
        .unsupported == ["version", "settings._timeRate", "appPolicies"])
    #expect(try read(#"{"products":[],"news":[],"appPolicies":{"eula":""},"more":{},"none":null}"#).unsupported.isEmpty)
    let many = (1...200).map { #""key\#($0)":1"# }.joined(separator: ",")
    let named = try read(#"{"products":[],\#(many)}"#).unsupported
    #expect(named.count == 101)
    #expect(named.last == "and more")
    let failure = #"{"name":"Something new","enabled":true,"current":null}"#
    #expect(
      try read(#"{"products":[],"settings":{"_storeKitErrors":[\#(failure)]}}"#).unsupported
        == ["settings._storeKitErrors[]"])
  }

  @Test("The spellings of files that were written by hand are read")
  func writtenByHand() throws {
    let catalogue = try StoreKitFile.read(fixture("written_by_hand.storekit"))
    #expect(catalogue.products.map(\.id) == ["tip", "plain", "a", "b", "c", "d"])
    let tip = try catalogue.product("tip")
    #expect(tip.kind == .consumable)
    #expect(tip.displayName == "A tip")
    #expect(tip.price == StorePrice(try money("0.99", "USD"), formatted: "$0.99"))
    #expect(try catalogue.product("a").kind == .nonConsumable)
    #expect(try catalogue.product("a").isFamilyShareable)
    let plain = try #require(catalogue.product("plain").subscription)
    #expect(plain.groupID == "main")
    #expect(plain.offers.map(\.paymentMode) == [.freeTrial])
    #expect(try catalogue.product("c").subscription?.groupID == "7")
    #expect(try catalogue.product("d").subscription?.groupID == "subscriptions")
  }

  @Test("S045, S047 a storefront's prices are in its currency, exact, and written as its locale does")
  func storefronts() throws {
    let text = #"{"products":[{"productID":"p","type":"Consumable","displayPrice":"1234.5"}],"#
    let cases = [
      ("GBR", "en_GB", "GBP", "£1,234.50"), ("JPN", "ja_JP", "JPY", "￥1,235"),
      ("KWT", "ar_KW", "KWD", "\u{200F}1,234.500\u{A0}د.ك.\u{200F}"), ("CZE", "cs_CZ", "CZK", "1\u{A0}234,50\u{A0}Kč"),
      ("DEU", "en_US", "EUR", "€1,234.50"),
    ]
    for (country, locale, currency, formatted) in cases {
      let own = try read(text + #""settings":{"_storefront":"\#(country)","_locale":"\#(locale)"}}"#)
      let given = try read(
        text + #""settings":{"_storefront":"USA","_locale":"fr"}}"#, storefront: country, locale: locale)
      for catalogue in [own, given] {
        // What is shown is what is charged.
        #expect(try catalogue.product("p").price.money == money(currency == "JPY" ? "1235" : "1234.5", currency))
        #expect(try catalogue.product("p").price.formatted == formatted)
        #expect(catalogue.storefront == Storefront(country: country))
      }
    }
  }

  @Test(
    "Every way to write a price is exact, to the cent",
    arguments: [
      (#""4.99""#, "4.99"), (#""0.5""#, "0.50"), (#""9800""#, "9800.00"), (#""0""#, "0.00"), (#""0.00""#, "0.00"),
      (#""""#, "0.00"), ("39.99", "39.99"), ("3", "3.00"), ("0.1", "0.10"), (#""0.055""#, "0.06"),
    ])
  func prices(_ written: String, _ amount: String) throws {
    let catalogue = try read(#"{"products":[{"id":"p","type":"Consumable","price":\#(written)}]}"#)
    #expect(catalogue.products.first?.price.money.amountText == amount)
  }

  @Test(
    "The language of the reading, else one that is near, else English, else the first",
    arguments: [
      ("de_DE", "de_DE"), ("de-DE", "de_DE"), ("de_AT", "de_DE"), ("de_DE.UTF-8", "de_DE"), ("pt_BR", "pt_PT"),
      ("zh_TW", "zh_Hant"), ("zh_HK", "zh_Hant"), ("zh_CN", "zh_Hans"), ("zh-Hans-SG", "zh_Hans"), ("fr_FR", "en_US"),
      ("", "en_US"), ("EN_gb", "en_US"), ("🙂", "en_US"),
    ])
  func languages(_ locale: String, _ expected: String) throws {
    let names = ["pt_PT", "de_DE", "zh_Hans", "zh_Hant", "en_US"].map { #"{"locale":"\#($0)","displayName":"\#($0)"}"# }
    let text = """
      {"products":[{"productID":"p","type":"Consumable","displayPrice":"1","localizations":[\(names.joined(separator: ","))]}]}
      """
    #expect(try read(text, locale: locale).products.first?.displayName == expected)
    let first = text.replacing(names[4], with: #"{"locale":"ja","displayName":"ja"}"#)
    if expected == "en_US" { #expect(try read(first, locale: locale).products.first?.displayName == "pt_PT") }
  }

  @Test(
    "S049, S050 compound periods of offers add up",
    arguments: [
      ("P12W6D", 90, Period.Unit.day), ("P52W1D", 365, .day), ("P1Y6M", 18, .month), ("P7D", 1, .week),
      ("P3D", 3, .day),
    ])
  func offerPeriods(_ written: String, _ count: Int, _ unit: Period.Unit) throws {
    let text = try String(decoding: fixture("everything.storekit"), as: UTF8.self).replacing("P12W6D", with: written)
    let offer = try #require(try read(text).product("gold_monthly").subscription?.offers.first)
    #expect(offer.period == (try period(count, unit)))
  }

  @Test("A byte order mark, CRLF and a missing line end change nothing")
  func lineEnds() throws {
    let text = try String(decoding: fixture("everything.storekit"), as: UTF8.self)
    let original = try read(text)
    #expect(try read("\u{FEFF}" + text) == original)
    #expect(try read(text.replacing("\n", with: "\r\n")) == original)
    #expect(try read(String(text.dropLast())) == original)
    #expect(try read("\u{FEFF}" + text.replacing("\n", with: "\r\n")) == original)
  }
}
