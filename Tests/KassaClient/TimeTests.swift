import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// Ends, and clocks that cannot be trusted.
@Suite struct TimeTests {
  /// Access that ends after a fixed number of days, bought now.
  private static let fixed: JSON = [
    "account": ["id": "biz_sandbox", "title": "Test"], "products": [["id": "prod_pro", "title": "Pro"]],
    "plans": [
      [
        "id": "plan_days", "product_id": "prod_pro", "plan_type": "one_time", "initial_price": 5, "expiration_days": 10,
      ],
      [
        "id": "plan_monthly", "product_id": "prod_pro", "plan_type": "renewal", "billing_period": 30,
        "renewal_price": JSON(9.99),
      ],
      ["id": "plan_lifetime", "product_id": "prod_pro", "plan_type": "one_time", "initial_price": 99],
    ],
    "api_keys": [["key": "sandbox_key", "permissions": ["*"]]],
  ]

  private func rig(
    storage: String = ":memory:", time: ManualTime? = nil, network: Network? = nil, offline: JSON = ["days": 30]
  ) throws -> Rig {
    var wishes = Rig.Wishes()
    wishes.catalogue = Self.fixed
    wishes.offline = offline
    return try Rig(wishes, storage: storage, time: time, network: network)
  }

  private func end(_ rig: Rig) throws -> Int64 {
    try #require(rig.client.entitlements.elements.first?["ends_at"]?.integer)
  }

  /// The trusted time.
  private func now(_ rig: Rig) throws -> Int64 {
    try #require(rig.client.explain(Rig.pro)["clock"]?["now"]?.integer)
  }

  @Test("S018 access at end - 1 ms, none at end") func boundary() throws {
    let rig = try rig()
    try rig.buy("plan_days")
    rig.network.set(.offline)
    rig.advance(milliseconds: try end(rig) - (try now(rig)) - 1)
    #expect(rig.hasAccess(Rig.pro) && rig.isSubscribed && rig.client.memberships.elements.count == 1)
    rig.advance(milliseconds: 1)
    #expect(!rig.hasAccess(Rig.pro) && !rig.isSubscribed && rig.client.memberships.elements.isEmpty)
    #expect(rig.client.explain(Rig.pro)["reason"]?.string == "ended")
  }

  @Test("S022 S023 the end of a period in a running process, without network: one update") func expiryEvent() throws {
    let rig = try rig()
    try rig.buy("plan_days")
    rig.network.set(.offline)
    let revision = rig.client.revision
    _ = rig.events()
    rig.advance(milliseconds: try end(rig) - (try now(rig)))
    for _ in 0..<3 { rig.advance(milliseconds: 1_000) }
    let changes = rig.changes()
    #expect(changes.map { $0["cause"]?.string } == ["expiry"])
    #expect(changes.first?["what"]?.string == "entitlements")
    #expect(rig.client.revision > revision)
  }

  @Test("S021 S027 a clock set back revives nothing", arguments: [3_600_000, 2 * 86_400_000, 3_650 * 86_400_000])
  func clockSetBack(by distance: Int64) throws {
    let directory = TemporaryDirectory()
    let network: Network
    let time: ManualTime
    do {
      let rig = try rig(storage: directory.path)
      (network, time) = (rig.network, rig.time)
      try rig.buy("plan_days")
      network.set(.offline)
      rig.advance(days: 11)
      #expect(!rig.hasAccess(Rig.pro))
    }
    time.setWall(milliseconds: time.wallMilliseconds - distance)
    let rig = try rig(storage: directory.path, time: time, network: network)
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("S021 a lifetime purchase does not mind the clock") func lifetime() throws {
    let directory = TemporaryDirectory()
    let network: Network
    let time: ManualTime
    do {
      let rig = try rig(storage: directory.path)
      (network, time) = (rig.network, rig.time)
      try rig.buy("plan_lifetime")
      network.set(.offline)
    }
    time.setWall(milliseconds: time.wallMilliseconds - 3_650 * 86_400_000)
    #expect(try rig(storage: directory.path, time: time, network: network).hasAccess(Rig.pro))
    time.setWall(milliseconds: time.wallMilliseconds + 7_300 * 86_400_000)
    let rig = try rig(storage: directory.path, time: time, network: network)
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.client.entitlements.elements.first?["stale"]?.bool == true)
  }

