import COpenSSL
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Voidhash: headers and routes")
struct VoidhashRouteTests {
  @Test(arguments: [
    "x-client-bundle-id", "x-is-backgrounded", "x-is-debug-build", "x-observer-mode", "x-platform",
    "x-platform-flavor", "x-sdk", "x-sdk-version",
  ])
  func aMissingHeaderIsNamed(name: String) throws {
    let answer = try VoidhashShop().sdk("GET", "schema", with: [name: nil])
    #expect(answer.status == 400)
    #expect(answer["_tag"] == "HttpApiDecodeError")
    #expect(answer["message"] == JSON("The header \(name) is missing."))
  }

  @Test(arguments: [
    ("x-is-backgrounded", "no"), ("x-is-debug-build", "1"), ("x-observer-mode", "TRUE"),
    ("x-platform-flavor", "wasm"), ("x-sdk", "linux"), ("x-nonce", "12"),
    ("x-nonce", "11111111-1111-4111-8111-11111111111G"),
  ])
  func aWrongHeaderIsNamed(name: String, value: String) throws {
    let answer = try VoidhashShop().sdk("GET", "schema", with: [name: value])
    #expect(answer.status == 400)
    #expect(answer["message"].string?.contains("The header \(name) must be") == true, "\(answer.text)")
  }

  @Test(arguments: [
    ["x-publishable-key": "vh_pk_other"], ["x-publishable-key": nil], ["x-distinct-id": nil],
    ["x-publishable-key": "vh_pk_other", "x-sdk": "linux"],
  ])
  func whoIsNotKnownIs401(headers: [String: String?]) throws {
    let answer = try VoidhashShop().sdk("GET", "schema", with: headers)
    #expect(answer.status == 401)
    #expect(answer["_tag"] == "Api/AuthenticationError")
  }

  @Test func aKeyCanBeRevoked() throws {
    let shop = try VoidhashShop()
    _ = try shop.act(["action": "revoke_key", "key": "vh_pk_sandbox"])
    #expect(try shop.sdk("GET", "schema").status == 401)
    #expect(try shop.call("POST", "/i/v1/batch", ["token": "vh_pk_sandbox"])["code"] == "unauthorized")
    _ = try shop.act(["action": "restore_key", "key": "vh_pk_sandbox"])
    #expect(try shop.sdk("GET", "schema").status == 200)
  }

  // MARK: Schema

  @Test func theSchemaHasAVersionThatAnswersForIt() throws {
    let shop = try VoidhashShop()
    let answer = try shop.sdk("GET", "schema")
    let version = try #require(answer["version"].string)
    #expect(version.hasPrefix("sha256:"))
    #expect(version.utf8.count == 71)
    #expect(answer.header("ETag") == "\"\(version)\"")
    #expect(answer.header("Cache-Control") == "no-cache, must-revalidate")
    for match in ["\"\(version)\"", "W/\"\(version)\"", "\"x\", \"\(version)\"", "*"] {
      let again = try shop.sdk("GET", "schema", with: ["if-none-match": match])
      #expect(again.status == 304)
      #expect(again.text.isEmpty)
    }
    #expect(try shop.sdk("GET", "schema", with: ["if-none-match": "\"sha256:0\""]).status == 200)
    let other = try VoidhashShop(switches: [:], ("perks", ["premium": ["name": "Other"]])).sdk("GET", "schema")
    #expect(other["version"] != answer["version"])
  }

