import KassaCore
import KassaJSON

/// The `backend` object of a configuration whose `kind` is `voidhash`. `docs/voidhash.md` describes the keys.
public struct VoidhashConfiguration: Sendable, Equatable {
  public enum Environment: String, Sendable { case production, development, all }

  public var publishableKey: String
  /// The app's id in its store: it also chooses the store connection by which receipts are checked.
  public var bundleID: String
  public var baseURL: String
  /// For which of its SDKs the service takes this client.
  public var sdk: String
  public var environment: Environment
  public var appVersion: String?
  /// The sandbox's catalogue, or the path of a file with it; only with `embedded:`.
  public var catalogue: JSON?

  public var isEmbedded: Bool { baseURL == embeddedService }
  /// The service itself, not a sandbox or a server that speaks its language.
  public var isService: Bool { baseURL == VoidhashConstants.baseURL }

  /// `isDebug` is the configuration's `debug`.
  public init(_ backend: JSON, isDebug: Bool) throws(KassaError) {
    do throws(JSONShapeError) {
      let fields = try Fields(backend, path: "backend")
      try fields.allowOnly([
        "kind", "publishable_key", "bundle_id", "base_url", "sdk", "environment", "app_version", "catalogue",
      ])
      publishableKey = try Self.key(fields)
      bundleID = try Self.headerText(fields.string("bundle_id"), at: fields.place(of: "bundle_id"))
      baseURL = try fields.serviceURL("base_url", default: VoidhashConstants.baseURL)
      sdk = try fields.oneOf(VoidhashConstants.sdks, "sdk", default: "ios")
      let word = try fields.oneOf(VoidhashConstants.environments, "environment", default: "production")
      environment = Environment(rawValue: word) ?? .production
      if let version = try fields.optionalString("app_version") {
        appVersion = try Self.headerText(version, at: fields.place(of: "app_version"))
      }
      catalogue = try fields.catalogue("catalogue", for: baseURL)
      if environment == .development, !isDebug {
        throw JSONShapeError(
          path: fields.place(of: "environment"),
          problem: "\"development\" makes purchases without charging, and needs \"debug\":true in the configuration")
      }
    } catch {
      throw KassaError(.invalidConfiguration, error.description)
    }
  }

  /// The message does not repeat the key: it may be the secret one, in the wrong place.
  private static func key(_ fields: Fields) throws(JSONShapeError) -> String {
    let key = try fields.string("publishable_key")
    guard key.hasPrefix("vh_pk_"), (7...512).contains(key.utf8.count), key.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else {
      throw JSONShapeError(
        path: fields.place(of: "publishable_key"),
        problem: "must be a publishable key: \"vh_pk_\" and printable ASCII without spaces")
    }
    return key
  }

  /// What travels in a header: short, printable ASCII.
  private static func headerText(_ text: String, at place: String) throws(JSONShapeError) -> String {
    guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw JSONShapeError(
        path: place, problem: "must be 1 to 255 printable ASCII characters without spaces (got \"\(text.quoted)\")")
    }
    return text
  }
}
