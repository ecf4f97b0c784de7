import KassaCore
import KassaJSON
import KassaReceipts

/// Signs what a simulated store says, with a chain of its own, and reads it again by the same verification that data
/// from Apple go through.
struct StoreSigner: Sendable {
  let authority: SigningAuthority
  private let verifier: SignedDataVerifier
  private let expectation: SignedDataExpectation
  private let appExpectation: SignedDataExpectation

  init(_ authority: SigningAuthority, _ payload: TransactionPayload, time: any TimeSource) {
    self.authority = authority
    verifier = SignedDataVerifier(anchors: [authority.root], time: time)
    let environments: [StoreTransaction.Environment] = [payload.environment == .xcode ? .xcode : .sandbox]
    expectation = SignedDataExpectation(.transaction, bundleID: payload.bundleID, environments: environments)
    appExpectation = SignedDataExpectation(.appTransaction, bundleID: payload.bundleID, environments: environments)
  }

  /// What is kept of a signed text: without the header, which is the same for all and longer than the rest.
  func kept(_ payload: JSON) throws(Refusal) -> String { try authority.signedRest(payload) }

  /// Reads a text that was kept. One with its header is what an earlier version kept.
  func transaction(kept: String) throws(Refusal) -> StoreTransaction {
    try transaction(kept.hasPrefix(".") ? authority.header + kept : kept)
  }

  func transaction(_ text: String) throws(Refusal) -> StoreTransaction {
    try StoreTransaction(applePayload: verifier.verify(text, expectation), proof: text)
  }

  /// An app transaction, signed and read again.
  func appTransaction(_ payload: JSON) throws(Refusal) -> JSON {
    try verifier.verify(authority.sign(payload), appExpectation)
  }
}
