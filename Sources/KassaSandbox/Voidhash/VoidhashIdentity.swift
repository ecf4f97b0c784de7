import KassaCore
import KassaJSON
import KassaPlatform

/// Who asks, as the client says it. Two are the same only byte for byte.
struct VoidhashDistinctID: Hashable {
  let text: String
  init(_ text: String) { self.text = text }

  static let anonymousPrefix = "vh:anon:"
  var isAnonymous: Bool { text.hasPrefix(Self.anonymousPrefix) }
  var isBlank: Bool { text.utf8.allSatisfy { $0 <= 0x20 } }

  /// Pure ASCII: Swift takes keys for equal that differ in their bytes only.
  var key: String { URLText.escape(text) }

  static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
  func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

/// Where a purchase was made. Of two grants the one of the earlier case is shown.
enum VoidhashEnvironment: Int, Comparable {
  case production, sandbox, development

  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Nil: made on a developer's machine, of which no store's servers know.
  init?(_ environment: StoreTransaction.Environment) {
    switch environment {
    case .production: self = .production
    case .sandbox: self = .sandbox
    case .xcode, .localTesting: return nil
    }
  }
}

/// What the header `x-environment` asks for.
enum VoidhashEnvironmentMode: String {
  case production, development, all

  func covers(_ environment: VoidhashEnvironment) -> Bool {
    switch self {
    case .production: environment != .development
    case .development: environment == .development
    case .all: true
    }
  }
}

/// What the headers of a request say: required on every route below `/api/v1/sdk`.
struct VoidhashCaller {
  var distinctID: VoidhashDistinctID
  var bundleID: String
  var mode: VoidhashEnvironmentMode
  var isDebugBuild: Bool

  private static let flavors = ["native", "browser"]
  private static let sdks = ["react-native", "web", "ios", "android"]

  /// Who asks comes first, as the server checks it first (401); then everything else (400).
  init(_ request: HTTPRequest, accepts isKey: (String) -> Bool) throws(VoidhashRefusal) {
    guard let key = request.header("x-publishable-key"), isKey(key) else {
      throw VoidhashRefusal(401, "Api/AuthenticationError", "The header x-publishable-key has no key of this project.")
    }
    guard let id = request.header("x-distinct-id"), !id.isEmpty else {
      throw VoidhashRefusal(401, "Api/AuthenticationError", "A publishable key needs the header x-distinct-id.")
    }
    distinctID = VoidhashDistinctID(id)

    func text(_ name: String) throws(VoidhashRefusal) -> String {
      guard let value = request.header(name) else { throw .undecodable("The header \(name) is missing.") }
      return value
    }
    func word(_ name: String, among words: [String]) throws(VoidhashRefusal) -> String {
      let value = try text(name)
      guard words.contains(value) else {
        throw .undecodable("The header \(name) must be one of \(words.joined(separator: ", ")) (got \"\(value)\").")
      }
      return value
    }
    func flag(_ name: String) throws(VoidhashRefusal) -> Bool { try word(name, among: ["true", "false"]) == "true" }

    bundleID = try text("x-client-bundle-id")
    _ = try flag("x-is-backgrounded")
    isDebugBuild = try flag("x-is-debug-build")
    _ = try flag("x-observer-mode")
    _ = try text("x-platform")
    _ = try word("x-platform-flavor", among: Self.flavors)
    _ = try word("x-sdk", among: Self.sdks)
    _ = try text("x-sdk-version")
    if let nonce = request.header("x-nonce"), !Self.isUUID(nonce) {
      throw .undecodable("The header x-nonce must be a UUID in lower case.")
    }
    // The server takes what it does not know for production.
    mode = request.header("x-environment").flatMap { VoidhashEnvironmentMode(rawValue: $0) } ?? .production
  }

  private static func isUUID(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && parts.allSatisfy { $0.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) } }
  }
}
