import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

/// What each call of the back end asks for, and makes of the answer.
@Suite struct WhopBackendTests {
  private let guest = Identity(deviceID: "device 1")
  private let user = Identity(deviceID: "device 1", appUserID: AppUserID("anna&co"))

  private func attempt(_ identity: Identity) -> PurchaseAttempt {
    PurchaseAttempt(planID: "plan_1", identity: identity, nonce: "nonce1", startedAt: moment)
  }

  // MARK: Plans

  @Test("Plans of named products are public: no credential is sent, and none fetched") func publicPlans() async throws {
    let tokens = Tokens()
    let bench = try Bench([("product_ids", ["prod_1", "prod_2"])], tokens: tokens) { _, _ in
      .rows([["id": "plan_2", "product_id": "prod_1"], ["id": "plan_1", "product_id": "prod_2"]])
    }
    #expect(try await bench.backend.plans().map(\.id) == ["plan_2", "plan_1"])
    let request = try #require(bench.requests.first)
    #expect(request.path == "/api/v1/variants")
    #expect(request.query("product_ids") == ["prod_1", "prod_2"])
    #expect(request.query("account_id").isEmpty)
    #expect(request.header("Authorization") == nil)
    #expect(tokens.refused.isEmpty)
  }

  @Test("Plans of the whole account need the credential") func plansOfTheAccount() async throws {
    let bench = try Bench(.rows([]))
    _ = try await bench.backend.plans()
    let request = try #require(bench.requests.first)
    #expect(request.query("account_id") == ["biz_1"])
    #expect(request.query("first") == ["100"])
    #expect(request.header("Authorization") == "Bearer secret_key")
  }

  @Test("Only visible plans are listed, whatever else the credential may see") func visiblePlans() async throws {
    let words: [JSON] = ["visible", "hidden", "archived", "quick_link", "new", nil]
    let bench = try Bench(.rows(words.map { ["id": JSON("plan_\($0.string ?? "")"), "visibility": $0] }))
    #expect(try await bench.backend.plans().map(\.id) == ["plan_visible", "plan_"])
  }

  // MARK: Pages

  /// A service with so many plans, whose cursors need escaping.
  private static func plans(_ count: Int) -> @Sendable (HTTPRequest, Int) -> Reply {
    { request, _ in
      let start = request.query("after").first.flatMap { Int($0.dropFirst("c&= ".count)) } ?? 0
      let size = request.query("first").first.flatMap { Int($0) } ?? 0
      let end = min(count, start + size)
      let info: JSON = ["has_next_page": JSON(end < count), "end_cursor": JSON("c&= \(end)")]
      return .ok(["data": .array((start..<end).map { ["id": JSON("plan_\($0)")] }), "page_info": info])
    }
  }

  @Test("S107 every row comes once and in order", arguments: [0, 1, 10, 11, 99, 100, 101, 250])
  func pages(count: Int) async throws {
    let bench = try Bench(script: Self.plans(count))
    #expect(try await bench.backend.plans().map(\.id) == (0..<count).map { "plan_\($0)" })
    #expect(bench.requests.count == max(1, (count + 99) / 100))
    #expect(bench.requests.allSatisfy { $0.query("after").count <= 1 })
  }

  @Test("S107 a cursor that comes again ends the list as no answer", arguments: ["c", ""])
  func repeatedCursor(_ cursor: String) async throws {
    let bench = try Bench(
      .ok(["data": [["id": "plan_1"]], "page_info": ["has_next_page": true, "end_cursor": JSON(cursor)]]))
    let error = try await bench.error { try await $0.plans() }
    #expect(error.code == .notServiceAnswer)
    #expect(bench.requests.count == 2)
  }

  @Test("S107 a list that never ends is no answer") func endless() async throws {
    let bench = try Bench { _, number in
      .ok(["data": [], "page_info": ["has_next_page": true, "end_cursor": JSON("c\(number)")]])
    }
    #expect(try await bench.error { try await $0.plans() }.code == .notServiceAnswer)
    #expect(bench.requests.count == 1_000)
  }

