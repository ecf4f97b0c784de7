/// A text that is compared byte for byte: Swift's strings would take those for equal that only look alike (`é` written in
/// two ways).
public protocol ByteExactText: Sendable, Hashable {
  var text: String { get }
}

extension ByteExactText {
  public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }
  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

/// A user's id in the host's own account system.
public struct AppUserID: ByteExactText {
  public let text: String
  public init(_ text: String) { self.text = text }
}

/// Who is asking: the installation, and the user of the host's own account system if one is logged in.
public struct Identity: Sendable, Equatable {
  public var deviceID: String
  public var appUserID: AppUserID?
  public init(deviceID: String, appUserID: AppUserID? = nil) {
    self.deviceID = deviceID
    self.appUserID = appUserID
  }
}
/// A login whose claim has not reached the service yet: from then on this device's guest purchases are that user's.
public struct PendingClaim: Sendable, Equatable {
  /// Its number in the outbox.
  public var id: Int64
  public var appUserID: AppUserID
  public var loggedInAt: Int64
  public init(id: Int64, appUserID: AppUserID, loggedInAt: Int64) {
    self.id = id
    self.appUserID = appUserID
    self.loggedInAt = loggedInAt
  }
}

/// To whom memberships belong, as far as this device knows.
public struct Ownership: Sendable, Equatable {
  public var identity: Identity
  /// Oldest first.
  public var pendingClaims: [PendingClaim]

  public init(identity: Identity, pendingClaims: [PendingClaim] = []) {
    self.identity = identity
    self.pendingClaims = pendingClaims
  }

  /// The app user who owns it: by the service's word, else by the first login after the purchase that still waits to
  /// be told to the service.
  public func owner(of membership: Membership) -> AppUserID? {
    if let owner = membership.appUserID { return owner }
    guard membership.deviceID == identity.deviceID else { return nil }
    return pendingClaims.first { membership.createdAt <= $0.loggedInAt }?.appUserID
  }

  /// Logged in: the user's memberships. Logged out: those of this device that nobody has claimed.
  public func isVisible(_ membership: Membership) -> Bool {
    let owner = owner(of: membership)
    if let user = identity.appUserID { return owner == user }
    return owner == nil && membership.deviceID == identity.deviceID
  }
}
