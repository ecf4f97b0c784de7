import KassaCore
import KassaJSON
import Testing

@testable import KassaReceipts

/// What `kassa_verify` answers, by request.
@Suite struct VerificationTests {
  private let chain: Chain

  init() throws { chain = try Chain() }

  private func answer(_ text: String, _ changes: [(String, JSON)] = []) -> JSON {
    let request: JSON = [
      "text": JSON(text), "kind": "transaction", "roots": [JSON(base64(chain.root.der))],
    ]
    return Verification.document(for: request.merging(changes))
  }

  /// A text without a date is judged by the present time, which tests may set.
  @Test func thePresentTimeMayBeAnyThatHasADate() throws {
    let text = try chain.sign(.object(transaction().members.filter { $0.0 != "signedDate" }))
    let answers: [(Int64, String)] = [
      (253_402_300_799_999, "expired_certificate"), (-253_402_300_799_999, "not_yet_valid_certificate"),
      (0, "not_yet_valid_certificate"), (253_402_300_800_000, "invalid_request"), (.max, "invalid_request"),
      (.min, "invalid_request"), (.min + 1, "invalid_request"),
    ]
    for (now, reason) in answers {
      let found = answer(text, [("now", JSON(now))])
      #expect(found["reason"]?.string == reason, "\(now)")
    }
    #expect(answer(text, [("now", JSON(noon))])["verified"]?.bool == true)
    let message = answer(text, [("now", JSON(Int64.max))])["message"]?.string
    #expect(message?.contains("now must be milliseconds since 1970, of the year 9999 at most") == true)
  }

  /// The clock of a verifier is the program's, and may say anything.
  @Test func noClockStopsTheProgram() throws {
    let text = try chain.sign(.object(transaction().members.filter { $0.0 != "signedDate" }))
    #expect(verdict(text, chain.verifier(now: .max)) == "expired_certificate")
    #expect(verdict(text, chain.verifier(now: .min)) == "not_yet_valid_certificate")
  }

  /// `"roots": []` is a list of roots like any other.
  @Test func noRootsTrustNobody() throws {
    var local = chain
    local.certificates = [chain.certificates[0]]
    let text = try local.sign(transaction([("environment", "Xcode")]))
    let expectsXcode: (String, JSON) = ("environments", ["xcode"])
    #expect(answer(text, [expectsXcode, ("roots", .null)])["verified"]?.bool == true)
    #expect(answer(text, [expectsXcode, ("roots", [])])["reason"]?.string == "chain_too_short")
    #expect(try answer(chain.sign(), [("roots", [])])["reason"]?.string == "untrusted_root")
  }

  @Test func oneKindDoesNotPassForAnother() throws {
    let about: JSON = ["bundleId": "com.example.app", "appAppleId": 7, "environment": "Production"]
    let texts: [(String, JSON)] = [
      ("transaction", transaction()),
      (
        "renewal_info",
        ["autoRenewStatus": 1, "autoRenewProductId": "p", "environment": "Production", "signedDate": JSON(noon)]
      ),
      ("app_transaction", ["receiptType": "Production", "receiptCreationDate": JSON(noon), "bundleId": "x"]),
      ("notification", ["notificationType": "TEST", "signedDate": JSON(noon), "data": about]),
    ]
    for (kind, payload) in texts {
      let text = try chain.sign(payload)
      for (asked, _) in texts {
        let found = answer(text, [("kind", JSON(asked))])
        #expect(found["reason"]?.string == (asked == kind ? nil : "malformed_payload"), "\(kind) as \(asked)")
        if asked != kind { #expect(found["message"]?.string?.contains("\(kind), not \(asked)") == true) }
      }
    }
  }
}
