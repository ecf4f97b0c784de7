import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

/// Real documents of Voidhash: answers are served as they are, requests are taken as they are.
@Suite("Voidhash: samples", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment))
struct VoidhashSampleTests {
  /// What is neither an answer nor a request, and what it is.
  private static let others: Set<String> = [
    "INDEX.md", "PurchaseValidation.storekit", "account-tokens.json", "enums.json", "headers.json", "retry-after.json",
    "status-to-code.json", "store-transactions.json",
  ]

  private static let requests: Set<String> = [
    "analytics-batch-request.json", "development-purchase-request.json", "identify-request.json",
    "person-traits-request.json", "sync-transaction-request-android.json", "sync-transaction-request-ios-receipt.json",
    "sync-transaction-request-ios.json", "sync-transaction-request-nulls.json",
  ]

  /// The project of the samples: their keys, products and transactions.
  private func shop() throws -> VoidhashShop {
    let product: JSON = [
      "id": "prod_monthly", "type": "subscription", "duration": "monthly", "name": "Monthly", "perks": ["pro"],
      "providers": [
        "appleAppStore": ["productId": "com.voidhash.pro.monthly"], "googlePlay": ["productId": "pro_monthly"],
      ],
    ]
    let shop = try VoidhashShop(catalogue: [
      "voidhash": [
        "publishable_keys": ["pk_test"], "perks": ["pro": ["name": "Pro"]],
        "bundle_ids": ["com.voidhash.example": ["app_store", "google_play"]], "products": ["monthly_sub": product],
      ]
    ])
    for id in ["2000000000000001", "txn-1", "txn_conformance_001", "18446744073709551615"] {
      try shop.register(sale(id, of: id, "com.voidhash.pro.monthly"))
    }
    try shop.register(
      sale("GPA.1", of: "GPA.1", "pro_monthly") {
        $0.platform = .google
        $0.proof = "token-1"
      })
    return shop
  }

  /// The samples' own headers, with other ones in their place.
  private func post(
    _ shop: VoidhashShop, _ path: String, _ name: String, _ changes: [String: String] = [:]
  ) throws -> Shop.Answer {
    let full = try VoidhashSamples.document("headers.json").at("full").members
    let headers = full.map { HTTPHeader($0.0, changes[$0.0] ?? $0.1.string ?? "") }
    let body = name.isEmpty ? [] : Array(try VoidhashSamples.text(name).utf8)
    let method = name.isEmpty ? "GET" : "POST"
    return try shop.shop.response(
      shop.shop.sandbox.answer(HTTPRequest(method, "embedded:\(path)", headers: headers, body: body)))
  }

  @Test func answersAreServedUnchanged() throws {
    let shop = try shop()
    let answers = try VoidhashSamples.names().filter { !Self.others.contains($0) && !Self.requests.contains($0) }
    #expect(answers.count >= 35)
    for name in answers {
      let text = try VoidhashSamples.text(name)
      let digits = name.hasPrefix("error-") ? name.dropFirst(6).prefix(3) : "200"
      let type = name.hasSuffix(".txt") ? "text/html" : "application/json"
      _ = try shop.act([
        "action": "fault", "kind": "body", "body": JSON(text), "status": JSON(Int(digits)),
        "content_type": JSON(type), "route": "/sdk/",
      ])
      let answer = try post(shop, "/api/v1/sdk/person", "")
      #expect(answer.text == text, "\(name)")
      #expect(String(answer.status) == digits, "\(name)")
      #expect(answer.header("Content-Type") == type)
    }
  }

  @Test(arguments: [
    ("ios", "2000000000000001"), ("ios-receipt", "txn-1"), ("nulls", "txn_conformance_001"), ("android", "GPA.1"),
  ])
  func receiptsAreTaken(form: String, transaction: String) throws {
    let shop = try shop()
    let answer = try post(shop, "/api/v1/sdk/sync-transaction", "sync-transaction-request-\(form).json")
    #expect(answer.json == (try VoidhashSamples.document("sync-transaction-response-accepted.json")))
    #expect(try shop.log() == ["\(transaction) vh:anon:abc 1"])
  }