  @Test(
    "S105 S099 a page that is no page is no answer",
    arguments: [
      ["object": "page"], ["data": nil], ["data": 5], ["data": ["id": "plan_1"]], ["data": [5]], ["data": [nil]],
      ["data": [["title": "no id"]]], ["data": [["id": 5]]], ["data": [["id": "plan_1", "initial_price": "dear"]]],
      ["data": [], "page_info": 5], ["data": [], "page_info": ["has_next_page": "yes"]],
      ["data": [["id": "plan_1"]], "page_info": ["has_next_page": true]],
      ["data": [["id": "plan_1"]], "page_info": ["has_next_page": true, "end_cursor": nil]],
    ] as [JSON])
  func wrongPages(_ page: JSON) async throws {
    let error = try await Bench(.ok(page)).error { try await $0.plans() }
    #expect(error.code == .notServiceAnswer)
    #expect(error.retryable)
  }

  @Test("S107 a fault on a later page leaves nothing of the earlier ones") func faultOnASecondPage() async throws {
    let first: Reply = .ok(["data": [["id": "plan_1"]], "page_info": ["has_next_page": true, "end_cursor": "c"]])
    #expect(try await Bench(first, .html(200)).error { try await $0.plans() }.code == .notServiceAnswer)
  }

  // MARK: Memberships

  private static let everybody = [
    row("mem_1", device: "device 1"), row("mem_2", device: "other", user: "anna&co"), row("mem_3", device: "other"),
    row("mem_4", device: "device 1", user: "anna&co"), row("mem_5", device: "other", user: "ben"), row("mem_6"),
  ]

  /// How the service treats a filter that it does not document.
  private static func service(honours: Bool) -> @Sendable (HTTPRequest, Int) -> Reply {
    { request, _ in
      .rows(
        everybody.filter { row in
          ["kassa_device_id", "kassa_app_user_id"].allSatisfy { key in
            guard honours, let wanted = request.query("metadata[\(key)]").first else { return true }
            return row["metadata"]?[key]?.string == wanted
          }
        })
    }
  }

  @Test("Where filters work, one list for the device, and one for the user") func honouredFilter() async throws {
    let bench = try Bench(script: Self.service(honours: true))
    #expect(try await bench.backend.memberships(of: guest).memberships.map(\.id) == ["mem_1", "mem_4"])
    #expect(bench.requests.map { $0.query("metadata[kassa_device_id]") } == [["device 1"]])
    #expect(bench.requests.first?.query("account_id") == ["biz_1"])
    let listing = try await bench.backend.memberships(of: user)
    #expect(listing.memberships.map(\.id) == ["mem_2", "mem_4", "mem_1"])
    #expect(listing.scanned == 4)
    #expect(bench.requests.count == 3)
    #expect(bench.requests.map { $0.query("metadata[kassa_app_user_id]") } == [[], ["anna&co"], []])
  }

  @Test("Where filters are ignored, one list is enough, and foreign rows are left out") func ignoredFilter()
    async throws
  {
    let bench = try Bench(script: Self.service(honours: false))
    let listing = try await bench.backend.memberships(of: user)
    #expect(listing.memberships.map(\.id) == ["mem_1", "mem_2", "mem_4"])
    #expect(listing.scanned == 6)
    #expect(bench.requests.count == 1)
  }

  @Test("Where filters are refused, they are not sent again", arguments: [400, 422])
  func refusedFilter(status: Int) async throws {
    let bench = try Bench { request, number in
      request.url.contains("metadata") ? .refusal(status) : Self.service(honours: false)(request, number)
    }
    #expect(try await bench.backend.memberships(of: user).memberships.map(\.id) == ["mem_1", "mem_2", "mem_4"])
    #expect(bench.requests.count == 2)
    #expect(try await bench.backend.memberships(of: guest).memberships.map(\.id) == ["mem_1", "mem_4"])
    #expect(bench.requests.count == 3)
  }

  @Test(
    "Other errors of a list are errors",
    arguments: [(401, ErrorCode.unauthorized), (403, .permissionDenied), (404, .notFound)])
  func failedList(status: Int, code: ErrorCode) async throws {
    let bench = try Bench(.refusal(status))
    #expect(try await bench.error { try await $0.memberships(of: user) }.code == code)
    #expect(bench.requests.count == 1)
  }

  @Test("Limited to products, the list is too") func membershipsOfProducts() async throws {
    let bench = try Bench([("product_ids", ["prod_1", "prod_2"])]) { _, _ in .rows([]) }
    _ = try await bench.backend.memberships(of: guest)
    #expect(bench.requests.first?.query("product_ids") == ["prod_1", "prod_2"])
  }