  @Test func theSchemaHasTheStoresMappings() throws {
    let product = try VoidhashShop().sdk("GET", "schema").json.at("products", "pro_monthly")
    #expect(product["id"] == "prod_vh_monthly")
    #expect(product["duration"] == "monthly")
    #expect(product.at("properties", "name") == "Pro, monthly")
    #expect(product.at("configuration", "perks") == ["premium": true])
    #expect(product.at("configuration", "providers", "googlePlay") == ["productId": "pro", "basePlanId": "monthly"])
    #expect(
      product.at("configuration", "providers", "appleAppStore", "offers")
        == [["id": "welcome_back", "storeOfferId": "com.example.app.back"]])
  }

  @Test(
    "the prices of development are Voidhash's",
    arguments: [
      (#""subscription","duration":"weekly""#, 499, 4.99, "week", 1),
      (#""subscription","duration":"monthly""#, 999, 9.99, "month", 1),
      (#""subscription","duration":"quarterly""#, 2499, 24.99, "month", 3),
      (#""subscription","duration":"semi-annual""#, 3999, 39.99, "month", 6),
      (#""subscription","duration":"annual""#, 4999, 49.99, "year", 1), (#""subscription""#, 999, 9.99, "month", 1),
      (#""one-time""#, 1999, 19.99, "lifetime", 1), (#""one-time-consumable""#, 499, 4.99, "lifetime", 1),
    ])
  func developmentPrices(type: String, minorUnits: Int, price: Double, unit: String, count: Int) throws {
    let products = try JSON.parse(#"{"p":{"id":"prod_p","name":"P","type":\#(type)}}"#)
    let block = try VoidhashShop(switches: [:], ("products", products)).sdk("GET", "schema").json
      .at("products", "p", "configuration", "providers", "development")
    #expect(block["priceInMinorUnits"] == JSON(minorUnits))
    #expect(block["price"] == JSON(price))
    #expect(block["period"] == JSON(unit))
    #expect(block["periodCount"] == JSON(count))
    #expect(block["productId"] == "p")
    #expect((block["warning"] == JSON.null) == (type != #""subscription""#))
  }

  @Test func theProjectSellsWhatTheStoreOfTheTestsSells() throws {
    let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
    let store = try JSON.parse(try VoidhashSamples.read("/\(folder)/Fixtures/voidhash.storekit"))
    let subscriptions = store.at("subscriptionGroups").elements.flatMap { $0.at("subscriptions").elements }
    let sold = (store.at("products").elements + subscriptions).compactMap { $0["productID"]?.string }
    let mapped = try VoidhashShop().sdk("GET", "schema")["products"].members.compactMap {
      $0.1.at("configuration", "providers", "appleAppStore", "productId").string
    }
    #expect(sold.sorted() == mapped.sorted())
    let offers = subscriptions.flatMap { $0.at("adHocOffers").elements }.compactMap { $0["offerID"]?.string }
    #expect(offers == ["com.example.app.back"])
  }

  // MARK: The others

  @Test func flagsComeFromTheCatalogue() throws {
    let flags: JSON = [["key": "new-paywall", "enabled": true, "variantKey": "b"], ["key": "old", "enabled": false]]
    let shop = try VoidhashShop(switches: [:], ("flags", flags))
    #expect(try shop.sdk("POST", "evaluate-flags", [:])["flags"].elements.count == 2)
    #expect(
      try shop.sdk("POST", "evaluate-flags", ["flagKeys": ["new-paywall", "none"]]).json
        == ["flags": [["key": "new-paywall", "enabled": true, "variantKey": "b", "payload": nil]]])
    #expect(try shop.sdk("POST", "evaluate-flags", ["flagKeys": "old"]).status == 400)
  }

  @Test func thereAreNoPaywallsAndNoPush() throws {
    let shop = try VoidhashShop()
    #expect(try shop.sdk("POST", "resolve-paywall", ["locationSlug": "onboarding"]).text == "null")
    #expect(try shop.sdk("POST", "resolve-paywall", [:]).status == 400)
    for route in ["register", "refresh", "unregister"] {
      #expect(try shop.sdk("POST", "push-devices/\(route)", [:])["_tag"] == "Api/ActionForbiddenError")
    }
  }

  @Test(arguments: ["GET nothing", "POST schema", "GET sign-offer", "DELETE person"])
  func otherRoutesDoNotExist(route: String) throws {
    let parts = route.split(separator: " ").map(String.init)
    let answer = try VoidhashShop().sdk(parts[0], parts[1])
    #expect(answer.status == 404)
    #expect(answer["_tag"] == "Api/RouteNotFoundError")
  }

  @Test func withoutAProjectThereIsWhopAlone() throws {
    let text = try JSON.parse(Catalogue.defaultText)
    let catalogue = JSON.object(text.members.filter { $0.0 != "voidhash" })
    let shop = try VoidhashShop(catalogue: catalogue)
    #expect(try shop.sdk("GET", "schema").json.at("error", "type") == "not_found")
    #expect(try shop.act(["action": "state"])["voidhash"] == nil)
    #expect(throws: KassaError.self) { try shop.act(["action": "development_event", "kind": "renew"]) }
    let alone = try VoidhashShop(catalogue: ["voidhash": text["voidhash"] ?? .null])
    #expect(try alone.sdk("GET", "schema").status == 200)
  }

  @Test func requestsAreCountedByRoute() throws {
    let shop = try VoidhashShop()
    for _ in 0..<3 { _ = try shop.person() }
    try shop.sync("1")
    _ = try shop.sdk("GET", "nothing")
    _ = try shop.act(["action": "fault", "kind": "status", "route": "/sdk/person"])
    #expect(try shop.person().status == 500)
    #expect(
      try shop.state().at("requests") == [
        "GET /api/v1/sdk/person": 4, "POST /api/v1/sdk/sync-transaction": 1, "other": 1,
      ])
  }

  // MARK: Offers

  @Test func anOfferIsSignedByApplesScheme() throws {
    let shop = try VoidhashShop(switches: ["sign_offers": true])
    let token = "3501E751-7582-58F9-9C1D-533C7466049F"
    let answer = try shop.sdk(
      "POST", "sign-offer",
      ["productSlug": "pro_monthly", "offerId": "welcome_back", "appAccountToken": JSON(token)])
    let key = try shop.state().at("offer_key")
    #expect(answer["keyId"] == key.at("key_id"))
    #expect(answer["timestamp"] == JSON(Shop.start))
    let signed = [
      "com.example.app", key.at("key_id").string ?? "", "com.example.app.pro.monthly", "com.example.app.back",
      token.lowercased(), answer["nonce"].string ?? "", String(Shop.start),
    ].joined(separator: "\u{2063}")
    let publicKey = try VoidhashSamples.base64(key.at("public_key").string ?? "")
    let signature = try VoidhashSamples.base64(answer["signature"].string ?? "")
    #expect(verifies(signature, of: signed, by: publicKey))
    #expect(!verifies(signature, of: signed + " ", by: publicKey))
  }

  @Test func onlyOffersOfTheMappingAreSigned() throws {
    let shop = try VoidhashShop(switches: ["sign_offers": true])
    for (product, offer) in [("pro_monthly", "half"), ("pro_annual", "welcome_back"), ("none", "welcome_back")] {
      let body: JSON = ["productSlug": JSON(product), "offerId": JSON(offer), "appAccountToken": ""]
      #expect(try shop.sdk("POST", "sign-offer", body)["_tag"] == "Api/SdkOfferNotFoundError")
    }
    let without = try VoidhashShop(switches: [:])
    #expect(try without.sdk("POST", "sign-offer", [:])["_tag"] == "Api/RouteNotFoundError")
  }

  private func verifies(_ signature: [UInt8], of text: String, by publicKey: [UInt8]) -> Bool {
    let key = publicKey.withUnsafeBufferPointer { buffer in
      var start = buffer.baseAddress
      return d2i_PUBKEY(nil, &start, buffer.count)
    }
    guard let key, let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_PKEY_free(key)
      EVP_MD_CTX_free(context)
    }
    let bytes = Array(text.utf8)
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }
}

@Suite("Voidhash: catalogue")
struct VoidhashCatalogueTests {
  @Test(arguments: [
    (#"{}"#, "voidhash.publishable_keys is missing"),
    (#"{"publishable_keys":["k"],"bundle_ids":{"com.a":["steam"]}}"#, "voidhash.bundle_ids.com.a must list app_store"),
    (#"{"publishable_keys":["k"],"perks":{"A B":{"name":"A"}}}"#, "voidhash.perks.A B is no slug"),
    (
      #"{"publishable_keys":["k"],"products":{"p":{"id":"1","type":"gift","name":"P"}}}"#,
      "voidhash.products.p.type must be one of subscription, one-time, one-time-consumable"
    ),
    (
      #"{"publishable_keys":["k"],"products":{"p":{"id":"1","type":"one-time","duration":"weekly","name":"P"}}}"#,
      "voidhash.products.p.duration is for subscriptions only"
    ),
    (
      #"{"publishable_keys":["k"],"products":{"p":{"id":"1","type":"one-time","name":"P","perks":["x"]}}}"#,
      #"voidhash.products.p.perks has "x""#
    ),
    (
      #"""
      {"publishable_keys":["k"],"products":{"p":{"id":"1","type":"one-time","name":"P"},
       "q":{"id":"1","type":"one-time","name":"Q"}}}
      """#, "voidhash.products.q.id is that of an earlier product"
    ),
    (
      #"{"publishable_keys":["k"],"switches":{"paid_access_sharing":"some"}}"#,
      "voidhash.switches.paid_access_sharing must be one of transfer_to_new_owner"
    ),
    (#"{"publishable_keys":["k"],"persons":[{"distinct_ids":[]}]}"#, "voidhash.persons[0].distinct_ids must name"),
    (
      #"{"publishable_keys":["k"],"persons":[{"distinct_ids":["a"]},{"distinct_ids":["a"]}]}"#,
      #"voidhash.persons[1].distinct_ids has "a""#
    ),
    (#"{"publishable_keys":["k"],"flags":[{"key":"a"}]}"#, "voidhash.flags[0].enabled is missing"),
    (#"{"publishable_keys":["k"],"perkz":{}}"#, #"voidhash.perkz is not a known key; did you mean "perks"?"#),
  ])
  func mistakesAreRefusedWithTheirPlace(project: String, message: String) throws {
    let catalogue: JSON = ["voidhash": try JSON.parse(project)]
    let error = #expect(throws: KassaError.self) { try VoidhashShop(catalogue: catalogue) }
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }
}
