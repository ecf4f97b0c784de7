import KassaCore
import KassaJSON
import Testing

@Suite struct EntitlementTests {
  private func entitlement(
    _ membership: Membership, policy: EntitlementPolicy = EntitlementPolicy(), identity: Identity = identity()
  ) -> Entitlement {
    Entitlement(membership, ownership: Ownership(identity: identity), policy: policy)
  }

  @Test(
    "S018 a grant with the end T is active at T - 1 ms and not at T, whatever made the end",
    arguments: [
      (membership(expiresAt: moment), moment, "fixed_end"),
      (membership(expiresAt: moment, periodEnd: moment + day), moment, "fixed_end"),
      (membership(periodEnd: moment, cancels: true), moment, "period_end"),
      (membership(periodEnd: moment, confirmedAt: moment - day), moment + 5 * day, "renewal_grace"),
    ])
  func boundary(_ membership: Membership, _ end: Int64, _ rule: String) {
    let entitlement = entitlement(membership)
    #expect(entitlement.endsAt == end)
    #expect(entitlement.rule.rawValue == rule)
    #expect([end - 1, end, end + 1].map(entitlement.isActive) == [true, false, false])
    #expect([end - 1, end].map { entitlement.document(at: $0)["active"] } == [true, false])
  }

  @Test(
    "Five statuses grant",
    arguments: [
      ("active", true), ("trialing", true), ("canceling", true), ("past_due", true), ("completed", true),
      ("canceled", false), ("expired", false), ("drafted", false), ("unresolved", false),
    ])
  func statuses(_ word: String, _ grants: Bool) {
    let entitlement = entitlement(membership(status: word))
    #expect(entitlement.isActive(at: moment) == grants)
    #expect(entitlement.rule == (grants ? .lifetime : .status))
    #expect(entitlement.document(at: moment)["status"]?.string == word)
  }

  @Test(
    "S131 an unknown status keeps its word and grants nothing, whatever its end",
    arguments: ["paused", "", "Active", "active ", "ACTIVE", "actíve"])
  func unknownStatus(_ word: String) {
    let membership = membership(status: word, expiresAt: moment + day)
    let entitlement = entitlement(membership)
    #expect(!entitlement.isActive(at: moment))
    #expect(entitlement.rule == .status)
    #expect(entitlement.document(at: moment)["status"] == "unknown")
    #expect(membership.document(isActive: false, isClaimed: false)["raw_status"]?.string == word)
  }

  @Test("S025 past_due grants, its grace has an end that is shown, and expired grants nothing") func pastDue() {
    let renewing = membership(status: "past_due", periodEnd: moment - day)
    let entitlement = entitlement(renewing)
    #expect(entitlement.endsAt == moment + 5 * day)
    #expect(entitlement.document(at: moment)["ends_at"]?.integer == moment + 5 * day)
    #expect(entitlement.isActive(at: moment))
    #expect(!entitlement.isActive(at: moment + 5 * day))
    #expect(!self.entitlement(membership(status: "expired", periodEnd: moment + day)).isActive(at: moment))
  }

  @Test("S026 there is a grace only where the service's last word was that it renews") func grace() {
    #expect(entitlement(membership(periodEnd: moment + day)).endsAt == moment + 6 * day)
    #expect(entitlement(membership(periodEnd: moment + day, cancels: true)).endsAt == moment + day)
    #expect(entitlement(membership(status: "canceling", periodEnd: moment + day)).endsAt == moment + day)
    #expect(entitlement(membership(expiresAt: moment + day)).endsAt == moment + day)
  }

  @Test("Each word of the service that a late period is active restarts its grace") func confirmedGrace() {
    let late = membership(periodEnd: moment - 10 * day, confirmedAt: moment)
    #expect(entitlement(late).endsAt == moment + 5 * day)
  }

  @Test("Offline without an end: stale after the days, and over only in strict mode") func offline() {
    let lenient = entitlement(membership())
    let limit = moment + 30 * day
    #expect(lenient.endsAt == nil)
    #expect([limit - 1, limit].map(lenient.isStale) == [false, true])
    #expect([limit - 1, limit, .max].map(lenient.isActive) == [true, true, true])
    let strict = entitlement(membership(), policy: EntitlementPolicy(offlineDays: 7, isStrict: true))
    #expect(strict.endsAt == moment + 7 * day)
    #expect(strict.rule == .offlineLimit)
    #expect([moment + 7 * day - 1, moment + 7 * day].map(strict.isActive) == [true, false])
    let ending = entitlement(membership(expiresAt: moment + day), policy: EntitlementPolicy(offlineDays: 0))
    #expect(!ending.isStale(at: .max))
  }

