import KassaCore
import KassaJSON
import KassaPlatform
import KassaSandbox
import Testing

@testable import KassaBackends

/// The adapter against the sandbox, which checks headers and bodies.
private struct SandboxBench {
  let time = NotedTime()
  let sandbox: Sandbox
  let backend: VoidhashBackend
  private let noted = Locked<[String]>([])
  var diagnostics: [String] { noted.with { $0 } }

  /// The built-in catalogue with other switches of Voidhash's half.
  init(
    switches: JSON = [:], key: String = "vh_pk_sandbox", bundle: String = "com.example.app",
    _ members: [(String, JSON)] = []
  ) throws {
    let project: JSON = [
      "publishable_keys": ["vh_pk_sandbox"], "bundle_ids": ["com.example.app": ["app_store", "google_play"]],
      "perks": ["premium": ["name": "Premium"]],
      "products": [
        "pro_monthly": [
          "id": "prod_monthly", "type": "subscription", "duration": "monthly", "name": "Pro, monthly",
          "perks": ["premium"],
          "providers": [
            "appleAppStore": [
              "productId": "com.example.app.pro.monthly",
              "offers": [["id": "welcome_back", "storeOfferId": "com.example.app.back"]],
            ], "googlePlay": ["productId": "pro", "basePlanId": "monthly"], "development": [:],
          ],
        ],
        "coins": ["id": "prod_coins", "type": "one-time-consumable", "name": "Coins"],
      ], "switches": switches,
    ]
    sandbox = try Sandbox(catalogue: ["voidhash": project], time: time, random: SeededRandom(seed: 1))
    let required: [(String, JSON)] = [
      ("kind", "voidhash"), ("publishable_key", JSON(key)), ("bundle_id", JSON(bundle)), ("base_url", "embedded:"),
      ("app_version", "1.0"),
    ]
    backend = try VoidhashBackend(
      VoidhashConfiguration(.object(required + members), isDebug: true),
      facts: VoidhashClientFacts(sdkVersion: "0.1.0", isDebug: true, locales: ["en-US"]),
      transport: EmbeddedTransport(sandbox, time: time), time: time, random: SeededRandom(seed: 2),
      serverTime: { _ in }, report: { [noted] code, _, _ in noted.with { $0.append(code) } })
  }

  /// As Apple's servers would know of it.
  func register(_ id: String) throws {
    try sandbox.register(
      storeTransaction: StoreTransaction(
        id: id, originalID: id, platform: .apple, productID: "com.example.app.pro.monthly", kind: .subscription,
        purchasedAt: moment, originallyPurchasedAt: moment, expiresAt: moment + 30 * 86_400_000,
        environment: .sandbox, proof: "proof"))
  }

  func error<Value>(of call: (VoidhashBackend) async throws -> Value) async throws -> KassaError {
    do {
      throw Unexpected(text: "\(try await call(backend))")
    } catch let error as KassaError { return error }
  }
}

@Suite struct VoidhashSandboxTests {
  private let anonymous = DistinctID("vh:anon:5f0c3d3e-96a7-4b1e-9d8e-1f6a36c2b001")

  @Test("The catalogue comes with its offers, and once") func catalogue() async throws {
    let bench = try SandboxBench()
    let catalogue = try #require(try await bench.backend.catalogue(known: nil))
    #expect(catalogue.products.map(\.slug) == ["coins", "pro_monthly"])
    let monthly = try #require(catalogue.products.last)
    #expect(monthly.id == "prod_monthly" && monthly.perks == ["premium"])
    #expect(monthly.storeProductIDs == [.apple: "com.example.app.pro.monthly", .google: "pro"])
    #expect(monthly.offers == [.init(id: "welcome_back", storeOfferID: "com.example.app.back")])
    #expect(monthly.development?.period == Period(1, .month))
    #expect(catalogue.perks == ["premium": "Premium"])
    #expect(try await bench.backend.catalogue(known: catalogue.version) == nil)
  }

  @Test(
    "A receipt of a guest gives a perk, which follows the log-in, byte for byte",
    arguments: ["user-123", "a/b?#%2F", "na\u{EF}ve", "nai\u{308}ve", "🦊 x"])
  func buyAndLogIn(_ id: String) async throws {
    let bench = try SandboxBench()
    #expect(try await bench.backend.person(anonymous) == nil)
    try bench.register("2000000123")
    #expect(try await bench.backend.submit(receipt("2000000123", owner: anonymous)) == .accepted)
    let guest = try #require(try await bench.backend.person(anonymous))
    #expect(guest.grants.filter(\.isActive).map(\.perk) == ["premium"])
    #expect(guest.currentSubscription?.productID == "prod_monthly")
    let person = try await bench.backend.identify(
      Identification(
        previous: anonymous, id: DistinctID(id), attributes: Attributes(set: ["email": "a@example.com", "seats": 3])))
    #expect(person.distinctID == DistinctID(id))
    #expect(person.email == "a@example.com")
    #expect(person.grants.filter(\.isActive).map(\.perk) == ["premium"])
    let write = Attributes(set: ["name": "Ada"], setOnce: ["source": "ad"], writeID: "w1")
    #expect(try await bench.backend.setAttributes(write, of: DistinctID(id)).name == "Ada")
    #expect(try await bench.backend.person(DistinctID(id))?.grants.count == 1)
    let other = try await bench.error {
      try await $0.identify(Identification(previous: anonymous, id: DistinctID("other")))
    }
    #expect(other.code == .alreadyIdentified)
  }