  @Test("A large list is read whole, and its size told") func largeScan() async throws {
    let rows = (0..<1_234).map { row("mem_\($0)", device: $0 == 1_200 ? "device 1" : "other") }
    let bench = try Bench { request, _ in
      let start = request.query("after").first.flatMap { Int($0) } ?? 0
      let end = min(rows.count, start + 100)
      return .ok([
        "data": .array(rows[start..<end]),
        "page_info": ["has_next_page": JSON(end < rows.count), "end_cursor": JSON(String(end))],
      ])
    }
    let listing = try await bench.backend.memberships(of: guest)
    #expect(listing.memberships.map(\.id) == ["mem_1200"])
    #expect(listing.scanned == 1_234)
    #expect(bench.requests.count == 13)
  }

  @Test("S087 devices and users are told apart byte for byte") func bytes() async throws {
    let bench = try Bench(
      .rows([row("mem_1", device: "other", user: "e\u{301}"), row("mem_2", device: "other", user: "\u{E9}")]))
    let identity = Identity(deviceID: "device 1", appUserID: AppUserID("\u{E9}"))
    #expect(try await bench.backend.memberships(of: identity).memberships.map(\.id) == ["mem_2"])
  }

  // MARK: One membership

  @Test("The service's word about one membership") func oneMembership() async throws {
    let bench = try Bench(.ok(row("mem_1", device: "d")))
    guard case .row(let membership) = try await bench.backend.membership("mem_1/..%") else {
      Issue.record("no row")
      return
    }
    #expect(membership.id == "mem_1")
    #expect(membership.confirmedAt == moment)
    #expect(membership.isFromNetwork)
    #expect(bench.requests.first?.path == "/api/v1/memberships/mem_1%2F..%25")
  }

  @Test("Not found and not allowed say nothing about access", arguments: [403, 404, 410]) func silence(status: Int)
    async throws
  {
    guard case .silence = try await Bench(.refusal(status)).backend.membership("mem_1") else {
      Issue.record("the service said something")
      return
    }
  }

  @Test(
    "Every other answer is an error",
    arguments: [
      (.refusal(500), .serviceUnavailable), (.refusal(401), .unauthorized), (.html(403), .notServiceAnswer),
      (.ok([:]), .notServiceAnswer),
      (.ok(["id": "mem_1"]), .notServiceAnswer),
    ] as [(Reply, ErrorCode)])
  func oneMembershipErrors(_ reply: Reply, _ code: ErrorCode) async throws {
    #expect(try await Bench(reply).error { try await $0.membership("mem_1") }.code == code)
  }

  @Test("Of a buyer's memberships, those that were bought as a guest through this library are unclaimed")
  func unclaimed() async throws {
    let bench = try Bench(
      .rows([
        row("mem_1", device: "other", buyer: "user_1"), row("mem_2", device: "other", user: "ben", buyer: "user_1"),
        row("mem_3", buyer: "user_1"), row("mem_4", device: "other", buyer: "user_2"),
      ]))
    #expect(try await bench.backend.unclaimedMemberships(ofBuyer: "user_1").map(\.id) == ["mem_1"])
    #expect(bench.requests.first?.query("user_id") == ["user_1"])
  }

  // MARK: Claims

