import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaReceipts

/// What a payload says, once its signature holds.
@Suite struct PayloadTests {
  private let chain: Chain
  private let verifier: SignedDataVerifier

  init() throws {
    chain = try Chain()
    verifier = chain.verifier()
  }

  private func verdict(_ changes: [(String, JSON)], _ expected: SignedDataExpectation = expected) throws -> String {
    KassaReceiptsTests.verdict(try chain.sign(transaction(changes)), verifier, expected)
  }

  @Test func datesInEveryForm() throws {
    let good: [JSON] = [JSON(noon), JSON(Double(noon)), JSON(Double(noon) + 0.485), JSON(noon + 86_400_999)]
    for date in good { #expect(try verdict([("signedDate", date)]) == "verified", "\(date.text())") }
    let wrong: [(JSON, String)] = [
      (JSON(noon / 1000), "not_yet_valid_certificate"), (0, "not_yet_valid_certificate"),
      (-1, "not_yet_valid_certificate"), (JSON(noon - 86_400_001), "not_yet_valid_certificate"),
      (JSON(noon + 86_401_000), "expired_certificate"), (253_402_300_799_999, "expired_certificate"),
      (253_402_300_800_000, "malformed_payload"), (JSON(Int64.max), "malformed_payload"),
      (JSON(Int64.min), "malformed_payload"), (JSON(1e300), "malformed_payload"), (.null, "malformed_payload"),
      (JSON(String(noon)), "malformed_payload"), ("2026-11-30T12:00:00Z", "malformed_payload"),
      (true, "malformed_payload"), ([], "malformed_payload"), ([:], "malformed_payload"),
    ]
    for (date, reason) in wrong {
      #expect(try verdict([("signedDate", date)]) == reason, "\(date.text())")
    }
  }

  @Test func withoutADateThePresentCounts() throws {
    var members = transaction().members
    members.removeAll { $0.0 == "signedDate" }
    let text = try chain.sign(.object(members))
    for (now, wanted) in [
      (noon, "verified"), (noon + 2 * 86_400_000, "expired_certificate"),
      (noon - 2 * 86_400_000, "not_yet_valid_certificate"),
    ] {
      #expect(KassaReceiptsTests.verdict(text, chain.verifier(now: now)) == wanted)
    }
    // What says when it was signed is judged by that, whatever the time.
    #expect(try KassaReceiptsTests.verdict(chain.sign(), chain.verifier(now: noon * 2)) == "verified")
    var aged = expected
    aged.maximumAgeMilliseconds = .max
    #expect(KassaReceiptsTests.verdict(text, verifier, aged) == "stale")
  }

  @Test func ageIsExactToTheMillisecond() throws {
    var aged = expected
    aged.maximumAgeMilliseconds = 60_000
    let text = try chain.sign()
    #expect(KassaReceiptsTests.verdict(text, chain.verifier(now: noon + 60_000), aged) == "verified")
    #expect(KassaReceiptsTests.verdict(text, chain.verifier(now: noon + 60_001), aged) == "stale")
    #expect(KassaReceiptsTests.verdict(text, chain.verifier(now: noon - 1), aged) == "verified")
    #expect(KassaReceiptsTests.verdict(text, chain.verifier(now: .max), aged) == "stale")
  }

  @Test func payloadsThatAreNone() throws {
    let deep = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
    let broken = [
      "", "{", "[]", "null", "1", "\"text\"", "{\"a\":1,\"a\":1}", "{\"a\":\(deep)}", "{\"a\":1e999}", "{\"a\":01}",
      "{\"signedDate\":99999999999999999999}", String(repeating: "[", count: 500_000), "{} {}", "{\"a\":\"\0\"}",
    ]
    for payload in broken {
      let text = try chain.sign(payload, header: chain.header.text())
      #expect(KassaReceiptsTests.verdict(text, verifier) == "malformed_payload", "\(payload.prefix(40))")
    }
    #expect(try verdict([("bundleId", 42)]) == "malformed_payload")
    #expect(try verdict([("environment", ["Production"])]) == "malformed_payload")
  }

  /// The message names the place, and shows little of what stands there.
  @Test func aRefusalNamesThePlace() throws {
    let text = try chain.sign(transaction([("bundleId", 42)]))
    let refusal = #expect(throws: Refusal.self) { try verifier.verify(text, expected) }
    #expect(refusal?.message == "payload: bundleId must be a string (got a number)")
    let long = try chain.sign(transaction([("bundleId", JSON(String(repeating: "x", count: 100_000)))]))
    let second = #expect(throws: Refusal.self) { try verifier.verify(long, expected) }
    #expect((second?.message.utf8.count ?? 0) < 300)
  }

  @Test func appAndNumberAreCompared() throws {
    #expect(try verdict([("bundleId", "com.example.other")]) == "wrong_bundle_id")
    #expect(try verdict([("bundleId", .null)]) == "wrong_bundle_id")
    for part in ["data", "summary", "appData"] {
      func about(_ changes: [(String, JSON)]) -> JSON {
        let about: JSON = ["bundleId": "com.example.app", "appAppleId": 7, "environment": "Production"]
        return .object([("signedDate", JSON(noon)), (part, about.merging(changes))])
      }
      let wanted = SignedDataExpectation(.notification, bundleID: "com.example.app", appAppleID: 7)
      let found = try [
        [], [("appAppleId", 8)], [("appAppleId", .null)], [("bundleId", "x")], [("environment", "Sandbox")],
      ].map { KassaReceiptsTests.verdict(try chain.sign(about($0)), verifier, wanted) }
      #expect(
        found == ["verified", "wrong_app_apple_id", "wrong_app_apple_id", "wrong_bundle_id", "wrong_environment"])
    }
    let token: JSON = [
      "signedDate": JSON(noon),
      "externalPurchaseToken": ["bundleId": "com.example.app", "externalPurchaseId": "SANDBOX_1"],
    ]
    let sandbox = SignedDataExpectation(.notification, bundleID: "com.example.app", environments: [.sandbox])
    #expect(try KassaReceiptsTests.verdict(chain.sign(token), verifier, sandbox) == "verified")
  }

  /// Other members may say anything: the payload is what was signed, and no more is claimed of it.
  @Test func nothingCrashesOnAnyMember() throws {
    let values: [JSON] = [
      .null, true, 0, -1, JSON(Int64.max), JSON(Int64.min), JSON(1.5), JSON(-1e300), "", "x", [], [:], [[]],
      JSON(String(repeating: "9", count: 1000)),
    ]
    for (key, _) in transaction().members {
      for value in values {
        let payload = transaction([(key, value)])
        _ = try verdict([(key, value)])
        _ = try? StoreTransaction(applePayload: payload, proof: "")
      }
    }
  }
}
