import COpenSSL
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaReceipts

/// 2026-11-30T12:00:00Z.
let noon: Int64 = 1_796_040_000_000

/// A chain for tests, each part of which may be made wrong, and a signer that keeps no rules.
struct Chain {
  var certificates: [[UInt8]]
  let signer: P256Key
  let root: TrustAnchor

  init(
    at milliseconds: Int64 = noon, root rootPlan: (inout CertificatePlan) -> Void = { _ in },
    intermediate intermediatePlan: (inout CertificatePlan) -> Void = { _ in },
    leaf leafPlan: (inout CertificatePlan) -> Void = { _ in }, rootKey: OpaquePointer? = nil,
    intermediateKey: OpaquePointer? = nil, hash: OpaquePointer? = EVP_sha256()
  ) throws {
    let first = milliseconds / 1000 - 86_400, last = milliseconds / 1000 + 86_400
    var rootOne = CertificatePlan.root("Test Root", first, last)
    var intermediateOne = CertificatePlan.intermediate("Test Intermediate", first, last)
    var leafOne = CertificatePlan.leaf("Test Leaf", first, last)
    rootPlan(&rootOne)
    intermediatePlan(&intermediateOne)
    leafPlan(&leafOne)
    let root = try rootOne.make(issuer: nil, key: rootKey, hash: hash)
    let intermediate = try intermediateOne.make(issuer: root, key: intermediateKey, hash: hash)
    let leaf = try leafOne.make(issuer: intermediate, hash: hash)
    certificates = [leaf.der, intermediate.der, root.der]
    EVP_PKEY_up_ref(leaf.key)
    signer = P256Key(taking: leaf.key, for: .signing)
    self.root = try TrustAnchor(der: root.der)
  }

  var header: JSON { ["alg": "ES256", "x5c": .array(certificates.map { JSON(base64($0)) })] }

  func sign(_ payload: JSON = transaction(), header: JSON? = nil) throws -> String {
    try sign(payload.text(), header: (header ?? self.header).text())
  }

  func sign(_ payload: String, header: String) throws -> String {
    let text = url(Array(header.utf8)) + "." + url(Array(payload.utf8))
    let digest = try Array(text.utf8).lend(HashedPrefix([UInt8]().lend { $0 }).digest)
    return text + "." + url(try signer.sign(digest))
  }

  func verifier(now: Int64 = noon) -> SignedDataVerifier { SignedDataVerifier(anchors: [root]) { now } }
}

/// A new RSA key, for `make`, which takes it over.
func rsaKey(bits: Int) throws -> OpaquePointer {
  let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
  defer { EVP_PKEY_CTX_free(context) }
  var key: OpaquePointer?
  try #require(EVP_PKEY_keygen_init(context) == 1)
  try #require(EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)) == 1)
  try #require(EVP_PKEY_keygen(context, &key) == 1)
  return try #require(key)
}

func base64(_ bytes: [UInt8]) -> String { Base64.encode(bytes) }
func url(_ bytes: [UInt8]) -> String { Base64.encodeURL(bytes) }

func transaction(_ changes: [(String, JSON)] = []) -> JSON {
  let document: JSON = [
    "transactionId": "2000000000000002", "originalTransactionId": "2000000000000001", "bundleId": "com.example.app",
    "productId": "com.example.app.monthly", "subscriptionGroupIdentifier": "21000000",
    "purchaseDate": JSON(noon), "originalPurchaseDate": JSON(noon), "expiresDate": JSON(noon + 86_400_000),
    "quantity": 1, "type": "Auto-Renewable Subscription", "inAppOwnershipType": "PURCHASED",
    "environment": "Production", "signedDate": JSON(noon), "transactionReason": "PURCHASE", "storefront": "DEU",
    "price": 9990, "currency": "EUR",
  ]
  return document.merging(changes)
}

let expected = SignedDataExpectation(.transaction, bundleID: "com.example.app")

/// The code of the refusal, or "verified".
func verdict(
  _ text: String, _ verifier: SignedDataVerifier, _ expected: SignedDataExpectation = expected
) -> String {
  do throws(Refusal) {
    _ = try verifier.verify(text, expected)
    return "verified"
  } catch { return error.reason }
}