  @Test(
    "What becomes of a transaction that nobody knows",
    arguments: [("service_error", nil), ("refused", 422), ("not_accepted", 200)] as [(String, Int?)])
  func unknown(_ word: String, _ status: Int?) async throws {
    let bench = try SandboxBench(switches: ["unknown_receipts": JSON(word)])
    if let status {
      guard case .refused(_, status) = try await bench.backend.submit(receipt("1")) else {
        throw Unexpected(text: "not refused")
      }
    } else {
      #expect(try await bench.error { try await $0.submit(receipt("1")) }.code == .serviceUnavailable)
    }
  }

  @Test("An app whose store is not connected is refused for good") func unconnected() async throws {
    let bench = try SandboxBench(bundle: "com.example.other")
    try bench.register("1")
    guard case .refused(_, 422) = try await bench.backend.submit(receipt("1")) else {
      throw Unexpected(text: "not refused")
    }
  }

  @Test("A revoked key pauses everything, and a probe finds it restored") func revokedKey() async throws {
    let bench = try SandboxBench()
    try bench.register("1")
    _ = try bench.sandbox.perform(["action": "revoke_key", "key": "vh_pk_sandbox"])
    #expect(try await bench.error { try await $0.submit(receipt("1")) }.code == .unauthorized)
    #expect(try await bench.error { try await $0.submit(receipt("1")) }.code == .outboundPaused)
    _ = try bench.sandbox.perform(["action": "restore_key", "key": "vh_pk_sandbox"])
    bench.time.clocks.advance(milliseconds: 60_000)
    #expect(bench.backend.conditionsImproved())
    #expect(try await bench.backend.person(user) == nil)
    #expect(try await bench.backend.submit(receipt("1")) == .accepted)
    #expect(bench.diagnostics == ["authentication_failed", "authentication_recovered"])
  }

  @Test(
    "Faults on the way leave a receipt where it is",
    arguments: [
      (#""kind":"html""#, .notServiceAnswer), (#""kind":"html","status":403"#, .notServiceAnswer),
      (#""kind":"empty""#, .notServiceAnswer), (#""kind":"truncated""#, .notServiceAnswer),
      (#""kind":"wrong_shape""#, .notServiceAnswer), (#""kind":"redirect""#, .notServiceAnswer),
      (#""kind":"reset""#, .offline), (#""kind":"delay","ms":11000"#, .timedOut),
      (#""kind":"status""#, .serviceUnavailable),
      (#""kind":"rate_limited","retry_after":7,"retry_form":"seconds""#, .rateLimited),
      (#""kind":"rate_limited","retry_after":7,"retry_form":"date""#, .rateLimited),
      (#""kind":"rate_limited","retry_after":7,"retry_form":"body""#, .rateLimited),
    ] as [(String, ErrorCode)])
  func faults(_ fault: String, _ code: ErrorCode) async throws {
    let bench = try SandboxBench()
    try bench.register("1")
    _ = try bench.sandbox.perform(JSON.parse(#"{"action":"fault","times":1,\#(fault)}"#))
    let error = try await bench.error { try await $0.submit(receipt("1")) }
    #expect(error.code == code)
    #expect(error.retryable)
    if code == .rateLimited { #expect(error.retryAfterMilliseconds == 7_000) }
    #expect(try await bench.backend.submit(receipt("1")) == .accepted)
  }

  @Test("A purchase in development gives the perk there, and nowhere else") func development() async throws {
    let bench = try SandboxBench([("environment", "development")])
    let one = receipt("0", slug: "pro_monthly", environment: .xcode)
    #expect(try await bench.backend.submit(one) == .accepted)
    #expect(try await bench.backend.submit(one) == .accepted)
    let person = try #require(try await bench.backend.person(user))
    #expect(person.purchases.count == 1 || person.subscriptions.count == 1)
    #expect(person.grants.filter(\.isActive).map(\.perk) == ["premium"])
    let production = try SandboxBench()
    #expect(try await production.backend.person(user) == nil)
  }

  @Test("The sandbox signs the offers of its catalogue, if it has the route") func signatures() async throws {
    let bench = try SandboxBench(switches: ["sign_offers": true])
    let product = try #require(try await bench.backend.catalogue(known: nil)?.products.last)
    func order(_ offer: String) throws -> OfferOrder {
      OfferOrder(
        product: product, storeProductID: "com.example.app.pro.monthly", storeOfferID: offer, person: user,
        accountToken: try bench.backend.accountToken(of: user))
    }
    let signature = try #require(try await bench.backend.signature(of: try order("com.example.app.back")))
    #expect(signature.timestamp == moment && !signature.signature.isEmpty)
    #expect(try await bench.error { try await $0.signature(of: try order("nothing")) }.code == .notFound)
    #expect(try await bench.backend.signature(of: try order("welcome_back")) != nil)
    let without = try SandboxBench()
    #expect(try await without.backend.signature(of: try order("com.example.app.back")) == nil)
  }
}
