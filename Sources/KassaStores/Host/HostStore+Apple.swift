import KassaCore
import KassaReceipts

extension HostStore {
  /// A host's store whose signed data of Apple's is checked as the configuration says. `now` is the trusted time.
  public convenience init(
    _ configuration: HostStoreConfiguration, ask: @escaping Ask, now: @escaping @Sendable () -> Int64
  ) {
    let verifier = SignedDataVerifier(anchors: configuration.anchors, now: now)
    func expected(_ kind: SignedDataExpectation.Kind) -> SignedDataExpectation {
      SignedDataExpectation(
        kind, bundleID: configuration.bundleID, appAppleID: configuration.appAppleID,
        environments: configuration.environments)
    }
    self.init(
      configuration, ask: ask,
      verify: { text throws(Refusal) in
        try StoreTransaction(applePayload: try verifier.verify(text, expected(.transaction)), proof: text)
      },
      verifyAppTransaction: { text throws(Refusal) in try verifier.verify(text, expected(.appTransaction)) })
  }
}
