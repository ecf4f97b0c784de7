import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// The first answers after a start, from the small list that is kept beside the memberships.
@Suite struct EarlyAnswersTests {
  /// A directory in which somebody bought something, and a client that was opened there offline. Its clock stands
  /// still, so by itself it reads no more than the list.
  private struct Restart {
    let directory = TemporaryDirectory()
    let rig: Rig

    init(_ wishes: Rig.Wishes = .init(), before: Rig.Wishes = .init(), change: (Database) throws -> Void = { _ in })
      throws
    {
      let time: ManualTime, network: Network
      do {
        let first = try Rig(before, storage: directory.path)
        try first.buy()
        (time, network) = (first.time, first.network)
      }
      try change(Database(path: "\(directory.path)/kassa.db"))
      network.set(.offline)
      rig = try Rig(wishes, storage: directory.path, time: time, network: network, configure: false)
      _ = rig.client.configure(rig.configuration)
    }
  }

  @Test("Access and its event are there at once; the rest follows when it is asked for, without a second event")
  func restart() throws {
    let rig = try Restart().rig
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.isSubscribed)
    #expect(rig.changes().compactMap { $0["what"]?.string } == ["entitlements", "plans"])
    let revision = rig.client.revision
    #expect(rig.client.memberships.elements.count == 1)
    #expect(!rig.client.plans.elements.isEmpty)
    #expect(rig.client.explain(Rig.pro)["reason"]?.string == "granted")
    rig.settle()
    #expect(rig.changes().isEmpty)
    #expect(rig.client.revision == revision)
  }

  @Test("Nothing but the list is read for it, and if the disk then refuses the rest, the answers stand")
  func unreadable() throws {
    let rig = try Restart(change: { try $0.script("DROP TABLE memberships") }).rig
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.client.memberships.elements.isEmpty)
    #expect(rig.diagnostics() == ["storage_failed"])
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test(
    "Who changes a row or a claim, in whatever way, takes the list away",
    arguments: [
      "UPDATE memberships SET status = 'expired'", "DELETE FROM memberships",
      "INSERT OR REPLACE INTO memberships SELECT scope, id, product_id, plan_id, 'expired', created_at, expires_at, "
        + "renewal_period_end, cancel_at_period_end, manage_url, receipt_id, device_id, app_user_id, nonce, buyer_id, "
        + "confirmed_at FROM memberships",
      "INSERT INTO outbox (scope, kind, app_user_id, created_at) VALUES ('whop', 'claim', 'ada', 9000000000000)",
      "UPDATE facts SET value = 'ada' WHERE name = 'app_user_id'; INSERT INTO facts VALUES ('app_user_id', 'ada')",
    ])
  func changed(sql: String) throws {
    let rig = try Restart(change: { try $0.script(sql) }).rig
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("It counts only under the policy that it was made for")
  func otherPolicy() throws {
    let elsewhere = Rig.Wishes(productIDs: ["prod_elsewhere"])
    #expect(try !Restart(elsewhere).rig.hasAccess(Rig.pro))
    #expect(try Restart(before: .init(productIDs: [Rig.pro])).rig.hasAccess(Rig.pro))
  }

  @Test("A list that is not one is passed over", arguments: ["x''", "x'01ff'", "'text'", "zeroblob(100)"])
  func damaged(list: String) throws {
    let rig = try Restart(change: { try $0.script("UPDATE answers SET list = \(list)") }).rig
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("Its grants end when they end")
  func ends() throws {
    let rig = try Restart().rig
    rig.time.advance(milliseconds: 60 * 86_400_000)
    #expect(!rig.hasAccess(Rig.pro))
  }

  @Test("A login at that moment takes the guest's purchases along")
  func login() throws {
    let rig = try Restart().rig
    _ = rig.client.logIn("ada")
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.client.memberships.elements.first?["is_claimed"] == true)
  }

  @Test("A logout at that moment leaves what nobody has claimed")
  func logout() throws {
    let rig = try Restart().rig
    rig.client.logOut()
    #expect(rig.hasAccess(Rig.pro))
    #expect(rig.changes("entitlements").count == 1)
  }

  @Test("The list is read back as it was written, and no shorter")
  func bytes() throws {
    var list = AnswerList()
    #expect(AnswerList(bytes: list.bytes) == list)
    list.isAnythingVisible = true
    list.grants = [
      .init(id: "prod_1", endsAt: .max), .init(id: "", endsAt: -1), .init(id: "été\n", endsAt: 1),
    ]
    list.perks = [.init(id: "premium", endsAt: 2)]
    #expect(AnswerList(bytes: list.bytes) == list)
    #expect(AnswerList(bytes: []) == nil)
    let lengths = (1..<list.bytes.count).filter { AnswerList(bytes: Array(list.bytes.prefix($0))) != nil }
    #expect(lengths.isEmpty)
  }
}
