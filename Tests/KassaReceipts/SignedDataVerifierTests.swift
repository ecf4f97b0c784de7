import COpenSSL
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaReceipts

@Suite struct SignedDataVerifierTests {
  @Test func whatAChainSignsIsVerified() throws {
    let chain = try Chain()
    let payload = try chain.verifier().verify(chain.sign(), expected)
    #expect(payload == transaction())
  }

  @Test("S115 data of Xcode, of local tests and of the sandbox grants nothing in production")
  func otherEnvironments() throws {
    let chain = try Chain()
    for word in ["Xcode", "LocalTesting", "Sandbox", "sandbox", "", "Produktion"] {
      let text = try chain.sign(transaction([("environment", JSON(word))]))
      #expect(verdict(text, chain.verifier()) == "wrong_environment", "\(word)")
    }
    #expect(try verdict(chain.sign(transaction([("environment", .null)])), chain.verifier()) == "wrong_environment")

    // A forged text that says Xcode under a certificate of its own: no set of environments with a real one believes it.
    let forger = try Chain()
    var forged = forger
    forged.certificates = [forger.certificates[0]]
    let text = try forged.sign(transaction([("environment", "Xcode")]))
    for environments: Set<StoreTransaction.Environment> in [
      [.production], [.sandbox], [.production, .xcode], [.sandbox, .localTesting], [],
    ] {
      let wanted = SignedDataExpectation(.transaction, environments: environments)
      #expect(verdict(text, SignedDataVerifier(anchors: []) { noon }, wanted) == "chain_too_short")
      #expect(verdict(text, chain.verifier(), wanted) == "chain_too_short")
    }
    // Even where local data alone is wanted, a verifier that has roots takes no other.
    let local = SignedDataExpectation(.transaction, environments: [.xcode])
    #expect(verdict(text, chain.verifier(), local) == "chain_too_short")
    #expect(verdict(text, SignedDataVerifier(anchors: []) { noon }, local) == "verified")
    let changed = text.dropLast(4) + "AAAA"
    #expect(verdict(String(changed), SignedDataVerifier(anchors: []) { noon }, local) == "wrong_signature")
    let production = try forged.sign()
    #expect(verdict(production, SignedDataVerifier(anchors: []) { noon }, local) == "wrong_environment")
  }

  @Test("S117 a chain of the right root for another purpose is refused")
  func markers() throws {
    let leaf = try Chain(leaf: { $0.marker = nil })
    #expect(try verdict(leaf.sign(), leaf.verifier()) == "missing_marker")
    let intermediate = try Chain(intermediate: { $0.marker = "1.2.840.113635.100.6.2.2" })
    #expect(try verdict(intermediate.sign(), intermediate.verifier()) == "missing_marker")
    let swapped = try Chain(
      intermediate: { $0.marker = Certificate.Marker.leaf.text },
      leaf: { $0.marker = Certificate.Marker.intermediate.text })
    #expect(try verdict(swapped.sign(), swapped.verifier()) == "missing_marker")
  }

  @Test("S118 issuers on P-384 with SHA-384 are verified")
  func p384() throws {
    for (root, intermediate) in [(Curves.p384, Curves.p384), (Curves.p384, Curves.p256), (Curves.p256, Curves.p384)] {
      let chain = try Chain(root: { $0.curve = root }, intermediate: { $0.curve = intermediate }, hash: EVP_sha384())
      #expect(try verdict(chain.sign(), chain.verifier()) == "verified", "\(root) \(intermediate)")
    }
    let leaf = try Chain(leaf: { $0.curve = Curves.p384 })
    let text = try Chain().sign(header: leaf.header)
    #expect(verdict(text, leaf.verifier()) == "unsupported_key")
    let curve = try Chain(intermediate: { $0.curve = "secp521r1" })
    #expect(try verdict(curve.sign(), curve.verifier()) == "unsupported_key")
    let hash = try Chain(hash: EVP_sha1())
    #expect(try verdict(hash.sign(), hash.verifier()) == "unsupported_certificate_signature")
  }

  @Test("S122 the message names the root that the text ends in and the roots that are trusted")
  func untrustedRoot() throws {
    let chain = try Chain(root: { $0.name = "Old Root" })
    let other = try Chain(root: { $0.name = "New Root" })
    let text = try chain.sign()
    let refusal = #expect(throws: Refusal.self) { try other.verifier().verify(text, expected) }
    #expect(refusal?.reason == "untrusted_root")
    #expect(refusal?.message.contains("Old Root") == true)
    #expect(refusal?.message.contains("New Root") == true)
    // While a root is replaced both are trusted.
    let both = SignedDataVerifier(anchors: [other.root, chain.root]) { noon }
    #expect(verdict(text, both) == "verified")
    #expect(try verdict(other.sign(), both) == "verified")
    #expect(verdict(text, SignedDataVerifier(anchors: []) { noon }) == "untrusted_root")
  }
}
