import COpenSSL
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaReceipts

/// What stands in the text and its header, before anything is verified.
@Suite struct JWSFormTests {
  private let chain: Chain
  private let verifier: SignedDataVerifier

  init() throws {
    chain = try Chain()
    verifier = chain.verifier()
  }

  private func header(_ changes: [(String, JSON)]) -> JSON { chain.header.merging(changes) }

  @Test("S119 other algorithms, crit, DER signatures, padding and extra segments are refused")
  func otherForms() throws {
    for algorithm: JSON in [
      "none", "None", "HS256", "es256", "ES384", "ES512", "RS256", "ES256 ", "", .null, 256, ["ES256"],
    ] {
      #expect(try verdict(chain.sign(header: header([("alg", algorithm)])), verifier) == "wrong_algorithm")
    }
    for crit: JSON in [[], ["b64"], ["exp"], .null, "exp"] {
      #expect(try verdict(chain.sign(header: header([("crit", crit)])), verifier) == "critical_header")
    }
    #expect(try verdict(chain.sign(header: header([("b64", false)])), verifier) == "critical_header")

    let text = try chain.sign()
    let parts = text.split(separator: ".").map(String.init)
    let raw = try #require(Base64.decode(parts[2], .url))
    let der = try #require(raw.withUnsafeBytes { ECDSASignature(raw: $0)?.withDER(Array.init) })
    #expect(verdict("\(parts[0]).\(parts[1]).\(url(der))", verifier) == "wrong_signature")
    for wrong in [
      text + "=", text + "==", text + ".", text + ".AAAA", "." + text, parts[0] + "." + parts[1], parts[0], "", ".",
      "..", "...", "\(parts[0])..\(parts[2])", text + "\n", " " + text, text + "\0",
      "\(parts[0]).\(parts[1])=.\(parts[2])",
      text.replacing("-", with: "+").replacing("_", with: "/"),
    ] {
      let found = verdict(wrong, verifier)
      #expect(found == "malformed_text" || found == "wrong_signature", "\(wrong.suffix(8)): \(found)")
    }
    #expect(verdict("\(parts[0]).\(parts[1]).", verifier) == "wrong_signature")
    #expect(verdict("\(parts[0]).\(parts[1]).\(url([UInt8](repeating: 0, count: 64)))", verifier) == "wrong_signature")
    let ones = url([UInt8](repeating: 255, count: 64))
    #expect(verdict("\(parts[0]).\(parts[1]).\(ones)", verifier) == "wrong_signature")
    #expect(verdict(text, verifier) == "verified")
  }

  /// Only one spelling of a signature is accepted: of the last character, 64 bytes leave 4 bits unused.
  @Test func oneSpellingOfASignature() throws {
    let text = try chain.sign()
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    let accepted = alphabet.filter { verdict(String(text.dropLast()) + String($0), verifier) == "verified" }
    #expect(accepted.count == 1)
  }

  @Test func headersThatAreNone() throws {
    for text in ["", "{", "[]", "null", "\"ES256\"", "1", "{\"alg\":\"ES256\",\"alg\":\"ES256\"}", "\u{FEFF}{}x"] {
      let found = try verdict(chain.sign(transaction().text(), header: text), verifier)
      #expect(["malformed_header", "malformed_text"].contains(found), "\(text): \(found)")
    }
    let deep = String(repeating: "[", count: 9) + String(repeating: "]", count: 9)
    let nested = "{\"alg\":\"ES256\",\"a\":\(deep)}"
    #expect(try verdict(chain.sign(transaction().text(), header: nested), verifier) == "malformed_header")
  }

