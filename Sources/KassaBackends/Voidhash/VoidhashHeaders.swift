import KassaCore

/// What a client is known to be, for the headers of its requests. What is nil or empty is left out.
public struct VoidhashClientFacts: Sendable {
  /// This library's version.
  public var sdkVersion: String
  public var isDebug: Bool
  public var isObserver: Bool
  /// BCP 47 tags or names of POSIX locales, the preferred one first.
  public var locales: [String]
  public var platformVersion: String?
  public var platformBrand: String?
  public var platformDevice: String?

  public init(
    sdkVersion: String, isDebug: Bool = false, isObserver: Bool = false, locales: [String] = [],
    platformVersion: String? = nil, platformBrand: String? = nil, platformDevice: String? = nil
  ) {
    self.sdkVersion = sdkVersion
    self.isDebug = isDebug
    self.isObserver = isObserver
    self.locales = locales
    self.platformVersion = platformVersion
    self.platformBrand = platformBrand
    self.platformDevice = platformDevice
  }
}

/// The headers of every request (Voidhash, API contract: SDK headers).
struct VoidhashHeaders {
  /// What all requests have in common: a queue sends thousands.
  private let common: [HTTPHeader]

  init(configuration: VoidhashConfiguration, facts: VoidhashClientFacts) {
    let isWeb = configuration.sdk == "web"
    let locales = facts.locales.compactMap(Self.languageTag)
    common = Self.headers([
      ("x-publishable-key", configuration.publishableKey),
      ("x-client-bundle-id", configuration.bundleID), ("x-client-version", configuration.appVersion),
      ("x-client-locale", locales.first), ("x-preferred-locales", locales.joined(separator: ",")),
      ("x-environment", configuration.environment.rawValue), ("x-is-backgrounded", "false"),
      ("x-is-debug-build", facts.isDebug ? "true" : "false"), ("x-observer-mode", facts.isObserver ? "true" : "false"),
      // Voidhash's own React Native SDK says which of the two it runs on; here nothing says so.
      ("x-platform", configuration.sdk == "react-native" ? "ios" : configuration.sdk),
      ("x-platform-version", facts.platformVersion), ("x-platform-brand", facts.platformBrand),
      ("x-platform-device", facts.platformDevice), ("x-platform-flavor", isWeb ? "browser" : "native"),
      ("x-platform-flavor-version", configuration.appVersion), ("x-sdk", configuration.sdk),
      ("x-sdk-version", facts.sdkVersion),
    ])
  }

  /// The id has to be checked.
  func headers(as person: DistinctID, nonce: String) -> [HTTPHeader] {
    common + Self.headers([("x-distinct-id", person.text), ("x-nonce", nonce)])
  }

  private static func headers(_ all: [(String, String?)]) -> [HTTPHeader] {
    all.compactMap { name, value in
      guard let value, value.isHeaderValue else { return nil }
      return HTTPHeader(name, value)
    }
  }
}

extension VoidhashHeaders {
  /// `de-CH` of `de_CH.UTF-8`; nil for what names no language, such as `C`.
  fileprivate static func languageTag(_ locale: String) -> String? {
    let name = locale.prefix { $0 != "." && $0 != "@" }
    let isName = name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2D || $0 == 0x5F }
    guard isName, !["", "C", "POSIX"].contains(name) else { return nil }
    return String(name.map { $0 == "_" ? "-" : $0 })
  }
}

extension String {
  /// Whether it arrives as it is: not empty, no control characters, no spaces at its ends, which a receiver drops.
  var isHeaderValue: Bool {
    let bytes = utf8
    return !bytes.isEmpty && bytes.first != 0x20 && bytes.last != 0x20
      && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }
}

extension DistinctID {
  /// Refuses what would not arrive as it is: an id travels as the bytes of its UTF-8 in a header, unescaped.
  func check() throws(KassaError) {
    guard text.isHeaderValue else {
      throw KassaError(
        .invalidArgument,
        "a user id must have at least one character, no control characters, and no spaces at its ends")
    }
    guard text.utf8.count <= Constants.longestDistinctID else {
      throw KassaError(
        .invalidArgument, "a user id must have at most \(Constants.longestDistinctID) bytes (got \(text.utf8.count))")
    }
  }
}
