/// Every code that a `Refusal` may carry. docs/receipts.md says of each what it means and what to do.
public enum RefusalReason: String, Sendable, CaseIterable {
  // The request
  case invalidRequest = "invalid_request"
  // The text
  case tooLarge = "too_large"
  case malformedText = "malformed_text"
  case malformedHeader = "malformed_header"
  case wrongAlgorithm = "wrong_algorithm"
  case criticalHeader = "critical_header"
  // The certificates
  case missingChain = "missing_chain"
  case chainTooShort = "chain_too_short"
  case chainTooLong = "chain_too_long"
  case malformedCertificate = "malformed_certificate"
  case unsupportedKey = "unsupported_key"
  case unsupportedCertificateSignature = "unsupported_certificate_signature"
  case brokenChain = "broken_chain"
  case untrustedRoot = "untrusted_root"
  case notAnAuthority = "not_an_authority"
  case wrongKeyUsage = "wrong_key_usage"
  case criticalExtension = "critical_extension"
  case missingMarker = "missing_marker"
  // The signature, and what it covers
  case wrongSignature = "wrong_signature"
  case malformedPayload = "malformed_payload"
  case notYetValidCertificate = "not_yet_valid_certificate"
  case expiredCertificate = "expired_certificate"
  case wrongBundleID = "wrong_bundle_id"
  case wrongAppAppleID = "wrong_app_apple_id"
  case wrongEnvironment = "wrong_environment"
  case stale = "stale"
  // A transaction that is what was asked for, and cannot be read
  case malformedTransaction = "malformed_transaction"
  // This machine
  case cryptographyFailed = "cryptography_failed"
}

extension Refusal {
  init(_ reason: RefusalReason, _ message: String) { self.init(reason.rawValue, message) }
}
