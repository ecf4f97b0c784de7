import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

/// What is refused, and where. Each case changes one thing of a file that is read.
@Suite struct StoreKitFileRefusalTests {
  private static let start = "subscriptionGroups[0].subscriptions[0]"

  private func refusal(_ bytes: [UInt8]) throws -> String {
    try #require(throws: JSONShapeError.self) { try StoreKitFile.read(bytes) }.description
  }

  private func refusal(_ text: String) throws -> String { try refusal(Array(text.utf8)) }

  @Test("The file that the cases change is read")
  func unchanged() throws { #expect(try StoreKitFile.read(fixture("everything.storekit")).products.count == 5) }

  @Test(
    "S050, S051 wrong values are refused with their place",
    arguments: [
      (#""P1M","#, #""P1X","#, #"\#(start).recurringSubscriptionPeriod must be a period such as "P1M" (got "P1X")"#),
      (#""P1M","#, #""365","#, #"\#(start).recurringSubscriptionPeriod must be a period such as "P1M" (got "365")"#),
      (#""P1M","#, #""PT1H","#, #"\#(start).recurringSubscriptionPeriod must be a period such as "P1M" (got "PT1H")"#),
      (#""P1M","#, #""P-1D","#, #"\#(start).recurringSubscriptionPeriod must be a period such as "P1M" (got "P-1D")"#),
      (#""P1M","#, #""P","#, #"\#(start).recurringSubscriptionPeriod must be a period such as "P1M" (got "P")"#),
      (#""P1M","#, #""","#, #"\#(start).recurringSubscriptionPeriod must be a period such as "P1M" (got "")"#),
      (#""P1M","#, "30,", #"\#(start).recurringSubscriptionPeriod must be a string (got a number)"#),
      (#""P1M","#, "null,", #"\#(start).recurringSubscriptionPeriod is missing"#),
      (#""P1M","#, #""P101Y","#, #"\#(start).recurringSubscriptionPeriod must be at most 100 years (got 101 years)"#),
      (
        #""P12W6D""#, #""P1.5M""#,
        #"\#(start).introductoryOffer.subscriptionPeriod must be a period such as "P1M" (got "P1.5M")"#
      ),
      (
        #""payUpFront""#, #""later""#,
        #"\#(start).adHocOffers[0].paymentMode must be one of "free", "payAsYouGo", "payUpFront", "none", "freeTrial" (got "later")"#
      ),
      (
        #""19.99""#, #""19,99""#, #"\#(start).adHocOffers[0].displayPrice must be a price such as "4.99" (got "19,99")"#
      ),
      (#""19.99""#, "null", #"\#(start).adHocOffers[0].displayPrice is missing"#),
      (#""half_year""#, "5", #"\#(start).adHocOffers[0].offerID must be a string (got a number)"#),
      (#""half_year""#, "null", #"\#(start).adHocOffers[0].offerID is missing"#),
      (
        #""Autumn""#, #""Spring""#,
        #"\#(start).codeOffers[1] has the name "Spring" of an earlier offer of its kind"#
      ),
      (
        #""existing""#, #""all""#,
        #"\#(start).codeOffers[1].eligibility[0] must be one of "new", "existing", "expired" (got "all")"#
      ),
      (#": 5,"#, ": 0,", #"\#(start).codeOffers[1].numberOfPeriods must be a whole number from 1 to 999 (got 0)"#),
      (#": 5,"#, ": 2.5,", #"\#(start).codeOffers[1].numberOfPeriods must be a whole number (got a number)"#),
      (#""4.99","#, #""-4.99","#, #"\#(start).billingPlans[0].displayPrice"#),
      (
        #""groupNumber" : 1"#, #""groupNumber" : 0"#,
        #"\#(start).groupNumber must be a whole number from 1 to 10000 (got 0)"#
      ),
      (#""groupNumber" : 1"#, #""rank" : 1"#, #"\#(start).groupNumber is missing"#),
      (
        #""familyShareable" : true"#, #""familyShareable" : 1"#,
        "products[1].familyShareable must be true or false (got a number)"
      ),
      (
        #""Consumable""#, #""Comestible""#,
        #"products[0].type must be one of "Consumable", "NonConsumable", "NonRenewingSubscription", "RecurringSubscription", "NonRenewing", "AutoRenewableSubscription", "AutoRenewable", "Subscription" (got "Comestible")"#
      ),
      (#""Consumable""#, "null", "products[0].type is missing"),
      (#""coins_100""#, #""full_game""#, #"products[1] has the product id "full_game", which products[0] has already"#),
      (
        #""silver_weekly""#, #""coins_100""#,
        #"subscriptionGroups[0].subscriptions[1] has the product id "coins_100", which products[0] has already"#
      ),
      (#""coins_100""#, #""""#, "products[0].productID must not be empty"),
      (#""coins_100""#, "null", "products[0].productID is missing"),
      (#""0.5""#, "true", #"products[0].displayPrice must be a price such as "4.99" (got a boolean)"#),
      (#""0.5""#, "null", "products[0].displayPrice is missing"),
      (#""0.5""#, "-1", #"products[0].displayPrice must be a price such as "4.99" (got "-1")"#),
      (#""0.5""#, "1e300", #"products[0].displayPrice must be a price such as "4.99" (got "1e+300")"#),
      (
        #""0.5""#, #""1000000000000""#,
        #"products[0].displayPrice must be a price such as "4.99" (got "1000000000000")"#
      ),
      (#""0.5""#, #""$0.50""#, #"products[0].displayPrice must be a price such as "4.99" (got "$0.50")"#),
      (#""Coins""#, "[]", "products[0].localizations[0].displayName must be a string (got an array)"),
      (#""DEU""#, #""XYZ""#, #"settings._storefront must be a country such as "USA" (got "XYZ")"#),
      (#""DEU""#, "49", "settings._storefront must be a string (got a number)"),
      (#""_timeRate" : 1003"#, #""_timeRate" : "fast""#, "settings._timeRate must be a whole number (got a string)"),
      (
        #""index" : 1"#, #""index" : "one""#,
        "settings._storeKitErrors[1].current.index must be a whole number (got a string)"
      ),
      (
        #""_askToBuyEnabled" : true"#, #""_askToBuyEnabled" : "yes""#,
        "settings._askToBuyEnabled must be true or false (got a string)"
      ),
      (#""major" : 5"#, #""major" : "five""#, "version.major must be a whole number (got a string)"),
      (#""id" : "20000001","#, "", "subscriptionGroups[0].id is missing"),
    ])
  func values(_ old: String, _ new: String, _ expected: String) throws {
    let text = try String(decoding: fixture("everything.storekit"), as: UTF8.self)
    let place = try #require(text.firstRange(of: old))
    let changed = text.replacingCharacters(in: place, with: new)
    if expected.hasSuffix("displayPrice") {
      // Xcode's copy of the price in a plan is not read.
      #expect(try StoreKitFile.read(Array(changed.utf8)).products.count == 5)
    } else {
      #expect(try refusal(changed) == expected)
    }
  }

  @Test("Files that are something else say so")
  func otherFiles() throws {
    #expect(try refusal("") == "the document is empty: a .storekit file is a JSON object")
    #expect(try refusal(" \n") == "the document is empty: a .storekit file is a JSON object")
    let plist = #"<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict/></plist>"#
    let isPlist = "is a property list, not JSON: save the StoreKit configuration with Xcode 12 or newer"
    #expect(try refusal(plist) == "line 1, column 1 \(isPlist)")
    #expect(try refusal("\u{FEFF}\n" + plist) == "line 2, column 1 \(isPlist)")
    #expect(try refusal("bplist00\u{1}\u{2}").hasSuffix(isPlist))
    #expect(try refusal("[]") == "the document must be an object (got an array)")
    #expect(
      try refusal(#"{"name":"left-pad"}"#).hasPrefix("the document is no .storekit file: it has none of products,"))
    #expect(try refusal([0xFF, 0xFE, 0x7B]).hasPrefix("line 1, column "))
  }

  @Test(
    "What is no JSON is refused with line and column",
    arguments: [
      ("{\n  \"products\" : [\n    {\"productID\" : }\n  ]\n}", 3, 20, "unexpected token"),
      ("{\"products\":[],\n\"products\":[]}", 2, 10, "duplicate object key"),
      (#"{"products":[],"version":{"major":99999999999999999999}}"#, 1, 54, "too big integer"),
      (#"{"products":[],"a":1e999}"#, 1, 24, "real number overflow"),
      (#"{"products":[]"#, 1, 14, "'}' expected"),
      (#"{"products":[]} {}"#, 1, 17, "end of file expected"),
      (#"{"products":"# + String(repeating: "[", count: 100_000), 1, 2060, "maximum parsing depth"),
    ])
  func syntax(_ text: String, _ line: Int, _ column: Int, _ message: String) throws {
    let refusal = try refusal(text)
    #expect(refusal.hasPrefix("line \(line), column \(column) is not valid JSON: \(message)"), "\(refusal)")
  }

  @Test("Size and number of products are bounded")
  func bounds() throws {
    let large = Array(repeating: UInt8(ascii: " "), count: StoreKitFile.maximumBytes + 1)
    #expect(try refusal(large) == "the document has 4194305 bytes; a .storekit file has at most 4194304")
    let products = (0...StoreKitFile.maximumProducts).map { #"{"id":"\#($0)","type":"consumable","price":1}"# }
    let refusal = try refusal(#"{"products":[\#(products.joined(separator: ","))]}"#)
    #expect(refusal == "products[10000] is one too many: at most 10000 products")
    let offers = (0...StoreKitFile.maximumOffers).map {
      #"{"offerID":"\#($0)","paymentMode":"free","subscriptionPeriod":"P1W"}"#
    }
    let subscription = """
      {"subscriptionGroups":[{"id":"g","subscriptions":[{"productID":"p","displayPrice":"1","groupNumber":1,
       "recurringSubscriptionPeriod":"P1M","adHocOffers":[\(offers.joined(separator: ","))]}]}]}
      """
    #expect(
      try self.refusal(subscription)
        == "\(Self.start).adHocOffers[1000] is one too many: at most 1000 offers of a subscription")
  }

  @Test("An error is never long, and has no control characters in it")
  func shortErrors() throws {
    let long = String(repeating: "x\\u0007é", count: 50_000)
    for text in [
      #"{"products":[{"id":"p","type":"\#(long)"}]}"#,
      #"{"products":[{"id":"p","type":"Consumable","price":"\#(long)"}]}"#,
      #"{"subscriptionGroups":[{"id":"\#(long)"},{"id":"\#(long)"}]}"#,
      #"{"products":[],"settings":{"_storefront":"\#(long)"}}"#,
      "{\"products\":\"\(long)\"",
    ] {
      let refusal = try refusal(text)
      #expect(refusal.utf8.count < 400)
      #expect(!refusal.unicodeScalars.contains { $0.value < 32 }, "\(refusal)")
    }
  }

  @Test("A storefront that is given must be one, and groups must differ")
  func arguments() throws {
    let error = try #require(throws: JSONShapeError.self) {
      try StoreKitFile.read(Array(#"{"products":[]}"#.utf8), storefront: "Germany")
    }
    #expect(error.description == #"the given storefront must be a country such as "USA" (got "Germany")"#)
    #expect(
      try refusal(#"{"subscriptionGroups":[{"id":"a","subscriptions":[]},{"id":"a"}]}"#)
        == #"subscriptionGroups[1] has the id "a", which subscriptionGroups[0] has already"#)
    #expect(
      try refusal(#"{"subscriptionGroups":[{"id":"a","subscriptions":[{"productID":"p","type":"Consumable"}]}]}"#)
        == #"subscriptionGroups[0].subscriptions[0].type must be "RecurringSubscription" here"#)
  }
}
