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

  public static let defaultBundleID = "com.example.app"

  public init(
    storekitFile: String, bundleID: String = defaultBundleID, storefront: String? = nil, locale: String? = nil,
    policy: SheetPolicy = .always(.approve), isXcode: Bool = false
  ) {
    self.storekitFile = storekitFile
    self.bundleID = bundleID
    self.storefront = storefront
    self.locale = locale
    self.policy = policy
    self.isXcode = isXcode
  }

  /// Reads `storekit_file`, `bundle_id`, `storefront`, `locale`, `sheet` (a word of `SheetPolicy`; `approve`) and
  /// `environment` (`sandbox`; `xcode`).
  public init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly(["kind", "storekit_file", "bundle_id", "storefront", "locale", "sheet", "environment"])
    let storefront = try fields.value("storefront", "a country of two or three letters") { json in
      json.string.flatMap { Territory.alpha2($0) }
    }
    let sheet = try fields.oneOf(SheetPolicy.words, "sheet", default: SheetDecision.approve.rawValue)
    self.init(
      storekitFile: try fields.string("storekit_file"),
      bundleID: try fields.optionalString("bundle_id") ?? Self.defaultBundleID, storefront: storefront,
      locale: try fields.optionalString("locale"), policy: SheetPolicy(sheet) ?? .always(.approve),
      isXcode: try fields.oneOf(["sandbox", "xcode"], "environment", default: "sandbox") == "xcode")
  }
}
