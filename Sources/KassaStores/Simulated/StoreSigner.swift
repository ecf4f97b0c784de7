import KassaCore
import KassaJSON
import KassaReceipts

/// Signs what a simulated store says, with a chain of its own, and reads it again by the same verification that data
/// from Apple go through.
struct StoreSigner: Sendable {
  let authority: SigningAuthority
  private let verifier: SignedDataVerifier
  private let expectation: SignedDataExpectation

  init(_ authority: SigningAuthority, _ payload: TransactionPayload, time: any TimeSource) {
    self.authority = authority
    verifier = SignedDataVerifier(anchors: [authority.root], time: time)
    expectation = SignedDataExpectation(
      .transaction, bundleID: payload.bundleID, environments: [payload.environment == .xcode ? .xcode : .sandbox])
  }

  func sign(_ payload: JSON) throws(Refusal) -> String { try authority.sign(payload) }

  func transaction(_ text: String) throws(Refusal) -> StoreTransaction {
    try StoreTransaction(applePayload: verifier.verify(text, expectation), proof: text)
  }
}
