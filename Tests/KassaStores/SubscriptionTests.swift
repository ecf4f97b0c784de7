import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

@Suite("The life of a subscription in the simulated App Store")
struct SubscriptionTests {
  @Test("S053 renewals keep the day of the first one: the end of short months, and a leap day")
  func calendar() async throws {
    let monthly = try Counter(at: try #require(Timestamp.milliseconds(iso8601: "2027-01-31T22:15:00Z")))
    try await monthly.buy("basic.other")
    try monthly.move(to: "2028-03-31T22:14:59Z")
    let ends = monthly.takeUpdates().map { day($0.expiresAt) }
    #expect(ends.prefix(4) == ["2027-03-31", "2027-04-30", "2027-05-31", "2027-06-30"])
    #expect(ends.suffix(2) == ["2028-02-29", "2028-03-31"])
    let yearly = try Counter(at: try #require(Timestamp.milliseconds(iso8601: "2028-02-29T00:00:00Z")))
    let first = try await yearly.buy("basic.yearly")
    try yearly.move(to: "2032-02-28T00:00:00Z")
    let renewals = yearly.takeUpdates()
    #expect(
      ([first] + renewals).map { day($0.expiresAt) } == ["2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"])
    // Each begins where the one before ended, and all belong to the first.
    #expect(renewals.map { day($0.purchasedAt) } == ["2029-02-28", "2030-02-28", "2031-02-28"])
    #expect(renewals.allSatisfy { $0.isRenewal == true && $0.originalID == first.id && $0.id != first.id })
  }

  @Test func aTrialBecomesARegularSubscriptionWithItsOwnDay() async throws {
    let shop = try Counter()
    let trial = try await shop.buy("basic.monthly")
    #expect(trial.offer?.kind == .introductory && trial.offer?.paymentMode == .freeTrial)
    #expect(trial.price?.amountText == "0.00")
    #expect(day(trial.expiresAt) == "2026-10-27")
    try shop.move(to: "2026-12-28T00:00:00Z")
    let renewals = shop.takeUpdates()
    #expect(renewals.map { day($0.expiresAt) } == ["2026-11-27", "2026-12-27", "2027-01-27"])
    #expect(renewals.allSatisfy { $0.price?.amountText == "9.99" && $0.offer == nil })
  }

  @Test func offersRunForTheirPeriods() async throws {
    let shop = try Counter()
    try await shop.buy("basic.other")
    try shop.act(["action": "cancel_subscription"])
    try shop.advance(days: 40)
    #expect(try await shop.state() == "expired")
    let first = try await shop.buy("basic.monthly", offer: .id("half"))
    #expect(first.offer?.id == "half" && first.isRenewal == false)
    _ = shop.takeUpdates()
    try shop.advance(days: 130)
    let prices = shop.takeUpdates().map { $0.price?.amountText ?? "" }
    #expect(prices == ["4.99", "4.99", "9.99", "9.99"])
  }

  @Test func anOfferForSomebodyWhoSubscribesBeginsWithTheNextPeriod() async throws {
    let shop = try Counter()
    let trial = try await shop.buy("basic.monthly")
    #expect(try await shop.buy("basic.monthly", offer: .id("half")).id == trial.id)
    try shop.advance(days: 8)
    let renewal = try #require(shop.takeUpdates().first)
    #expect(renewal.offer?.id == "half" && renewal.price?.amountText == "4.99" && renewal.isRenewal == true)
  }

  @Test func whatIsCancelledEnds() async throws {
    let shop = try Counter()
    try await shop.buy("basic.other")
    try shop.act(["action": "cancel_subscription", "product_id": "basic.other"])
    #expect(try await shop.owned() == ["basic.other"])
    #expect(try await shop.status()["will_renew"] == false)
    try shop.advance(days: 31)
    #expect(try await shop.owned() == [])
    #expect(try await shop.status()["expiration_reason"] == "cancelled")
    #expect(shop.takeUpdates().isEmpty)
  }

  @Test func buyingAgainTurnsRenewalOn() async throws {
    let shop = try Counter()
    let first = try await shop.buy("basic.other")
    try shop.act(["action": "cancel_subscription"])
    #expect(try await shop.buy("basic.other").id == first.id)
    try shop.act(["action": "cancel_subscription"])
    try shop.act(["action": "resubscribe"])
    try shop.advance(days: 31)
    #expect(shop.takeUpdates().count == 1)
  }

  // MARK: Billing

  @Test func aFailedRenewalHasGraceAndGoesOnAsIfNothingHadHappened() async throws {
    let shop = try Counter(Goods.with { $0.hasBillingGracePeriod = true })
    try await shop.buy("basic.other")
    try shop.act(["action": "fail_billing"])
    try shop.move(to: "2026-11-20T10:00:00Z")
    #expect(try await shop.state() == "grace_period")
    #expect(try await shop.owned() == ["basic.other"])
    let status = try await shop.status()
    #expect(day(status["grace_period_ends_at"]?.integer) == "2026-12-06")
    try shop.move(to: "2026-11-25T00:00:00Z")
    try shop.act(["action": "recover_billing"])
    let recovered = try #require(shop.takeUpdates().last)
    #expect(day(recovered.purchasedAt) == "2026-11-20" && day(recovered.expiresAt) == "2026-12-20")
    #expect(try await shop.state() == "subscribed")
  }

  @Test func afterGraceAccessEndsAndAfterSixtyDaysTheSubscription() async throws {
    let shop = try Counter(Goods.with { $0.hasBillingGracePeriod = true })
    try await shop.buy("basic.other")
    try await shop.buy("news.weekly")
    try shop.act(["action": "fail_billing"])
    // Weekly ones have 6 days of grace.
    try shop.move(to: "2026-11-02T09:59:59Z")
    #expect(try await shop.state("news") == "grace_period")
    try shop.move(to: "2026-11-02T10:00:00Z")
    #expect(try await shop.state("news") == "billing_retry")
    try shop.move(to: "2026-12-06T10:00:00Z")
    #expect(try await shop.state() == "billing_retry")
    #expect(try await shop.owned() == [])
    try shop.move(to: "2027-01-19T09:59:59Z")
    #expect(try await shop.state() == "billing_retry")
    try shop.move(to: "2027-01-19T10:00:00Z")
    #expect(try await shop.state() == "expired")
    #expect(try await shop.status()["expiration_reason"] == "billing_error")
  }

  @Test func recoveryAfterAccessHasEndedBeginsANewPeriod() async throws {
    let shop = try Counter()
    try await shop.buy("basic.other")
    try shop.act(["action": "fail_billing"])
    try shop.move(to: "2026-12-03T00:00:00Z")
    #expect(try await shop.state() == "billing_retry")
    try shop.act(["action": "recover_billing"])
    let recovered = try #require(shop.takeUpdates().last)
    #expect(day(recovered.purchasedAt) == "2026-12-03" && day(recovered.expiresAt) == "2027-01-03")
  }

  @Test func cancellingDuringRetryEndsIt() async throws {
    let shop = try Counter(Goods.with { $0.hasBillingIssues = true })
    try await shop.buy("basic.other")
    try shop.advance(days: 31)
    #expect(try await shop.state() == "billing_retry")
    try shop.act(["action": "cancel_subscription"])
    #expect(try await shop.status()["expiration_reason"] == "cancelled")
  }

  // MARK: Changing

  @Test("S065 an upgrade counts at once and ends the old product; a downgrade comes with the renewal")
  func upgradeAndDowngrade() async throws {
    let shop = try Counter()
    let basic = try await shop.buy("basic.other")
    try shop.advance(days: 10)
    let pro = try await shop.buy("pro.monthly")
    #expect(pro.productID == "pro.monthly" && pro.originalID == basic.originalID && pro.isRenewal == false)
    #expect(day(pro.expiresAt) == "2026-11-30")
    #expect(try await shop.owned() == ["pro.monthly"])
    let old = try #require(shop.takeUpdates().last)
    #expect(old.id == basic.id && old.isUpgraded)
    // 21 of 31 days were left of 8.99.
    #expect(try shop.store.eventLog().last?.contains(#""refunded":"6.09 USD""#) == true)
    #expect(try await shop.store.purchase(StoreOrder(productID: "basic.yearly")) == .pending)
    #expect(try await shop.owned() == ["pro.monthly"])
    #expect(try await shop.status()["renews_product_id"] == "basic.yearly")
    try shop.move(to: "2026-11-30T10:00:00Z")
    let down = try #require(shop.takeUpdates().last)
    #expect(down.productID == "basic.yearly" && down.isRenewal == true && day(down.expiresAt) == "2027-11-30")
    #expect(try await shop.owned() == ["basic.yearly"])
  }

  @Test("S065 the same level: of the same duration at once, of another one at the renewal")
  func crossgrade() async throws {
    let shop = try Counter()
    try await shop.buy("basic.monthly")
    let other = try await shop.buy("basic.other")
    #expect(other.productID == "basic.other")
    #expect(try await shop.owned() == ["basic.other"])
    #expect(try await shop.store.purchase(StoreOrder(productID: "basic.yearly")) == .pending)
    #expect(try await shop.owned() == ["basic.other"])
    // Whoever buys the present one again takes the change back.
    try await shop.buy("basic.other")
    try shop.advance(days: 32)
    #expect(try await shop.owned() == ["basic.other"])
  }

  @Test func aPriceIncreaseNeedsConsentOrNot() async throws {
    for (consent, agrees, expected) in [(true, false, "expired"), (true, true, "12.99"), (false, false, "12.99")] {
      let shop = try Counter()
      try await shop.buy("basic.other")
      try shop.act([
        "action": "price_increase", "product_id": "basic.other", "price": "12.99", "consent": JSON(consent),
      ])
      #expect(try await shop.store.products(["basic.other"]).first?.price.formatted == "$12.99")
      let messages = shop.events.filter { if case .message = $0 { true } else { false } }
      #expect(messages.count == (consent ? 1 : 0))
      if agrees { try shop.act(["action": "agree_to_price"]) }
      _ = shop.takeUpdates()
      try shop.advance(days: 31)
      let state = try await shop.state()
      #expect((state == "expired" ? state : shop.takeUpdates().first?.price?.amountText) == expected)
      if state == "expired" { #expect(try await shop.status()["expiration_reason"] == "price_increase") }
    }
  }

  // MARK: Time

  @Test func acceleratedTimeRenewsFasterAndForgetsNoEnd() async throws {
    let shop = try Counter(Goods.with { $0.timeRate = .everyRenewal(milliseconds: 30_000) })
    let first = try await shop.buy("basic.yearly")
    #expect(first.expiresAt == Counter.start + 30_000)
    shop.time.advance(milliseconds: 90_000)
    try shop.store.refresh()
    #expect(shop.takeUpdates().map { ($0.expiresAt ?? 0) - Counter.start } == [60_000, 90_000, 120_000])
    // A year in between: the last one is right, and there are not a million of them.
    try shop.advance(days: 365)
    let many = shop.takeUpdates()
    #expect(many.count <= StoreLedger.mostRenewals + 2)
    let last = try #require(many.last?.expiresAt)
    #expect(last > shop.time.wallMilliseconds && last <= shop.time.wallMilliseconds + 30_000)
    #expect(try await shop.owned() == ["basic.yearly"])
  }

  @Test func aClockSetBackChangesNothing() async throws {
    let shop = try Counter()
    try await shop.buy("basic.other")
    try shop.advance(days: 31)
    shop.time.setWall(milliseconds: 0)
    try shop.store.refresh()
    #expect(try await shop.owned() == ["basic.other"])
    #expect(try await shop.buy("coins").purchasedAt > Counter.start)
  }
}