  @Test("A clock set forward ends nothing while the service disagrees") func clockSetForward() throws {
    let rig = try rig()
    try rig.buy("plan_days")
    rig.time.setWall(milliseconds: rig.time.wallMilliseconds + 3_650 * 86_400_000)
    #expect(rig.hasAccess(Rig.pro))
    rig.settle()
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("S029 small steps of the clock keep access", arguments: [-3_000, -3_600_000, 3_600_000, 8 * 3_600_000])
  func smallSteps(step: Int64) throws {
    let directory = TemporaryDirectory()
    let network: Network
    let time: ManualTime
    do {
      let rig = try rig(storage: directory.path)
      (network, time) = (rig.network, rig.time)
      try rig.buy("plan_days")
      network.set(.offline)
    }
    time.setWall(milliseconds: time.wallMilliseconds + step)
    #expect(try rig(storage: directory.path, time: time, network: network).hasAccess(Rig.pro))
  }

  @Test("S030 the service's next answer corrects a clock that was set forward") func corrected() throws {
    let directory = TemporaryDirectory()
    let network: Network
    let time: ManualTime
    do {
      let rig = try rig(storage: directory.path)
      (network, time) = (rig.network, rig.time)
      try rig.buy("plan_days")
    }
    let right = time.wallMilliseconds
    network.set(.offline)
    time.setWall(milliseconds: right + 20 * 86_400_000)
    let rig = try rig(storage: directory.path, time: time, network: network)
    #expect(!rig.hasAccess(Rig.pro))
    time.setWall(milliseconds: right)
    network.set(.fine)
    try rig.refresh()
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("S025 past_due grants, the end of its grace is shown, and expired ends it") func pastDue() throws {
    let rig = try rig()
    let id = try #require(try rig.buy("plan_monthly")["membership"]?["id"])
    try rig.simulate(["action": "set_status", "membership_id": id, "status": "past_due"])
    try rig.refresh()
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.client.entitlements.elements.first?["rule"]?.string == "renewal_grace")
    #expect(rig.client.entitlements.elements.first?["ends_at"]?.integer != nil)
    try rig.simulate(["action": "set_status", "membership_id": id, "status": "expired"])
    try rig.refresh()
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("S026 offline grace only for what would renew") func grace() throws {
    let renewing = try rig()
    try renewing.buy("plan_monthly")
    let cancelled = try rig()
    let id = try #require(try cancelled.buy("plan_monthly")["membership"]?["id"])
    try cancelled.simulate(["action": "cancel_membership", "membership_id": id, "cancel_at_period_end": true])
    try cancelled.refresh()
    for rig in [renewing, cancelled] {
      rig.network.set(.offline)
      rig.advance(days: 29.9)
      #expect(rig.hasAccess(Rig.pro))
      rig.advance(days: 0.2)
    }
    #expect(renewing.hasAccess(Rig.pro))
    #expect(!cancelled.hasAccess(Rig.pro))
    renewing.advance(days: 4.8)
    #expect(renewing.hasAccess(Rig.pro))
    renewing.advance(days: 0.2)
    #expect(!renewing.hasAccess(Rig.pro))
  }

  @Test("Offline without an end: stale after the days, and over in strict mode", arguments: ["lenient", "strict"])
  func offlineLimit(mode: String) throws {
    let rig = try rig(offline: ["days": 3, "mode": JSON(mode)])
    try rig.buy("plan_lifetime")
    rig.network.set(.offline)
    rig.advance(days: 2.9)
    #expect(rig.hasAccess(Rig.pro))
    _ = rig.events()
    rig.advance(days: 0.2)
    #expect(rig.hasAccess(Rig.pro) == (mode == "lenient"))
    #expect(rig.changes("entitlements").count == 1)
    #expect(rig.client.entitlements.elements.first?["stale"]?.bool == true)
  }

  @Test("A renewal that the service knows of is seen by itself, soon after the period") func renewal() throws {
    let rig = try rig()
    try rig.buy("plan_monthly")
    let before = try end(rig)
    rig.advance(days: 30)
    rig.letTimePass(inStepsOf: 2_000) { (try? end(rig)) != before }
    #expect(try end(rig) > before)
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("S035 nothing reads the real clock") func injected() throws {
    let rig = try rig(time: ManualTime(wallMilliseconds: 4_000_000_000_000))
    try rig.buy("plan_days")
    let created = try #require(rig.client.memberships.elements.first?["created_at"]?.integer)
    #expect((4_000_000_000_000...4_000_000_100_000).contains(created))
    #expect((4_000_000_000_000...4_000_000_100_000).contains(try now(rig)))
  }
}
