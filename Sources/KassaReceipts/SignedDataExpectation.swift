import KassaCore

/// What signed data must be to be believed: the verifier compares it with what the data says of itself.
public struct SignedDataExpectation: Sendable, Equatable {
  /// Apple's names of the payloads are JWSTransactionDecodedPayload, JWSRenewalInfoDecodedPayload, AppTransaction and
  /// ResponseBodyV2DecodedPayload.
  public enum Kind: String, Sendable, CaseIterable {
    case transaction
    case renewalInfo = "renewal_info"
    case appTransaction = "app_transaction"
    case notification
  }

  public var kind: Kind
  /// The app that the data must be for; nil accepts any. Renewal info names no app, so it is not compared there.
  public var bundleID: String?
  /// The app's number in the App Store, which app transactions and notifications carry: compared where it is there, and
  /// required in production.
  public var appAppleID: Int64?
  /// Where the data may come from. A sandbox purchase costs nothing: a program in production allows production alone.
  public var environments: [StoreTransaction.Environment]
  /// How long ago it may have been signed; nil for any time.
  public var maximumAgeMilliseconds: Int64?

  public init(
    _ kind: Kind, bundleID: String? = nil, appAppleID: Int64? = nil,
    environments: [StoreTransaction.Environment] = [.production], maximumAgeMilliseconds: Int64? = nil
  ) {
    self.kind = kind
    self.bundleID = bundleID
    self.appAppleID = appAppleID
    self.environments = environments
    self.maximumAgeMilliseconds = maximumAgeMilliseconds
  }

  /// Whether only data that never left the developer's machine is expected.
  public var isLocalOnly: Bool { !environments.isEmpty && environments.allSatisfy(\.isLocal) }
}

extension StoreTransaction.Environment {
  /// Whether its data never left the developer's machine.
  public var isLocal: Bool { self == .xcode || self == .localTesting }

  /// Apple's word for it.
  public var appleName: String {
    switch self {
    case .production: "Production"
    case .sandbox: "Sandbox"
    case .xcode: "Xcode"
    case .localTesting: "LocalTesting"
    }
  }

  public init?(appleName: String) {
    guard let environment = Self.allCases.first(where: { $0.appleName == appleName }) else { return nil }
    self = environment
  }
}