  @Test("What is not visible, or of a product that does not count, grants nothing and says why") func notCounted() {
    let foreign = entitlement(membership(device: "other"))
    #expect(foreign.rule == .notVisible)
    #expect(!foreign.isActive(at: moment))
    let other = entitlement(membership(), policy: EntitlementPolicy(productIDs: ["prod_other"]))
    #expect(other.rule == .productNotConfigured)
    #expect(!other.isActive(at: moment))
    #expect(entitlement(membership(), policy: EntitlementPolicy(productIDs: ["prod_pro"])).isActive(at: moment))
    #expect(!entitlement(membership(), policy: EntitlementPolicy(productIDs: [])).isActive(at: moment))
  }

  @Test("S125 of two memberships of one product, the later end counts, also when one is revoked") func duplicates() {
    func hasAccess(_ memberships: [Membership], at now: Int64) -> Bool {
      memberships.contains { entitlement($0).isActive(at: now) }
    }
    let first = membership("mem_1", expiresAt: moment + day), second = membership("mem_2", expiresAt: moment + 2 * day)
    #expect(hasAccess([first, second], at: moment + day))
    #expect(!hasAccess([first, second], at: moment + 2 * day))
    let refunded = membership("mem_2", status: "canceled", expiresAt: moment + 2 * day)
    #expect(hasAccess([first, refunded], at: moment + day - 1))
    #expect(!hasAccess([first, refunded], at: moment + day))
  }

  @Test("S021 S027 a clock set back before the end revives nothing", arguments: [hour, 2 * day, 3_650 * day])
  func clockSetBack(by distance: Int64) {
    let ended = entitlement(membership(expiresAt: moment)), lifetime = entitlement(membership())
    let clock = TrustedClock(
      savedMilliseconds: moment + 1, wallMilliseconds: moment + 1 - distance, bootNanoseconds: 0)
    #expect(!ended.isActive(at: clock.now(bootNanoseconds: 0)))
    #expect(lifetime.isActive(at: clock.now(bootNanoseconds: 0)))
  }

  @Test("The answers about one membership never contradict each other", arguments: 0..<20 as Range<UInt64>)
  func consistency(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<500 {
      let membership = anyMembership(&random)
      let policy = EntitlementPolicy(
        productIDs: Bool.random(using: &random) ? nil : ["prod_pro"], offlineDays: .random(in: 0...60, using: &random),
        isStrict: Bool.random(using: &random))
      let ownership = Ownership(identity: identity(["a", "b", nil].randomElement(using: &random) ?? nil))
      let entitlement = Entitlement(membership, ownership: ownership, policy: policy)
      let now = anyTime(&random)
      let isActive = entitlement.isActive(at: now)
      let document = entitlement.document(at: now)

      #expect(document["active"]?.bool == isActive)
      #expect(document["stale"]?.bool == entitlement.isStale(at: now))
      #expect(document["ends_at"] == JSON(entitlement.endsAt))
      #expect(
        entitlement.counts
          == (ownership.isVisible(membership) && membership.status.grants
            && (policy.productIDs?.contains(membership.productID) ?? true)))
      #expect(!isActive || entitlement.counts)
      // Whoever counts has an end, or becomes stale; both only if the stale moment is the end.
      #expect(!entitlement.counts || (entitlement.endsAt ?? entitlement.staleAt) != nil)
      if let end = entitlement.endsAt, let stale = entitlement.staleAt { #expect(end == stale) }
      // Without news, nothing comes back.
      #expect(isActive || !entitlement.isActive(at: now.adding(.random(in: 0...100 * day, using: &random))))
      if let end = entitlement.endsAt, entitlement.counts, end > .min, end < .max {
        #expect(entitlement.isActive(at: end - 1) && !entitlement.isActive(at: end))
      }
    }
  }

  private func anyTime(_ random: inout Seeded) -> Int64 {
    [
      moment + .random(in: -60 * day...60 * day, using: &random), moment, 0, .max, .min,
      .random(in: .min ... .max, using: &random),
    ].randomElement(using: &random) ?? moment
  }

  private func anyMembership(_ random: inout Seeded) -> Membership {
    let statuses = ["active", "trialing", "canceling", "past_due", "completed", "canceled", "expired", "new"]
    return membership(
      product: Bool.random(using: &random) ? "prod_pro" : "prod_other",
      status: statuses.randomElement(using: &random) ?? "active", createdAt: anyTime(&random),
      expiresAt: Bool.random(using: &random) ? anyTime(&random) : nil,
      periodEnd: Bool.random(using: &random) ? anyTime(&random) : nil, cancels: Bool.random(using: &random),
      device: ["device", "other", nil].randomElement(using: &random) ?? nil,
      user: ["a", nil].randomElement(using: &random) ?? nil, confirmedAt: anyTime(&random))
  }
}
