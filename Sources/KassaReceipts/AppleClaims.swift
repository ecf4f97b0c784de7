import KassaCore
import KassaJSON

/// What signed data says of itself: which app it is for, where it comes from and when it was signed.
struct AppleClaims {
  let bundleID: String?
  let appAppleID: Int64?
  /// Apple's word.
  let environment: String?
  /// In milliseconds since 1970; nil where the payload does not say.
  let signedAt: Int64?

  init(_ payload: JSON, _ kind: SignedDataExpectation.Kind) throws(Refusal) {
    do throws(JSONShapeError) {
      let fields = try Fields(payload)
      try kind.refuseOthers(fields)
      signedAt = try Self.signingDate(fields)
      switch kind {
      case .transaction:
        bundleID = try fields.optionalString("bundleId")
        appAppleID = nil
        environment = try fields.optionalString("environment")
      case .renewalInfo:
        bundleID = nil
        appAppleID = nil
        environment = try fields.optionalString("environment")
      case .appTransaction:
        bundleID = try fields.optionalString("bundleId")
        appAppleID = try fields.optionalInteger("appAppleId")
        environment = try fields.optionalString("receiptType")
      case .notification:
        let part = try Self.notificationPart(fields)
        bundleID = try part?.optionalString("bundleId")
        appAppleID = try part?.optionalInteger("appAppleId")
        // A token for external purchases has no environment; its id tells it (Apple's server libraries).
        if let part, part.path == "externalPurchaseToken" {
          let isSandbox = try part.optionalString("externalPurchaseId")?.hasPrefix("SANDBOX") == true
          environment = isSandbox ? "Sandbox" : "Production"
        } else {
          environment = try part?.optionalString("environment")
        }
      }
    } catch { throw Refusal(.malformedPayload, "payload: \(error)") }
  }

  /// A notification has one of these parts, which says what it is about.
  private static func notificationPart(_ fields: Fields) throws(JSONShapeError) -> Fields? {
    for key in ["data", "summary", "externalPurchaseToken", "appData"] {
      if let part = try fields.optionalObject(key) { return part }
    }
    return nil
  }

  /// `signedDate`, or what app transactions have in its place.
  private static func signingDate(_ fields: Fields) throws(JSONShapeError) -> Int64? {
    for key in ["signedDate", "receiptCreationDate"] {
      if let date = try fields.appleDate(key) { return date }
    }
    return nil
  }
}

extension SignedDataExpectation.Kind {
  /// A member that Apple's payloads of this kind have, and no others.
  private var ownMember: String {
    switch self {
    case .transaction: "transactionId"
    case .renewalInfo: "autoRenewStatus"
    case .appTransaction: "receiptType"
    case .notification: "notificationType"
    }
  }

  /// All kinds are signed by the same certificates, so only the payload tells one from another.
  fileprivate func refuseOthers(_ fields: Fields) throws(JSONShapeError) {
    for other in Self.allCases where other != self && fields.has(other.ownMember) {
      throw JSONShapeError(
        path: fields.place(of: other.ownMember), problem: "shows that it is \(other.rawValue), not \(rawValue)")
    }
  }
}

extension Fields {
  /// A moment as Apple writes it: milliseconds since 1970 as a number, whole (`1722945600000`, `1722945600000.0`), or
  /// with a fraction of a millisecond as Xcode does (`1697679936056.485`), which is cut off. Years beyond 9999, either
  /// way from 1970, are refused. So is null: a date that is there and says nothing is no reason to judge without one.
  func appleDate(_ key: String) throws(JSONShapeError) -> Int64? {
    let moment = try optionalInteger(key, "a number of milliseconds since 1970") { whole, number in
      let limit = Timestamp.range.upperBound
      guard let moment = whole ?? Int64(exactly: number.rounded(.down)) else { return nil }
      return -limit...limit ~= moment ? moment : nil
    }
    guard moment != nil || json[key] == nil else {
      throw JSONShapeError(path: place(of: key), problem: "must not be null")
    }
    return moment
  }
}