  @Test("A claim changes two keys of the metadata, and keeps the receipt") func claim() async throws {
    let bench = try Bench(.ok(row("mem_1", device: "device 1", user: "anna&co")))
    let bought = try WhopDecoding.membership(Fields(row("mem_1", device: "device 1")), confirmedAt: moment)
      .withReceipt("pay_1")
    let claimed = try await bench.backend.claim(bought, for: AppUserID("anna&co"))
    #expect(claimed.appUserID == AppUserID("anna&co"))
    #expect(claimed.receiptID == "pay_1")
    let request = try #require(bench.requests.first)
    #expect(request.method == "PATCH")
    #expect(request.path == "/api/v1/memberships/mem_1")
    #expect(request.header("Content-Type") == "application/json")
    #expect(request.header("Idempotency-Key") == nil)
    #expect(
      request.json == ["metadata": ["kassa_app_user_id": "anna&co", "kassa_claimed_at": "2026-10-20T10:00:00.000Z"]])
  }

  // MARK: Permissions

  @Test(
    "Only a granted permission is one",
    arguments: [
      (["data": [["action": "member:basic:read", "granted": true]]], true),
      (["data": [["action": "member:basic:read", "granted": false]]], false),
      (["data": [["action": "plan:basic:read", "granted": true]]], false),
      (["data": [["action": "member:basic:read"]]], false),
      (["data": [["action": "member:basic:read", "granted": 1]]], false), (["data": []], false), ([:], false),
    ] as [(JSON, Bool)])
  func permissions(_ answer: JSON, _ expected: Bool) async throws {
    let bench = try Bench(.ok(answer))
    #expect(try await bench.backend.mayReadMemberships() == expected)
    #expect(bench.requests.first?.query("resource_id") == ["biz_1"])
    #expect(bench.requests.first?.query("actions") == ["member:basic:read"])
  }

  // MARK: Checkout

  private static let created: Reply = .ok(["id": "ch_1", "purchase_url": "/checkout/plan_1?session=ch_1"])

  @Test("A checkout carries who buys, and an idempotency key") func checkout() async throws {
    let bench = try Bench(Self.created)
    let checkout = try await bench.backend.checkout(attempt(user), returnURL: "http://127.0.0.1:5/back")
    #expect(checkout.url == "https://whop.com/checkout/plan_1?session=ch_1")
    #expect(checkout.returnURL == "http://127.0.0.1:5/back")
    let request = try #require(bench.requests.first)
    #expect(request.method == "POST")
    #expect(request.path == "/api/v1/checkout_configurations")
    #expect(request.header("Idempotency-Key") == "nonce1")
    #expect(
      request.json == [
        "account_id": "biz_1", "plan_id": "plan_1", "redirect_url": "http://127.0.0.1:5/back",
        "metadata": [
          "kassa_device_id": "device 1", "kassa_nonce": "nonce1", "kassa_source": "kassa/test",
          "kassa_app_user_id": "anna&co",
        ],
      ])
  }

  @Test("A guest's checkout names no user, and no return address where there is none") func guestCheckout() async throws
  {
    let bench = try Bench(Self.created)
    #expect(try await bench.backend.checkout(attempt(guest), returnURL: nil).returnURL == nil)
    let body = try #require(bench.requests.first).json
    #expect(body["redirect_url"] == nil)
    #expect(body["metadata"]?["kassa_app_user_id"] == nil)
  }

  @Test("A retry is the same request, so that the service can tell") func retriedCheckout() async throws {
    let bench = try Bench(.refusal(503), Self.created)
    _ = try await bench.backend.checkout(attempt(user), returnURL: nil)
    #expect(bench.requests.count == 2)
    #expect(Set(bench.requests.map { $0.header("Idempotency-Key") }).count == 1)
    #expect(bench.requests.first?.body == bench.requests.last?.body)
  }

  @Test("A return address that is refused is left out", arguments: [400, 422]) func refusedReturn(status: Int)
    async throws
  {
    let bench = try Bench(.refusal(status), Self.created)
    let checkout = try await bench.backend.checkout(attempt(user), returnURL: "http://127.0.0.1:5/back")
    #expect(checkout.returnURL == nil)
    #expect(bench.requests.map { $0.json["redirect_url"] != nil } == [true, false])
    let keys = bench.requests.compactMap { $0.header("Idempotency-Key") }
    #expect(Set(keys).count == 2)
  }

  @Test(
    "A checkout that the service refuses is an error",
    arguments: [
      (400, .serviceRefused, 2), (402, .serviceRefused, 1), (404, .planNotFound, 1), (403, .permissionDenied, 1),
    ]
      as [(Int, ErrorCode, Int)])
  func refusedCheckout(status: Int, code: ErrorCode, requests: Int) async throws {
    let bench = try Bench(.refusal(status))
    let error = try await bench.error { try await $0.checkout(attempt(user), returnURL: "app://back") }
    #expect(error.code == code)
    #expect(bench.requests.count == requests)
  }

  @Test(
    "The page is the one that the service names, else that of the configuration",
    arguments: [
      (["id": "ch_1", "purchase_url": "https://pay.example/x"], "https://pay.example/x"),
      (["id": "ch_1"], "https://whop.com/checkout/plan_1?session=ch_1"),
    ] as [(JSON, String)])
  func page(_ answer: JSON, _ url: String) async throws {
    #expect(try await Bench(.ok(answer)).backend.checkout(attempt(user), returnURL: nil).url == url)
  }

  @Test("A page that would not know the buyer is never shown") func noPage() async throws {
    #expect(
      try await Bench(.ok([:])).error { try await $0.checkout(attempt(user), returnURL: nil) }.code == .notServiceAnswer
    )
  }

  @Test(
    "The documented answer is read", .enabled(if: Samples.areHere, Samples.comment),
    arguments: [
      "checkout-configuration.json", "checkout-configuration-older.json",
    ])
  func sampleCheckout(_ file: String) async throws {
    let sample = try Samples.document(file)
    let checkout = try await Bench(.ok(sample)).backend.checkout(attempt(user), returnURL: nil)
    #expect(checkout.url == sample["purchase_url"]?.string)
  }

  // MARK: Progress

  private static func payment(_ id: String, nonce: String, status: String, failed: Int = 0) -> JSON {
    ["id": JSON(id), "status": JSON(status), "payments_failed": JSON(failed), "metadata": ["kassa_nonce": JSON(nonce)]]
  }

  private static func service(memberships: [JSON], payments: Reply) -> @Sendable (HTTPRequest, Int) -> Reply {
    { request, _ in request.path.hasSuffix("/payments") ? payments : .rows(memberships) }
  }

  @Test("The attempt's own membership and payment are found by its nonce") func progress() async throws {
    let bench = try Bench(
      script: Self.service(
        memberships: [
          row("mem_1", device: "device 1", nonce: "other"), row("mem_2", device: "device 1", nonce: "nonce1"),
        ],
        payments: .rows([
          Self.payment("pay_1", nonce: "other", status: "paid"), Self.payment("pay_2", nonce: "nonce1", status: "paid"),
        ])))
    let progress = try await bench.backend.progress(of: attempt(user))
    #expect(progress.membership?.id == "mem_2")
    #expect(progress.membership?.receiptID == "pay_2")
    #expect(progress.payment == .paid)
    #expect(progress.receiptID == "pay_2")
    for request in bench.requests {
      #expect(request.query("plan_id") == ["plan_1"])
      // Ten minutes for clocks that differ.
      #expect(request.query("created_after") == ["2026-10-20T09:50:00.000Z"])
    }
  }

  @Test("Before anything happened there is nothing") func noProgress() async throws {
    let progress = try await Bench(.rows([])).backend.progress(of: attempt(user))
    #expect(progress.membership == nil)
    #expect(progress.payment == .none)
    #expect(progress.receiptID == nil)
  }

  @Test("A declined try does not hide the paid one, whichever comes first", arguments: [false, true])
  func declinedThenPaid(isReversed: Bool) async throws {
    let declined = Self.payment("pay_1", nonce: "nonce1", status: "open", failed: 1)
    let paid = Self.payment("pay_2", nonce: "nonce1", status: "paid")
    let payments = isReversed ? [declined, paid] : [paid, declined]
    let bench = try Bench(script: Self.service(memberships: [], payments: .rows(payments)))
    let progress = try await bench.backend.progress(of: attempt(user))
    #expect(progress.payment == .paid)
    #expect(progress.receiptID == "pay_2")
  }

  @Test("A credential that may not read payments is not tried again", arguments: [403, 404]) func noPayments(
    status: Int
  ) async throws {
    let bench = try Bench(
      script: Self.service(memberships: [row("mem_1", nonce: "nonce1")], payments: .refusal(status)))
    for _ in 0..<2 {
      let progress = try await bench.backend.progress(of: attempt(user))
      #expect(progress.membership?.id == "mem_1")
      #expect(progress.payment == .none)
    }
    #expect(bench.requests.filter { $0.path.hasSuffix("/payments") }.count == 1)
  }

  @Test("Other errors of the payments are errors") func failedPayments() async throws {
    let bench = try Bench(script: Self.service(memberships: [], payments: .html(200)))
    #expect(try await bench.error { try await $0.progress(of: attempt(user)) }.code == .notServiceAnswer)
  }

  @Test("A returning buyer's address is read as a hint") func returned() throws {
    let reading = try Bench(.rows([])).backend.reading(ofReturnURL: "app://back?status=success&receipt_id=pay_1")
    #expect(reading == CheckoutReturn(outcome: .success, receiptID: "pay_1"))
  }
}
