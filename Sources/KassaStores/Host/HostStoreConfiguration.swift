import KassaCore
import KassaJSON
import KassaPlatform
import KassaReceipts

/// The `store` object of a configuration whose `kind` is `host`.
public struct HostStoreConfiguration: Sendable {
  /// Which company charges. It is said here, before anything is sold, because a purchase in a store whose
  /// transactions nobody can check would be paid and never granted.
  public enum Platform: Sendable, Equatable {
    case known(StoreTransaction.Platform)
    /// Nothing is bought there: a purchase ends with `unsupported_store` before the host is asked.
    case other(String)

    var word: String {
      switch self {
      case .known(let platform): platform.rawValue
      case .other(let word): word
      }
    }
  }

  public var platform: Platform
  /// Apple's bundle id or Android's package name: transactions of other apps are refused.
  public var bundleID: String?
  /// Apple's number of the app, which its production data carries.
  public var appAppleID: Int64?
  /// Whose transactions count.
  public var environments: Set<StoreTransaction.Environment>
  /// The root certificates that are trusted beside Apple's, for tests.
  public var roots: [TrustAnchor]
  /// With it, purchases of Google Play are checked by their signature; without, the host says that it checked them.
  public var googleKey: GooglePublicKey?

  /// Whether nothing but the host's `"verified":true` says that a purchase is real.
  public var isOnTheHostsWord: Bool { platform == .known(.google) && googleKey == nil }

  public static let keys = [
    "kind", "platform", "bundle_id", "app_apple_id", "environments", "roots", "google_public_key",
  ]

  public init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly(Self.keys)
    platform = try Self.platform(fields)
    switch platform {
    case .known(.apple): try fields.refuse(["google_public_key"], unless: .google)
    case .known(.google): try fields.refuse(["app_apple_id", "roots"], unless: .apple)
    case .other: break
    }
    bundleID = try fields.optionalName("bundle_id")
    appAppleID = try fields.optionalNumber("app_apple_id", in: 1...Int64.max)
    environments = Set(try fields.environments("environments") ?? [.production])
    roots = try Self.roots(fields)
    googleKey = try Self.googleKey(fields)
    // Without it, what was bought in another app would count here.
    guard bundleID != nil || (platform != .known(.apple) && googleKey == nil) else {
      throw JSONShapeError(
        path: fields.place(of: "bundle_id"), problem: "is missing: signed data is held against it")
    }
  }

  private static func platform(_ fields: Fields) throws(JSONShapeError) -> Platform {
    let word = try fields.name("platform")
    if let platform = StoreTransaction.Platform(rawValue: word) { return .known(platform) }
    // A misspelt word would otherwise show only when somebody wants to pay.
    if let meant = nearest(to: word.lowercased(), in: StoreTransaction.Platform.allCases.map(\.rawValue)) {
      throw JSONShapeError(
        path: fields.place(of: "platform"), problem: "is \"\(word.quoted)\"; did you mean \"\(meant)\"?")
    }
    return .other(word)
  }

  private static func roots(_ fields: Fields) throws(JSONShapeError) -> [TrustAnchor] {
    guard let texts = try fields.strings("roots") else { return [] }
    guard texts.count <= 16 else {
      throw JSONShapeError(
        path: fields.place(of: "roots"), problem: "must have at most 16 elements (got \(texts.count))")
    }
    var roots: [TrustAnchor] = []
    for (index, text) in texts.enumerated() {
      let place = "\(fields.place(of: "roots"))[\(index)]"
      guard let der = Base64.decode(text, .standard), !der.isEmpty else {
        throw JSONShapeError(path: place, problem: "must be a certificate (DER) in base64 with padding")
      }
      do throws(Refusal) { roots.append(try TrustAnchor(der: der)) } catch {
        throw JSONShapeError(path: place, problem: "must be a root certificate: \(error.message)")
      }
    }
    return roots
  }

  private static func googleKey(_ fields: Fields) throws(JSONShapeError) -> GooglePublicKey? {
    guard let text = try fields.optionalText("google_public_key") else { return nil }
    guard let key = GooglePublicKey(base64: text) else {
      throw JSONShapeError(
        path: fields.place(of: "google_public_key"),
        problem: "must be the app's RSA public key in base64 as the Play Console shows it (Monetization setup)")
    }
    return key
  }
}

extension Fields {
  /// Keys that mean something on the other platform only.
  fileprivate func refuse(_ keys: [String], unless platform: StoreTransaction.Platform) throws(JSONShapeError) {
    for key in keys where has(key) {
      throw JSONShapeError(path: place(of: key), problem: "needs \"platform\":\"\(platform.rawValue)\"")
    }
  }
}
