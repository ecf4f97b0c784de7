import KassaCore
import KassaJSON
import KassaPlatform

/// What `kassa_open` takes, checked.
public struct ClientOptions: Sendable {
  public enum Threading: String, Sendable { case library, host }

  public var appID: String?
  /// A directory, or ":memory:".
  public var storage: String
  /// The host named the storage itself.
  public var choseStorage: Bool
  public var threading: Threading
  public var log: Log

  public static let inMemory = ":memory:"

  public init(_ document: JSON?) throws(KassaError) {
    do throws(JSONShapeError) {
      let fields = try Fields(document ?? [:])
      try fields.allowOnly(["app_id", "storage", "thread", "log"])
      appID = try Self.appID(fields)
      choseStorage = fields.has("storage")
      storage = try Self.storage(fields, appID: appID)
      let word = try fields.oneOf(["library", "host"], "thread", default: "library")
      threading = Threading(rawValue: word) ?? .library
      log = try fields.oneOf(["none", "stderr"], "log", default: "none") == "stderr" ? .standardError : .none
    } catch {
      throw KassaError(.invalidArgument, error.description)
    }
  }

  private static func appID(_ fields: Fields) throws(JSONShapeError) -> String? {
    let given = try fields.optionalString("app_id")
    guard let id = given ?? ProcessEnvironment.value("KASSA_APP_ID"), given != nil || !id.isEmpty else { return nil }
    let isAllowed = id.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || [0x2D, 0x2E, 0x5F].contains($0) }
    guard isAllowed, (1...128).contains(id.utf8.count), id != ".", id != ".." else {
      throw JSONShapeError(
        path: given == nil ? "KASSA_APP_ID" : "app_id",
        problem: "must be 1 to 128 letters, digits, \".\", \"-\" and \"_\" (got \"\(id.quoted)\")")
    }
    return id
  }

  private static func storage(_ fields: Fields, appID: String?) throws(JSONShapeError) -> String {
    if let storage = try fields.optionalString("storage") {
      guard !storage.isEmpty, storage.utf8.count <= 3_900, !storage.utf8.contains(0) else {
        throw JSONShapeError(path: "storage", problem: "must be a directory's path or \":memory:\"")
      }
      return storage
    }
    guard let appID else { return inMemory }
    if let data = ProcessEnvironment.value("XDG_DATA_HOME"), data.hasPrefix("/") { return "\(data)/kassa/\(appID)" }
    if let home = ProcessEnvironment.value("HOME"), home.hasPrefix("/") { return "\(home)/.local/share/kassa/\(appID)" }
    return inMemory
  }
}
