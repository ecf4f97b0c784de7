import KassaJSON

/// What a `changed` event says.
public struct Change: Sendable, Equatable {
  public enum Subject: String, Sendable { case plans, entitlements, identity, person, storefront }
  public enum Cause: String, Sendable {
    case configure, refresh, purchase, store, login, logout, restore, expiry
    case anotherProcess = "another_process"
  }
  var what: Subject
  var revision: UInt64
  var cause: Cause

  var document: JSON {
    [
      "type": "changed", "what": JSON(what.rawValue), "revision": JSON(Int64(clamping: revision)),
      "cause": JSON(cause.rawValue),
    ]
  }
}
