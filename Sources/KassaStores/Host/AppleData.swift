import KassaCore
import KassaJSON
import KassaReceipts

/// What of Apple's signed data a host's store believes.
struct AppleData {
  private let configuration: HostStoreConfiguration
  private let verifier: SignedDataVerifier
  private let localVerifier: SignedDataVerifier

  init(_ configuration: HostStoreConfiguration, now: @escaping @Sendable () -> Int64) {
    self.configuration = configuration
    verifier = SignedDataVerifier(anchors: AppleRoots.anchors + configuration.roots, now: now)
    localVerifier = SignedDataVerifier(anchors: nil, now: now)
  }

  func payload(of text: String, _ kind: SignedDataExpectation.Kind) throws(Refusal) -> JSON {
    func expectation(_ environments: [StoreTransaction.Environment]) -> SignedDataExpectation {
      SignedDataExpectation(
        kind, bundleID: configuration.bundleID, appAppleID: configuration.appAppleID, environments: environments)
    }
    let allowed = Array(configuration.environments)
    do throws(Refusal) { return try verifier.verify(text, expectation(allowed)) } catch {
      // Xcode's data stands under no root. It counts only where the host asked for it.
      let local = allowed.filter(\.isLocal)
      guard !local.isEmpty, let payload = try? localVerifier.verify(text, expectation(local)) else { throw error }
      return payload
    }
  }
}

extension HostStore {
  /// A host's store whose signed data of Apple's is checked as the configuration says. `now` is the trusted time.
  public convenience init(
    _ configuration: HostStoreConfiguration, ask: @escaping Ask, now: @escaping @Sendable () -> Int64,
    report: @escaping Report
  ) {
    let apple = AppleData(configuration, now: now)
    self.init(
      configuration, ask: ask,
      verify: { (text) throws(Refusal) in
        try StoreTransaction(applePayload: apple.payload(of: text, .transaction), proof: text)
      },
      verifyAppTransaction: { (text) throws(Refusal) in try apple.payload(of: text, .appTransaction) },
      report: report)
  }
}