  @Test func theLargestTransactionIdIsTaken() throws {
    let expected = try VoidhashSamples.document("store-transactions.json").at("storeKit", "expected", "transactionId")
    let shop = try shop()
    #expect(
      try shop.sync(
        expected.string ?? "", with: ["x-publishable-key": "pk_test", "x-client-bundle-id": "com.voidhash.example"]
      ).status == 200)
  }

  @Test func headersThatAreNotKnownMayBeLeftOut() throws {
    let shop = try shop()
    let sample = try VoidhashSamples.document("headers.json")
    let omitted = sample.at("omitted_without_device_metadata").elements.compactMap(\.string)
    let headers = sample.at("full").members.filter { !omitted.contains($0.0) }
    let request = HTTPRequest(
      "GET", "embedded:/api/v1/sdk/schema", headers: headers.map { HTTPHeader($0.0, $0.1.string ?? "") })
    #expect(try shop.shop.response(shop.shop.sandbox.answer(request)).status == 200)
    #expect(try post(shop, "/api/v1/sdk/schema", "").status == 200)
  }

  @Test func identifyAndAttributesAreTaken() throws {
    let shop = try shop()
    let person = try post(shop, "/api/v1/sdk/identify", "identify-request.json")
    #expect(person["distinctId"] == "user-123")
    #expect(person["email"] == "a@example.com")
    #expect(person["name"] == "Ada")
    let written = try post(
      shop, "/api/v1/sdk/person/traits", "person-traits-request.json", ["x-distinct-id": "user-123"])
    #expect(written["email"] == "user@example.com")
    #expect(try shop.state().at("persons").elements.first?["traits"] == ["plan": "pro", "seats": 3])
  }

  @Test func theBatchIsTaken() throws {
    let answer = try post(shop(), "/i/v1/batch", "analytics-batch-request.json")
    #expect(answer.status == 202)
    #expect(answer.json == ["accepted": 1, "rejected": 0])
  }

  @Test func theDevelopmentPurchaseIsTakenInDevelopmentOnly() throws {
    let shop = try shop()
    let name = "development-purchase-request.json", path = "/api/v1/sdk/development/purchase"
    let refused = try post(shop, path, name)
    #expect(refused.json == (try VoidhashSamples.document("error-400-sdk-validation.json")))
    let answer = try post(shop, path, name, ["x-environment": "development", "x-is-debug-build": "true"])
    #expect(answer.json == (try VoidhashSamples.document("development-purchase-response.json")))
  }

  /// A person of ours has the members of theirs, in kind.
  @Test func thePersonHasTheSamplesShape() throws {
    let shop = try shop()
    _ = try post(shop, "/api/v1/sdk/sync-transaction", "sync-transaction-request-ios.json")
    let ours = try post(shop, "/api/v1/sdk/person", "").json
    let theirs = try VoidhashSamples.document("person-purchase-history.json")
    #expect(shape(ours) == shape(theirs))
    let schema = try post(shop, "/api/v1/sdk/schema", "").json.at("products", "monthly_sub")
    let sample = try VoidhashSamples.document("schema-all-providers.json").at("products", "monthly_sub")
    #expect(
      schema.at("configuration", "providers", "development") == sample.at("configuration", "providers", "development"))
    #expect(Set(schema.members.map(\.0)) == Set(sample.members.map(\.0)))
  }

  /// The names of all members, but of what may be an empty list.
  private func shape(_ json: JSON, _ path: String = "") -> Set<String> {
    if json.isArray { return json.elements.reduce([]) { $0.union(shape($1, path)) } }
    return json.members.reduce(path.isEmpty || path.hasPrefix("subscriptions.history") ? [] : [path]) {
      $0.union(shape($1.1, path.isEmpty ? $1.0 : "\(path).\($1.0)"))
    }
  }
}
