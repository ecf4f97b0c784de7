import KassaCore
import Testing

@Suite struct OwnershipTests {
  private func isVisible(
    _ membership: Membership, to identity: Identity, pending claims: [PendingClaim] = []
  ) -> Bool {
    Ownership(identity: identity, pendingClaims: claims).isVisible(membership)
  }

  private func claim(_ id: Int64, _ user: String, at time: Int64) -> PendingClaim {
    PendingClaim(id: id, appUserID: AppUserID(user), loggedInAt: time)
  }

  @Test(
    "Logged out, what this device bought and nobody claimed; logged in, what is the user's, bought anywhere",
    arguments: [
      (membership(device: "device", user: nil), true, false), (membership(device: "device", user: "anna"), false, true),
      (membership(device: "device", user: "ben"), false, false), (membership(device: "other", user: nil), false, false),
      (membership(device: "other", user: "anna"), false, true), (membership(device: nil, user: "anna"), false, true),
      (membership(device: nil, user: nil), false, false), (membership(device: "other", user: "ben"), false, false),
    ])
  func visibility(_ membership: Membership, _ isGuests: Bool, _ isAnnas: Bool) {
    #expect(isVisible(membership, to: identity()) == isGuests)
    #expect(isVisible(membership, to: identity("anna")) == isAnnas)
  }

  @Test("A login that the service does not know yet owns what the device bought before it") func pendingClaim() {
    let bought = membership(createdAt: moment)
    let claims = [claim(1, "anna", at: moment), claim(2, "ben", at: moment + hour)]
    #expect(isVisible(bought, to: identity("anna"), pending: claims))
    #expect(!isVisible(bought, to: identity("ben"), pending: claims))
    #expect(!isVisible(bought, to: identity(), pending: claims))
    let later = membership(createdAt: moment + 1)
    #expect(isVisible(later, to: identity("ben"), pending: claims))
    let last = membership(createdAt: moment + hour + 1)
    #expect(isVisible(last, to: identity(), pending: claims))
    #expect(!isVisible(last, to: identity("ben"), pending: claims))
  }

  @Test("The service's word and other devices come before a login that waits") func claimsHaveLimits() {
    let claims = [claim(1, "anna", at: .max)]
    #expect(!isVisible(membership(user: "ben"), to: identity("anna"), pending: claims))
    #expect(isVisible(membership(user: "ben"), to: identity("ben"), pending: claims))
    #expect(!isVisible(membership(device: "other"), to: identity("anna"), pending: claims))
    #expect(Ownership(identity: identity(), pendingClaims: claims).owner(of: membership()) == AppUserID("anna"))
  }

  @Test(
    "S087 users are told apart byte for byte",
    arguments: [
      ("\u{E9}", "e\u{301}"), ("anna", "Anna"), ("anna", "anna "), ("a\0", "a"), ("\u{AC00}", "\u{1100}\u{1161}"),
    ])
  func bytes(_ one: String, _ other: String) {
    #expect(AppUserID(one) != AppUserID(other))
    #expect(Set([AppUserID(one), AppUserID(other), AppUserID(one)]).count == 2)
    #expect(isVisible(membership(user: one), to: identity(one)))
    #expect(!isVisible(membership(user: one), to: identity(other)))
  }
}
