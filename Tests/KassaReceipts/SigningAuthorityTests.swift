import Foundation
import KassaCore
import KassaJSON
import Testing

@testable import KassaReceipts

@Suite struct SigningAuthorityTests {
  private let sandbox = SignedDataExpectation(.transaction, bundleID: "com.example.app", environments: [.sandbox])
  private let payload = transaction([("environment", "Sandbox")])

  @Test func whatItSignsIsVerifiedUnderItsRootAlone() throws {
    let authority = try SigningAuthority(at: noon)
    let text = try authority.sign(payload)
    #expect(try SignedDataVerifier(anchors: [authority.root]) { noon }.verify(text, sandbox) == payload)
    #expect(verdict(text, SignedDataVerifier(anchors: AppleRoots.anchors) { noon }, sandbox) == "untrusted_root")
    let other = try SigningAuthority(at: noon)
    #expect(verdict(text, SignedDataVerifier(anchors: [other.root]) { noon }, sandbox) == "untrusted_root")
  }

  @Test func itIsTheSameAfterBeingKept() throws {
    let authority = try SigningAuthority(at: noon)
    let again = try SigningAuthority(serialized: authority.serialized)
    #expect(again.rootDER == authority.rootDER)
    let verifier = SignedDataVerifier(anchors: [authority.root]) { noon }
    #expect(try verdict(again.sign(payload), verifier, sandbox) == "verified")
    #expect(again.serialized == authority.serialized)
  }

  @Test func whatWasKeptWrongIsRefusedWithItsPlace() throws {
    let kept = try JSON.parse(SigningAuthority(at: noon).serialized)
    let other = try JSON.parse(SigningAuthority(at: noon).serialized)
    let wrong: [(String, JSON)] = [
      ("private_key", .null), ("private_key", "AAA"), ("private_key", "AAAA"),
      ("private_key", other["private_key"] ?? .null), ("certificates", []), ("certificates", ["AAAA", "AAAA", "AAAA"]),
      ("certificates", [1]),
    ]
    for change in wrong {
      #expect(throws: Refusal.self, "\(change)") { try SigningAuthority(serialized: kept.merging([change]).text()) }
    }
    for text in ["", "{", "[]", "null"] { #expect(throws: Refusal.self) { try SigningAuthority(serialized: text) } }
  }

  @Test func itHoldsForTheYearsAskedFor() throws {
    let day: Int64 = 86_400_000, year = 365 * day
    let authority = try SigningAuthority(at: noon, years: 10)
    for (moment, wanted) in [
      (noon - 10 * year, "verified"), (noon - 10 * year - day, "not_yet_valid_certificate"),
      (noon + 10 * year, "verified"), (noon + 10 * year + day, "expired_certificate"),
    ] {
      let text = try authority.sign(payload.merging([("signedDate", JSON(moment))]))
      #expect(verdict(text, SignedDataVerifier(anchors: [authority.root]) { noon }, sandbox) == wanted, "\(moment)")
    }
    // Extremes are cut to what a certificate can say.
    for (at, years) in [(Int64.max, Int.max), (.min, .min), (0, 0), (253_402_300_799_999, 5)] {
      _ = try SigningAuthority(at: at, years: years)
    }
  }

  @Test func onlyObjectsAreSigned() throws {
    let authority = try SigningAuthority(at: noon)
    for payload: JSON in [.null, [], "text", 1] { #expect(throws: Refusal.self) { try authority.sign(payload) } }
  }

  /// For Tests/Python/receipts/test_authority.py, which has Apple's library verify it: texts that an authority signed,
  /// and its root, into the folder that KASSA_EXPORT names.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["KASSA_EXPORT"] != nil))
  func export() throws {
    let folder = try #require(ProcessInfo.processInfo.environment["KASSA_EXPORT"])
    for (number, moment) in [noon, 0, noon + 40 * 365 * 86_400_000].enumerated() {
      let authority = try SigningAuthority(at: moment + 86_400_000)
      try Data(authority.rootDER).write(to: URL(fileURLWithPath: "\(folder)/\(number).der"))
      let again = try SigningAuthority(serialized: authority.serialized)
      for (part, signer) in [authority, again].enumerated() {
        let date: JSON = JSON(moment + 86_400_000)
        let text = try signer.sign(payload.merging([("signedDate", date), ("purchaseDate", date)]))
        try text.write(toFile: "\(folder)/\(number)-\(part).jws", atomically: true, encoding: .utf8)
      }
    }
  }
}
