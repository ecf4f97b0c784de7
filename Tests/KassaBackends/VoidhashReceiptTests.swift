import Foundation
import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

@Suite struct VoidhashReceiptTests {
  @Test("A receipt only names its transaction, every digit of it, and its owner") func apple() async throws {
    let bench = try VoidhashBench(.ok(["accepted": true]))
    let large = receipt("18446744073709551615", owner: DistinctID("vh:anon:1"))
    #expect(try await bench.backend.submit(large) == .accepted)
    let request = try #require(bench.requests.first)
    #expect(request.method == "POST" && request.path == "/api/v1/sdk/sync-transaction")
    #expect(request.header("x-distinct-id") == "vh:anon:1")
    #expect(request.json == ["platform": "ios", "transactionId": "18446744073709551615"])
  }

  @Test("Google's is its token; without one there is nothing to send") func google() async throws {
    let bench = try VoidhashBench(.ok(["accepted": true]))
    #expect(try await bench.backend.submit(receipt("GPA.1", platform: .google, token: "token-1")) == .accepted)
    #expect(bench.requests.first?.json == ["platform": "android", "purchaseToken": "token-1"])
    for token in [nil, ""] as [String?] {
      guard case .refused = try await bench.backend.submit(receipt("GPA.1", platform: .google, token: token)) else {
        throw Unexpected(text: "accepted")
      }
    }
    #expect(bench.requests.count == 1)
  }

  /// Every status, with and without the service's envelope, and every form of the flag.
  @Test("One rule says what an answer to a receipt means") func verdicts() {
    let envelope = VoidhashEnvelope(tag: "Api/X")
    for status in 100..<600 {
      for own in [nil, envelope] {
        for flag in [nil, true, false] {
          let expected: VoidhashVerdict
          switch (status, flag) {
          case (200..<300, true?): expected = .accepted
          case (200..<300, false?): expected = .refused
          case (400..<500, _) where own != nil && ![401, 403, 408, 429].contains(status): expected = .refused
          default: expected = .again
          }
          #expect(VoidhashVerdict(status: status, envelope: own, accepted: flag) == expected, "\(status)")
        }
      }
    }
  }

  @Test(
    "What becomes of a receipt",
    arguments: [
      (.ok(["accepted": true, "new": 1]), .accepted),
      (.ok(["accepted": false]), .refused(message: "the service did not accept the receipt", status: 200)),
      (.tagged(400, "Api/SdkValidationError", "text"), .refused(message: "text", status: 400)),
      (.tagged(404), .refused(message: "no", status: 404)), (.tagged(409), .refused(message: "no", status: 409)),
      (.tagged(422), .refused(message: "no", status: 422)),
    ] as [(Reply, ReceiptVerdict)])
  func settled(_ reply: Reply, _ verdict: ReceiptVerdict) async throws {
    #expect(try await VoidhashBench(reply).backend.submit(receipt()) == verdict)
  }

  @Test(
    "What leaves a receipt where it is",
    arguments: [
      (.ok([:]), .notServiceAnswer), (.ok(["accepted": nil]), .notServiceAnswer),
      (.ok(["accepted": "true"]), .notServiceAnswer), (.ok(["accepted": 1]), .notServiceAnswer),
      (.tagged(500), .serviceUnavailable), (.html(503), .serviceUnavailable), (.tagged(429), .rateLimited),
      (.tagged(501), .serviceUnavailable), (.tagged(520), .serviceUnavailable), (.html(520), .notServiceAnswer),
      (.tagged(408), .timedOut), (.keyRefused, .unauthorized), (.html(403), .notServiceAnswer),
      (.html(404), .notServiceAnswer), (.failure(.offline("text")), .offline), (.failure(.cancelled), .cancelled),
    ] as [(Reply, ErrorCode)])
  func kept(_ reply: Reply, _ code: ErrorCode) async throws {
    let error = try await VoidhashBench(reply).error { try await $0.submit(receipt()) }
    #expect(error.code == code)
    #expect(error.retryable == ![.unauthorized, .cancelled].contains(code))
  }

  @Test(
    "The documented answers", .enabled(if: VoidhashSamples.areHere, VoidhashSamples.comment),
    arguments: [
      ("sync-transaction-response-accepted.json", "accepted"), ("sync-transaction-response-rejected.json", "refused"),
      ("sync-transaction-response-no-flag.json", "kept"), ("development-purchase-response.json", "accepted"),
    ])
  func samples(_ file: String, _ expected: String) async throws {
    let bench = try VoidhashBench(.json(200, try VoidhashSamples.text(file)))
    let verdict = try? await bench.backend.submit(receipt())
    switch verdict {
    case .accepted?: #expect(expected == "accepted")
    case .refused?: #expect(expected == "refused")
    case nil: #expect(expected == "kept")
    }
  }

  @Test(
    "Purchases of Xcode and of local tests are not for the service, nor real ones for its development route",
    arguments: [
      (.production, nil, .realCharge), (.sandbox, nil, nil), (.xcode, .testing, nil), (.localTesting, .testing, nil),
      (nil, nil, nil),
    ] as [(StoreTransaction.Environment?, ReceiptObstacle?, ReceiptObstacle?)])
  func obstacle(
    _ environment: StoreTransaction.Environment?, _ real: ReceiptObstacle?, _ development: ReceiptObstacle?
  ) throws {
    for (name, expected) in [("production", real), ("all", real), ("development", development)] {
      let bench = try VoidhashBench([("environment", JSON(name))]) { _, _ in .person() }
      #expect(bench.backend.obstacle(to: receipt(environment: environment)) == expected, "\(name)")
    }
  }

  // MARK: Development

  private func development(_ reply: Reply = .ok(["accepted": true, "warning": nil])) throws -> VoidhashBench {
    try VoidhashBench(
      [("environment", "development")], facts: VoidhashClientFacts(sdkVersion: "0.1.0", isDebug: true)
    ) { _, _ in reply }
  }

  @Test("In development, purchases go to their own route, the same one under the same id") func developmentRoute()
    async throws
  {
    let bench = try development()
    let one = receipt("1", environment: .xcode, quantity: 3)
    #expect(try await bench.backend.submit(one) == .accepted)
    #expect(try await bench.backend.submit(one) == .accepted)
    _ = try await bench.backend.submit(receipt("2"))
    _ = try await bench.backend.submit(receipt("1", purchasedAt: moment + 1))
    let request = try #require(bench.requests.first)
    #expect(request.path == "/api/v1/sdk/development/purchase")
    #expect(request.header("x-environment") == "development" && request.header("x-is-debug-build") == "true")
    let ids = bench.requests.map { $0.json["devTransactionId"]?.string ?? "" }
    #expect(ids.allSatisfy { UUID(uuidString: $0) != nil })
    #expect(ids[0] == ids[1] && Set(ids).count == 3)
    #expect(
      request.json == [
        "devTransactionId": JSON(ids[0]), "productSlug": "pro", "purchaseDate": JSON(moment), "quantity": 3,
      ])
  }

  @Test("Without its product or its time a development purchase has no meaning") func incomplete() async throws {
    let bench = try development()
    for one in [receipt(slug: nil), receipt(purchasedAt: nil)] {
      guard case .refused(_, nil) = try await bench.backend.submit(one) else { throw Unexpected(text: "accepted") }
    }
    #expect(bench.requests.isEmpty)
  }
}
