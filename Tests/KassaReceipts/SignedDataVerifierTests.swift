import COpenSSL
import Dispatch
import Foundation
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
    for environments: [StoreTransaction.Environment] in [
      [.production], [.sandbox], [.production, .xcode], [.sandbox, .localTesting], [],
    ] {
      let wanted = SignedDataExpectation(.transaction, environments: environments)
      #expect(verdict(text, SignedDataVerifier(anchors: nil) { noon }, wanted) == "chain_too_short")
      #expect(verdict(text, chain.verifier(), wanted) == "chain_too_short")
    }
    // Even where local data alone is wanted, a verifier that has a list of roots takes no other.
    let local = SignedDataExpectation(.transaction, environments: [.xcode])
    #expect(verdict(text, chain.verifier(), local) == "chain_too_short")
    #expect(verdict(text, SignedDataVerifier(anchors: []) { noon }, local) == "chain_too_short")
    #expect(verdict(text, SignedDataVerifier(anchors: nil) { noon }, local) == "verified")
    let changed = text.dropLast(4) + "AAAA"
    #expect(verdict(String(changed), SignedDataVerifier(anchors: nil) { noon }, local) == "wrong_signature")
    let production = try forged.sign()
    #expect(verdict(production, SignedDataVerifier(anchors: nil) { noon }, local) == "wrong_environment")
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

  /// Roots of 2048 and 4096 bits, and what Apple's library says to them, are in Tests/Python/receipts.
  @Test func issuersMayBeRSA() throws {
    let keys = try (0..<2).map { _ in try rsaKey(bits: 2048) }
    defer { for key in keys { EVP_PKEY_free(key) } }
    func key(_ number: Int) -> OpaquePointer {
      EVP_PKEY_up_ref(keys[number])
      return keys[number]
    }
    let root = try Chain(rootKey: key(0), hash: EVP_sha384())
    #expect(try verdict(root.sign(), root.verifier()) == "verified")
    let both = try Chain(rootKey: key(1), intermediateKey: key(0))
    #expect(try verdict(both.sign(), both.verifier()) == "verified")

    #expect(try verdict(root.sign(), both.verifier()) == "untrusted_root")
    var swapped = root
    swapped.certificates[2] = both.certificates[2]
    #expect(try verdict(swapped.sign(), both.verifier()) == "broken_chain")

    let hash = try Chain(rootKey: key(0), hash: EVP_sha1())
    #expect(try verdict(hash.sign(), hash.verifier()) == "unsupported_certificate_signature")
    let short = try Chain(intermediateKey: rsaKey(bits: 1024))
    #expect(try verdict(short.sign(), short.verifier()) == "unsupported_key")
    let refusal = #expect(throws: Refusal.self) { try Chain(rootKey: rsaKey(bits: 1024)) }
    #expect(refusal?.reason == "unsupported_key")
    #expect(refusal?.message.contains("1024 bits") == true)
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

  @Test("S121 roots are compiled in or given in code: nothing in the environment or on disk adds one")
  func rootsComeFromCodeAlone() throws {
    // As https://www.apple.com/certificateauthority/ and Apple's certification practice statements print them.
    let published = [
      "CN=Apple Root CA - G3": "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
      "CN=Apple Root CA - G2": "c2b9b042dd57830e7d117dac55ac8ae19407d38e41d88f3215bc3a890444a050",
      "CN=Apple Root CA": "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024",
    ]
    var found: [String: String] = [:]
    for root in AppleRoots.anchors {
      let digest = try root.der.lend { bytes throws(Refusal) in
        try HashedPrefix(bytes).digest(followedBy: UnsafeRawBufferPointer(start: nil, count: 0))
      }
      let name = root.name.split(separator: "/").first { $0.hasPrefix("CN=") }
      found[try String(#require(name))] = digest.indices.map { digest[$0] }.map {
        ($0 < 16 ? "0" : "") + String($0, radix: 16)
      }.joined()
    }
    #expect(found == published)

    // OpenSSL's own settings for trusted certificates change nothing.
    let chain = try Chain()
    let pem = "-----BEGIN CERTIFICATE-----\n\(base64(chain.root.der))\n-----END CERTIFICATE-----\n"
    let path = NSTemporaryDirectory() + "kassa-roots-\(UInt64.random(in: 0 ... .max)).pem"
    try pem.write(toFile: path, atomically: true, encoding: .utf8)
    setenv("SSL_CERT_FILE", path, 1)
    defer {
      unsetenv("SSL_CERT_FILE")
      try? FileManager.default.removeItem(atPath: path)
    }
    #expect(try verdict(chain.sign(), SignedDataVerifier(anchors: AppleRoots.anchors) { noon }) == "untrusted_root")
  }

  @Test func aRootIsKnownByItsKey() throws {
    // Reissued: another certificate with the same key and name. Whichever of the two a text carries, it is that root.
    let chain = try Chain()
    let plan = CertificatePlan.root("Test Root", noon / 1000 - 100, noon / 1000 + 100)
    let identity = try plan.make(issuer: nil)
    let wrong = try TrustAnchor(der: identity.der)
    let text = try chain.sign()
    #expect(verdict(text, SignedDataVerifier(anchors: [wrong]) { noon }) == "untrusted_root")
    #expect(verdict(text, SignedDataVerifier(anchors: [wrong, chain.root, wrong]) { noon }) == "verified")
  }

  @Test func rootsThatAreNone() throws {
    let chain = try Chain()
    for (der, reason) in [
      ([], "malformed_certificate"), ([1, 2, 3], "malformed_certificate"),
      (chain.root.der + [0], "malformed_certificate"), (chain.certificates[0], "not_an_authority"),
      ([UInt8](repeating: 0x30, count: 100_000), "malformed_certificate"),
    ] {
      let refusal = #expect(throws: Refusal.self) { try TrustAnchor(der: der) }
      #expect(refusal?.reason == reason)
    }
  }

  @Test func usesOfCertificates() throws {
    let cases: [(Chain, String)] = [
      (try Chain(intermediate: { $0.extensions[0].value = "critical,CA:FALSE" }), "not_an_authority"),
      (try Chain(intermediate: { $0.extensions[1].value = "critical,cRLSign" }), "wrong_key_usage"),
      (try Chain(leaf: { $0.extensions[1].value = "critical,keyAgreement" }), "wrong_key_usage"),
      (try Chain(leaf: { $0.extensions[0].value = "critical,CA:TRUE" }), "wrong_key_usage"),
      (try Chain(leaf: { $0.extensions.append((NID_ext_key_usage, "critical,codeSigning")) }), "critical_extension"),
      (try Chain(root: { $0.extensions[0].value = "critical,CA:TRUE,pathlen:0" }), "not_an_authority"),
      (try Chain(leaf: { $0.extensions.remove(at: 1) }), "verified"),
      (try Chain(leaf: { $0.extensions.removeLast(2) }, hash: EVP_sha384()), "verified"),
    ]
    for (chain, wanted) in cases { #expect(try verdict(chain.sign(), chain.verifier()) == wanted) }
  }

  @Test func aChainIsKeptOnceItSignedSomething() throws {
    let chain = try Chain()
    let verifier = chain.verifier()
    let text = try chain.sign()
    // Everybody can write a header with Apple's certificates: without a signature it takes no place.
    for number in 0..<100 {
      let header = chain.header.merging([("kid", JSON(number))])
      #expect(try verdict(String(chain.sign(header: header).dropLast(4)) + "AAAA", verifier) == "wrong_signature")
    }
    #expect(verifier.knownCount == 0)
    for _ in 0..<3 { #expect(verdict(text, verifier) == "verified") }
    #expect(verifier.knownCount == 1)
    for number in 0..<100 {
      let header = chain.header.merging([("kid", JSON(number))])
      #expect(try verdict(chain.sign(header: header), verifier) == "verified")
    }
    #expect(verifier.knownCount == KnownSigners.maximumCount)
    #expect(verdict(String(text.dropLast(4)) + "AAAA", verifier) == "wrong_signature")
    // A kept chain is judged by each text's own date.
    let late = try chain.sign(transaction([("signedDate", JSON(noon + 2 * 86_400_000))]))
    #expect(verdict(late, verifier) == "expired_certificate")
  }

  @Test func threadsVerifyAtTheSameTime() throws {
    let chain = try Chain()
    let verifier = chain.verifier()
    let text = try chain.sign()
    let forged = String(text.dropLast(4)) + "AAAA"
    DispatchQueue.concurrentPerform(iterations: 16) { number in
      for _ in 0..<20 {
        #expect(
          verdict(number % 2 == 0 ? text : forged, verifier) == (number % 2 == 0 ? "verified" : "wrong_signature"))
      }
    }
  }
}
