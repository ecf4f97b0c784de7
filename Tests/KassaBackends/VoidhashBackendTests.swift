import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

/// The calls of the port, as requests and answers.
@Suite struct VoidhashBackendTests {
  // MARK: Catalogue and people

  @Test("A catalogue is asked for with the version that is known, and nil when it still is") func catalogue()
    async throws
  {
    let bench = try VoidhashBench { request, number in
      if request.header("if-none-match") == #""sha256:1""# { return .response(HTTPResponse(status: 304)) }
      return .ok(["version": "sha256:1", "products": [:]], date: moment)
    }
    let first = try await bench.backend.catalogue(known: nil)
    #expect(first?.version == "sha256:1")
    #expect(try await bench.backend.catalogue(known: "sha256:1") == nil)
    #expect(try await bench.backend.catalogue(known: "sha256:0") != nil)
    #expect(bench.requests.map { $0.header("if-none-match") } == [nil, #""sha256:1""#, #""sha256:0""#])
    #expect(bench.requests.allSatisfy { $0.url == "https://api.voidhash.com/api/v1/sdk/schema" })
    #expect(bench.serverTimes.count == 2, "a 304 without its tag may be anybody's")
  }

  @Test("A server that ignores the question and sends the same version says nothing new") func sameVersion()
    async throws
  {
    let bench = try VoidhashBench(.ok(["version": "v1", "products": [:]]))
    #expect(try await bench.backend.catalogue(known: "v1") == nil)
  }

  @Test("A 304 that carries the tag has a clock, one to a question without a version is strange") func notModified()
    async throws
  {
    let tag = HTTPHeader("etag", #""v1""#)
    let bench = try VoidhashBench(.response(HTTPResponse(status: 304, headers: [tag], date: moment + 1)))
    #expect(try await bench.backend.catalogue(known: "v1") == nil)
    #expect(bench.serverTimes == [moment + 1])
    let error = try await bench.error { try await $0.catalogue(known: nil) }
    #expect(error.code == .notServiceAnswer)
  }

  @Test("A version that no tag can hold is not sent", arguments: ["a\"b", "", "a b", "a\r\nx: y", "é"])
  func oddVersion(_ version: String) async throws {
    let bench = try VoidhashBench(.ok(["version": "v1", "products": [:]]))
    _ = try await bench.backend.catalogue(known: version)
    #expect(bench.requests.first?.header("if-none-match") == nil)
  }

  @Test("The catalogue is asked for as whoever asks now, or as nobody in particular") func asking() async throws {
    let reply = Reply.ok(["version": "v1", "products": [:]])
    let known = try VoidhashBench(asking: user) { _, _ in reply }
    _ = try await known.backend.catalogue(known: nil)
    #expect(known.requests.first?.header("x-distinct-id") == "user-123")
    let unknown = try VoidhashBench { _, _ in reply }
    _ = try await unknown.backend.catalogue(known: nil)
    _ = try await unknown.backend.catalogue(known: nil)
    let ids = Set(unknown.requests.compactMap { $0.header("x-distinct-id") })
    #expect(ids.count == 1 && ids.allSatisfy { $0.hasPrefix("vh:anon:") })
  }

  @Test(
    "404 in the service's envelope is nobody",
    arguments: [#"{"_tag":"Api/SdkPersonNotFoundError","message":"Person not found"}"#, #"{"_tag":"PersonNotFound"}"#])
  func nobody(_ body: String) async throws {
    #expect(try await VoidhashBench(.json(404, body)).backend.person(user) == nil)
  }

  @Test("Logging in names who asked before, and takes attributes along") func identify() async throws {
    let bench = try VoidhashBench(.person())
    let attributes = Attributes(set: ["email": "a@example.com", "plan": "pro", "name": "Ada", "seats": 3])
    let person = try await bench.backend.identify(
      Identification(previous: DistinctID("vh:anon:1"), id: user, attributes: attributes))
    #expect(person.distinctID == user)
    let request = try #require(bench.requests.first)
    #expect(request.method == "POST")
    #expect(request.path == "/api/v1/sdk/identify")
    #expect(request.header("content-type") == "application/json")
    #expect(request.header("x-distinct-id") == "vh:anon:1")
    #expect(
      request.json == [
        "distinctId": "user-123", "email": "a@example.com", "name": "Ada", "traits": ["plan": "pro", "seats": 3],
      ])
    _ = try await bench.backend.identify(Identification(previous: DistinctID("vh:anon:1"), id: user))
    #expect(bench.requests.last?.json == ["distinctId": "user-123"])
  }

  @Test("Attributes that are set once follow the log-in, which stands whatever becomes of them") func setOnceAtLogIn()
    async throws
  {
    let attributes = Attributes(set: ["a": 1], setOnce: ["source": "ad"], writeID: "w1")
    let identification = Identification(previous: DistinctID("vh:anon:1"), id: user, attributes: attributes)
    let bench = try VoidhashBench(.person(), .tagged(400), .person(), .tagged(500))
    #expect(try await bench.backend.identify(identification).distinctID == user)
    #expect(bench.requests.map(\.path).last == "/api/v1/sdk/person/traits")
    #expect(bench.requests.last?.header("x-distinct-id") == "user-123")
    #expect(bench.requests.last?.json == ["setOnce": ["source": "ad"], "clientEventId": "w1"])
    #expect(bench.diagnostics.map(\.code) == ["person_write_rejected"])
    let error = try await bench.error { try await $0.identify(identification) }
    #expect(error.code == .serviceUnavailable && error.retryable)
  }

  @Test("Nobody logs in as a made-up id", arguments: ["vh:anon:1", "vh:anon:"])
  func anonymousTarget(_ id: String) async throws {
    let bench = try VoidhashBench(.person())
    let error = try await bench.error { try await $0.identify(Identification(previous: user, id: DistinctID(id))) }
    #expect(error.code == .invalidArgument)
    #expect(bench.requests.isEmpty)
    let backend: any PersonBackend = bench.backend
    #expect(throws: KassaError.self) { try backend.check(DistinctID(id)) }
  }

  @Test("Attributes are written as the person, with the name of the write") func attributes() async throws {
    let bench = try VoidhashBench(.person())
    let attributes = Attributes(
      set: ["email": nil, "name": "Ada", "plan": nil], setOnce: ["source": "conformance"], writeID: "evt_1")
    _ = try await bench.backend.setAttributes(attributes, of: user)
    let request = try #require(bench.requests.first)
    #expect(request.method == "POST" && request.path == "/api/v1/sdk/person/traits")
    #expect(request.header("x-distinct-id") == "user-123")
    #expect(
      request.json == [
        "name": "Ada", "traits": ["email": nil, "plan": nil], "setOnce": ["source": "conformance"],
        "clientEventId": "evt_1",
      ])
  }

  @Test(
    "The documented requests are what is sent", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment))
  func sampleRequests() async throws {
    let bench = try VoidhashBench(.person())
    let login = try VoidhashSamples.document("identify-request.json")
    let set: JSON = .object(
      [("email", login["email"] ?? .null), ("name", login["name"] ?? .null)] + (login["traits"]?.members ?? []))
    _ = try await bench.backend.identify(
      Identification(previous: DistinctID("vh:anon:1"), id: user, attributes: Attributes(set: set)))
    #expect(bench.requests.last?.json == login)
    let write = try VoidhashSamples.document("person-traits-request.json")
    let fields: JSON = .object(
      [("email", write["email"] ?? .null), ("name", write["name"] ?? .null)] + (write["traits"]?.members ?? []))
    let attributes = Attributes(
      set: fields, setOnce: write["setOnce"] ?? [:], writeID: write["clientEventId"]?.string)
    _ = try await bench.backend.setAttributes(attributes, of: user)
    #expect(bench.requests.last?.json == write)
  }

