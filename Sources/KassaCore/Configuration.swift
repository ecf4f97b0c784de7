import KassaJSON

/// What `kassa_configure` takes, checked, apart from what only the back end's vendor understands.
public struct Configuration: Sendable, Equatable {
  public enum Presenter: String, Sendable { case browser, host, simulated }

  /// The whole `backend` object; the vendor named by its `kind` reads it.
  public var backend: JSON
  public var backendKind: String
  /// The whole `store` object; the store named by its `kind` reads it.
  public var store: JSON
  public var storeKind: String
  public var purchaseIntentsAreManual = false
  public var storeMessagesAreManual = true
  /// The host buys, restores and finishes by itself; this library only reports.
  public var isObserver = false
  public var presenter: Presenter = .browser
  public var checkoutTimeoutSeconds: Int64 = Constants.checkoutTimeoutSeconds
  public var returnURL: String?
  public var card: String?
  public var region: String?
  public var locale: String?
  public var offlineDays = Constants.offlineDays
  public var isStrict = false
  public var isEnabled = true
  public var isDebug = false

  public init(_ document: JSON) throws(KassaError) {
    do throws(JSONShapeError) {
      let fields = try Fields(document)
      try fields.allowOnly([
        "backend", "store", "checkout", "region", "locale", "offline", "observer_mode", "purchase_intents",
        "store_messages", "enabled", "debug",
      ])
      let backend = try fields.object("backend")
      self.backend = backend.json
      backendKind = try backend.string("kind")
      let store = try fields.optionalObject("store")
      self.store = store?.json ?? [:]
      storeKind = try store?.oneOf(["none", "host", "simulated"], "kind", default: "none") ?? "none"
      if storeKind == "none" { try store?.allowOnly(["kind"]) }
      purchaseIntentsAreManual =
        try fields.oneOf(["automatic", "manual"], "purchase_intents", default: "automatic") == "manual"
      storeMessagesAreManual =
        try fields.oneOf(["automatic", "manual"], "store_messages", default: "manual") == "manual"
      isObserver = try fields.optionalBool("observer_mode") ?? false
      if let checkout = try fields.optionalObject("checkout") { try readCheckout(checkout) }
      if let offline = try fields.optionalObject("offline") {
        try offline.allowOnly(["days", "mode"])
        offlineDays = try offline.integer("days", in: 0...3_650, default: Constants.offlineDays)
        isStrict = try offline.oneOf(["lenient", "strict"], "mode", default: "lenient") == "strict"
      }
      region = try fields.optionalString("region")
      if let region, region.utf8.count != 2 || Territory.alpha2(region) == nil {
        throw JSONShapeError(
          path: "region",
          problem: "must be a country of ISO 3166-1 in two letters, such as \"US\" or \"GB\" (got \"\(region.quoted)\")"
        )
      }
      locale = try fields.optionalString("locale")
      isEnabled = try fields.optionalBool("enabled") ?? true
      isDebug = try fields.optionalBool("debug") ?? false
    } catch {
      throw KassaError(.invalidConfiguration, error.description)
    }
  }

  private mutating func readCheckout(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly(["presenter", "timeout_s", "return_url", "card"])
    let word = try fields.oneOf(["browser", "host", "simulated"], "presenter", default: "browser")
    presenter = Presenter(rawValue: word) ?? .browser
    checkoutTimeoutSeconds = try fields.integer("timeout_s", in: 1...86_400, default: Constants.checkoutTimeoutSeconds)
    returnURL = try fields.optionalString("return_url")
    card = try fields.optionalString("card")
    if card != nil, presenter != .simulated {
      throw JSONShapeError(path: fields.place(of: "card"), problem: "needs \"presenter\":\"simulated\"")
    }
  }
}

extension Fields {
  /// One of a few words.
  @discardableResult
  public func oneOf(_ words: [String], _ key: String, default standard: String) throws(JSONShapeError) -> String {
    guard let word = try optionalString(key) else { return standard }
    guard words.contains(word) else {
      let list = words.map { "\"\($0)\"" }.joined(separator: ", ")
      throw JSONShapeError(path: place(of: key), problem: "must be one of \(list) (got \"\(word.quoted)\")")
    }
    return word
  }

  public func integer(
    _ key: String, in range: ClosedRange<Int64>, default standard: Int64
  ) throws(JSONShapeError) -> Int64 {
    guard let number = try optionalInteger(key) else { return standard }
    guard range.contains(number) else {
      throw JSONShapeError(
        path: place(of: key), problem: "must be \(range.lowerBound) to \(range.upperBound) (got \(number))")
    }
    return number
  }

  /// An id with its prefix, of a length that fits a URL.
  public func identifier(_ key: String, prefix: String) throws(JSONShapeError) -> String {
    try checkIdentifier(string(key), at: place(of: key), prefix: prefix)
  }
}

/// Refuses what cannot be an id of the service: no prefix, too long, or characters that no id has.
@discardableResult
public func checkIdentifier(_ id: String, at place: String, prefix: String) throws(JSONShapeError) -> String {
  guard id.hasPrefix(prefix), id.utf8.count > prefix.utf8.count else {
    throw JSONShapeError(path: place, problem: "must start with \"\(prefix)\" (got \"\(id.quoted)\")")
  }
  guard id.utf8.count <= 256, id.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x5F || $0 == 0x2D })
  else {
    throw JSONShapeError(
      path: place, problem: "must be at most 256 letters, digits, \"_\" and \"-\" (got \"\(id.quoted)\")")
  }
  return id
}

extension String {
  /// As part of an error message: short, and on one line.
  public var quoted: String {
    let line = String(String.UnicodeScalarView(unicodeScalars.prefix(60).map { $0.value < 0x20 ? "\u{FFFD}" : $0 }))
    return unicodeScalars.count > 60 ? line + "..." : line
  }
}

extension UInt8 {
  public var isASCIILetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
  public var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
}