  @Test func chainsThatAreNone() throws {
    let good = chain.certificates.map { JSON(base64($0)) }
    let other = try Chain()
    let longer = base64(chain.certificates[0] + [0])
    let wrong: [(JSON, String)] = [
      (.null, "malformed_header"), ("text", "malformed_header"), ([], "chain_too_short"),
      ([good[0]], "chain_too_short"), ([good[0], good[1]], "chain_too_short"),
      ([good[0], good[1], good[2], good[2]], "chain_too_long"), ([1, 2, 3], "malformed_header"),
      ([good[0], good[1], .null], "malformed_header"), ([good[1], good[0], good[2]], "broken_chain"),
      ([good[2], good[1], good[0]], "untrusted_root"), ([good[0], good[2], good[1]], "untrusted_root"),
      ([good[0], good[0], good[2]], "broken_chain"), ([good[0], good[2], good[2]], "broken_chain"),
      ([JSON(base64(other.certificates[0])), good[1], good[2]], "broken_chain"),
      ([good[0], JSON(base64(other.certificates[1])), good[2]], "broken_chain"),
      ([good[0], good[1], JSON(base64(other.certificates[2]))], "untrusted_root"),
      (.array(other.certificates.map { JSON(base64($0)) }), "untrusted_root"),
      (["", good[1], good[2]], "malformed_certificate"), (["AAAA", good[1], good[2]], "malformed_certificate"),
      ([JSON(longer), good[1], good[2]], "malformed_certificate"),
      ([JSON(base64(chain.certificates[0]) + "\n"), good[1], good[2]], "malformed_certificate"),
      ([JSON(url(chain.certificates[0])), good[1], good[2]], "malformed_certificate"),
      ([JSON(String(repeating: "A", count: 20_000)), good[1], good[2]], "malformed_certificate"),
    ]
    for (certificates, reason) in wrong {
      let found = try verdict(chain.sign(header: header([("x5c", certificates)])), verifier)
      #expect(found == reason, "\(certificates.text().prefix(80))")
    }
    var without = chain.header.members
    without.removeAll { $0.0 == "x5c" }
    #expect(try verdict(chain.sign(header: .object(without)), verifier) == "missing_chain")
    without.append(("x5cwrong", .array(good)))
    #expect(try verdict(chain.sign(header: .object(without)), verifier) == "missing_chain")
  }

  @Test func giantTexts() throws {
    let giant = String(repeating: "A", count: CompactJWS.maximumBytes)
    #expect(verdict(giant + ".A.A", verifier) == "too_large")
    let large = try chain.sign(transaction([("note", JSON(String(repeating: "x", count: 700_000)))]))
    #expect(verdict(large, verifier) == "verified")
    let larger = try chain.sign(transaction([("note", JSON(String(repeating: "x", count: 900_000)))]))
    #expect(verdict(larger, verifier) == "too_large")
  }

  /// Bytes of a good text changed at random, and pieces of it in any order: refused, and nothing crashes.
  @Test func anythingElse() throws {
    let text = Array(try chain.sign().utf8)
    var random = SystemRandomNumberGenerator()
    for _ in 0..<3_000 {
      var bytes = text
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...50, using: &random)))
        default: bytes.insert(contentsOf: bytes.prefix(Int.random(in: 1...50, using: &random)), at: place)
        }
        if bytes.isEmpty { break }
      }
      guard bytes != text else { continue }
      #expect(verdict(String(decoding: bytes, as: UTF8.self), verifier) != "verified")
    }
  }

  @Test func theErrorListOfTheThreadIsLeftAsItWas() throws {
    ERR_clear_error()
    _ = EVP_PKEY_CTX_new_from_name(nil, "no such algorithm", nil)
    let own = ERR_peek_last_error()
    #expect(own != 0)
    for text in [try chain.sign(), "a.b.c", try chain.sign(header: header([("x5c", ["AAAA", "AAAA", "AAAA"])]))] {
      _ = verdict(text, chain.verifier())
    }
    _ = verdict(String(try chain.sign().dropLast(4)) + "AAAA", verifier)
    #expect(ERR_peek_last_error() == own)
    ERR_clear_error()
    _ = verdict(String(try chain.sign().dropLast(4)) + "AAAA", verifier)
    #expect(ERR_peek_error() == 0)
  }
}
