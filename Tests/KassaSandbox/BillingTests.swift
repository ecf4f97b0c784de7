import KassaCore
import KassaJSON
import Testing

@testable import KassaSandbox

@Suite("Renewals on the moved clock")
struct BillingTests {
  private func totals(_ shop: Shop, _ membership: String) throws -> [String] {
    try shop.get("/payments?membership_id=\(membership)&direction=asc").rows.map { payment in
      "\(payment.at("created_at").string?.prefix(10) ?? "") \(payment.at("total", "amount").string ?? "") "
        + (payment.at("substatus").string ?? "")
    }
  }

  @Test func periodsFollowTheAnchorHoweverLateTheyAreNoticed() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly")
    try shop.advance(days: 95)
    #expect(try shop.membership(id)["current_period_start"] == "2027-01-18T10:00:00.000Z")
    #expect(
      try totals(shop, id) == [
        "2026-10-20 9.99 succeeded", "2026-11-19 9.99 succeeded", "2026-12-19 9.99 succeeded",
        "2027-01-18 9.99 succeeded",
      ])
  }

  @Test func theTimeSourceCountsToo() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly")
    shop.time.advance(milliseconds: 30 * 86_400_000 - 1)
    #expect(try totals(shop, id).count == 1)
    shop.time.advance(milliseconds: 1)
    #expect(try totals(shop, id).count == 2)
  }

  @Test func aTrialConvertsOrEnds() throws {
    let shop = try Shop()
    let stays = try shop.buy("plan_weekly", email: "a@example.com")
    let leaves = try shop.buy("plan_weekly", email: "b@example.com")
    #expect(try shop.membership(stays)["most_recent_action"] == "trial_ends_at")
    _ = try shop.call("POST", "/memberships/\(leaves)/cancel", ["cancel_at_period_end": true])
    try shop.advance(days: 7)
    #expect(try shop.membership(stays)["status"] == "active")
    #expect(try totals(shop, stays) == ["2026-10-20 0.00 succeeded", "2026-10-27 3.49 succeeded"])
    #expect(try shop.membership(leaves)["status"] == "canceled")
    #expect(try totals(shop, leaves).count == 1)
  }

  @Test func aFailedRenewalIsTriedForFiveDaysAndThenCanceled() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly", card: "4000 0000 0000 0341")
    try shop.advance(days: 30)
    let late = try shop.membership(id)
    #expect(late["status"] == "past_due")
    #expect(late["most_recent_action_at"] == "2026-11-20T10:00:00.000Z")
    try shop.advance(days: 4)
    #expect(try shop.membership(id)["status"] == "past_due")
    let payment = try #require(try shop.get("/payments?membership_id=\(id)").rows.first)
    #expect(payment["payments_failed"] == 5)
    #expect(payment["decline_code"] == "generic_decline")
    try shop.advance(days: 1)
    #expect(try shop.membership(id)["status"] == "canceled")
    #expect(try totals(shop, id) == ["2026-10-20 9.99 succeeded", "2026-11-19 9.99 uncollectible"])
  }

  @Test func anotherCardHealsAFailedRenewal() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly", card: "4000000000000341")
    let good = try shop.buy("plan_yearly")
    let method = try shop.get("/payments?membership_id=\(good)").rows.first?["payment_method_id"] ?? .null
    try shop.advance(days: 30)
    #expect(try shop.call("PATCH", "/memberships/\(id)", ["payment_method_id": "payt_none"]).status == 400)
    #expect(try shop.call("PATCH", "/memberships/\(id)", ["payment_method_id": method]).status == 200)
    try shop.advance(days: 1)
    let healed = try shop.membership(id)
    #expect(healed["status"] == "active")
    #expect(healed["current_period_end"] == "2026-12-19T10:00:00.000Z")
    #expect(try totals(shop, id).last == "2026-11-19 9.99 succeeded")
  }

  @Test func whatIsSetToEndEnds() throws {
    let shop = try Shop()
    let monthly = try shop.buy("plan_monthly"), desktop = try shop.buy("plan_desktop")
    try shop.act(["action": "cancel_membership", "membership_id": JSON(monthly), "cancel_at_period_end": true])
    try shop.advance(days: 29)
    #expect(try shop.membership(monthly)["status"] == "active")
    try shop.advance(days: 1)
    #expect(try shop.membership(monthly)["status"] == "canceled")
    #expect(try shop.membership(desktop)["status"] == "completed")
    try shop.advance(days: 335)
    #expect(try shop.membership(desktop)["status"] == "expired")
  }

  @Test func aPauseCostsNothing() throws {
    let shop = try Shop()
    let id = try shop.buy("plan_monthly"), other = try shop.buy("plan_monthly")
    let paused = try shop.call("POST", "/memberships/\(id)/pause")
    #expect(paused["most_recent_action"] == "paused_at")
    #expect(try shop.call("POST", "/memberships/\(id)/pause").status == 409)
    #expect(
      try shop.call("POST", "/memberships/\(other)/pause", ["until": "2026-12-01T00:00:00Z"]).status == 200)
    try shop.advance(days: 65)
    #expect(try totals(shop, id).count == 1)
    let resumed = try shop.call("POST", "/memberships/\(id)/resume")
    #expect(resumed["most_recent_action"] == "renewing_on")
    #expect(resumed["current_period_end"] == "2027-01-18T10:00:00.000Z")
    #expect(try shop.call("POST", "/memberships/\(id)/resume").status == 409)
    // The other one went on by itself: the cycle that began before December is not charged, the next one is.
    #expect(try totals(shop, other) == ["2026-10-20 9.99 succeeded", "2026-12-19 9.99 succeeded"])
  }
}
