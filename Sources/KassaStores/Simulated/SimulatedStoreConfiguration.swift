import KassaCore
import KassaJSON

/// `"store":{"kind":"simulated", ...}`
public struct SimulatedStoreConfiguration: Sendable, Equatable {
  /// The path of the `.storekit` file.
  public var storekitFile: String
  /// The app that transactions name.
  public var bundleID: String
  /// Two or three letters, in place of the file's.
  public var storefront: String?
  /// The language of names and prices, in place of the file's.
  public var locale: String?
  public var policy: SheetPolicy
  /// Transactions say that Xcode made them, not Apple's sandbox.
  public var isXcode: Bool
  /// What the first numbers of a new store are made of; nil: they are other ones each time.
  public var seed: UInt64?

  public static let defaultBundleID = "com.example.app"

  public init(
    storekitFile: String, bundleID: String = defaultBundleID, storefront: String? = nil, locale: String? = nil,
    policy: SheetPolicy = .always(.approve), isXcode: Bool = false, seed: UInt64? = nil
  ) {
    self.storekitFile = storekitFile
    self.bundleID = bundleID
    self.storefront = storefront
    self.locale = locale
    self.policy = policy
    self.isXcode = isXcode
    self.seed = seed
  }

  /// Reads `storekit_file`, `bundle_id`, `storefront`, `locale`, `sheet` (a word of `SheetPolicy`; `approve`),
  /// `environment` (`sandbox`; `xcode`) and `seed`.
  public init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly(["kind", "storekit_file", "bundle_id", "storefront", "locale", "sheet", "environment", "seed"])
    let storefront = try fields.country("storefront")
    let sheet = try fields.oneOf(SheetPolicy.words, "sheet", default: SheetDecision.approve.rawValue)
    self.init(
      storekitFile: try fields.string("storekit_file"),
      bundleID: try fields.optionalString("bundle_id") ?? Self.defaultBundleID, storefront: storefront,
      locale: try fields.optionalString("locale"), policy: SheetPolicy(sheet) ?? .always(.approve),
      isXcode: try fields.oneOf(["sandbox", "xcode"], "environment", default: "sandbox") == "xcode",
      seed: try fields.value("seed", "a whole number or a text") { $0.integer.map(UInt64.init(bitPattern:)) ?? $0.seed })
  }
}

extension JSON {
  /// A number that stands for a text (FNV-1a).
  fileprivate var seed: UInt64? {
    string?.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0100_0000_01B3 }
  }
}

extension Fields {
  /// The two letters of a country in which something can be sold; its three are read too.
  func country(_ key: String) throws(JSONShapeError) -> String? {
    guard let text = try optionalString(key) else { return nil }
    guard let country = Territory.alpha2(text), Territory.currency(country) != nil else {
      throw JSONShapeError(
        path: place(of: key),
        problem: "must be a country of ISO 3166 that has a currency, in two or three letters such as \"DE\" or \"DEU\" "
          + "(got \"\(text.quoted)\")")
    }
    return country
  }
}