  // MARK: Identity

  @Test(
    "Account tokens are UUIDv5 of the id's bytes",
    arguments: [
      ("user-123", "3501e751-7582-58f9-9c1d-533c7466049f"), ("USER-123", "c6eb5cb5-739d-52a9-9a32-6a0fb4be71cc"),
      ("vh:anon:k2j4h5g6f7", "22c4cde2-2c40-5266-9699-35f7d271e1a8"),
      ("na\u{EF}ve@ex\u{E4}mple.com", "84080bfc-8e5a-5daf-9ec4-c2221ea8d948"),
    ])
  func accountTokens(_ id: String, _ token: String) throws {
    #expect(try VoidhashBench(.person()).backend.accountToken(of: DistinctID(id)) == token)
  }

  @Test("Two spellings of one text are two people") func spellings() throws {
    let backend = try VoidhashBench(.person()).backend
    #expect(try backend.accountToken(of: DistinctID("\u{E9}")) != backend.accountToken(of: DistinctID("e\u{301}")))
  }

  @Test(
    "The documented account tokens", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment))
  func sampleTokens() throws {
    let backend = try VoidhashBench(.person()).backend
    let vectors = try #require(VoidhashSamples.document("account-tokens.json")["vectors"]).elements
    #expect(vectors.count == 4)
    for vector in vectors {
      let id = DistinctID(vector["distinctId"]?.string ?? "")
      #expect(try backend.accountToken(of: id) == vector["token"]?.string)
    }
  }

  @Test("Made-up ids have the service's prefix, in lower case") func anonymous() {
    let id = VoidhashBackend.anonymousID("0E61C9C6-9C1D-4E3F-8C5B-1D2E3F4A5B6C")
    #expect(id.text == "vh:anon:0e61c9c6-9c1d-4e3f-8c5b-1d2e3f4a5b6c")
  }

  // MARK: Offers

  private let order = OfferOrder(
    product: Catalogue.Product(id: "prod_1", slug: "pro", name: "Pro", kind: .subscription),
    storeProductID: "com.example.pro", storeOfferID: "ios_half", person: user, accountToken: "token")

  @Test("Only a server that is not the service itself is asked for a signature") func signature() async throws {
    let production = try VoidhashBench(.person())
    #expect(try await production.backend.signature(of: order) == nil)
    #expect(production.requests.isEmpty)
    let bench = try VoidhashBench([("base_url", "embedded:")]) { _, _ in
      .ok(["keyId": "K", "nonce": "n", "timestamp": JSON(moment), "signature": "c2ln"])
    }
    #expect(
      try await bench.backend.signature(of: order)
        == OfferSignature(keyID: "K", nonce: "n", timestamp: moment, signature: "c2ln"))
    let request = try #require(bench.requests.first)
    #expect(request.method == "POST" && request.url == "embedded:/api/v1/sdk/sign-offer")
    #expect(request.header("x-distinct-id") == "user-123")
    #expect(request.json == ["productSlug": "pro", "offerId": "ios_half", "appAccountToken": "token"])
  }

  @Test("A server without the route is not asked again; one that fails is") func noRoute() async throws {
    let bench = try VoidhashBench([("base_url", "http://127.0.0.1:1")]) { _, number in
      number == 0 ? .tagged(503) : .html(404)
    }
    let error = try await bench.error { try await $0.signature(of: order) }
    #expect(error.code == .serviceUnavailable)
    #expect(try await bench.backend.signature(of: order) == nil)
    #expect(try await bench.backend.signature(of: order) == nil)
    #expect(bench.requests.count == 2)
  }
}
