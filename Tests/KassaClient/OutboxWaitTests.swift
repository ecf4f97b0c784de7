import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// How long the outbox waits when the service asks it to, and what cannot be sent at all.
@Suite struct OutboxWaitTests {
  private static let identify = "/api/v1/sdk/identify", attributes = "/api/v1/sdk/person/traits"

  private func count(_ route: String, _ booth: Booth) -> Int {
    booth.rig.network.requests.filter { $0.url.hasSuffix(route) }.count
  }

  private func limit(_ booth: Booth, _ route: String, seconds: Int, form: String = "seconds", times: Int = 1) throws {
    try booth.rig.simulate([
      "action": "fault", "kind": "rate_limited", "retry_after": JSON(seconds), "retry_form": JSON(form),
      "route": JSON(route), "times": JSON(times),
    ])
  }

  @Test("S101 S102 A Retry-After that is over at once shortens no wait", arguments: ["seconds", "date"])
  func retryAfterNow(form: String) throws {
    let booth = try Booth()
    let transaction = try booth.sold("1")
    try limit(booth, Booth.sync, seconds: 0, form: form, times: 100)
    #expect(try booth.buy("pro_monthly", transaction)["synced"]?.bool == false)
    // Within 10 seconds: at once, and after 1, 2 and 4 seconds more.
    #expect((3...5).contains(booth.sent().count))
    #expect(booth.client.pending?["transactions"]?.elements.first?["attempts"]?.integer ?? 0 >= 3)
  }

  @Test("S101 Retry-After of a log-in holds what is written of people, over a restart too")
  func retryAfterOfLogIn() throws {
    let directory = TemporaryDirectory()
    let booth = try Booth(storage: directory.path)
    try limit(booth, Self.identify, seconds: 600)
    #expect(try booth.logIn("ada")["deferred"]?.bool == true)
    #expect(try booth.rig.result(of: booth.client.setAttributes(["a": 1], [:]))["deferred"]?.bool == true)
    #expect(try booth.rig.result(of: booth.client.syncPendingWork())["completed"]?.bool == false)
    booth.rig.letTimePass(inStepsOf: 10_000) { booth.rig.time.wallMilliseconds > Rig.start + 300_000 }
    #expect(count(Self.identify, booth) == 1)
    #expect(count(Self.attributes, booth) == 0)
    booth.rig.close()
    let again = try Booth(storage: directory.path, after: booth)
    again.rig.letTimePass(inStepsOf: 10_000) { again.rig.time.wallMilliseconds > Rig.start + 500_000 }
    #expect(count(Self.identify, again) == 1)
    again.waitLonger { count(Self.attributes, again) == 1 }
    again.waitUntil { again.client.pending?["writes"]?.elements.isEmpty == true }
    #expect(again.rig.time.wallMilliseconds - Rig.start < 1_200_000)
    #expect(count(Self.identify, again) == 2)
    #expect(again.client.pending?["writes"]?.elements.isEmpty == true)
  }

  @Test("S101 Retry-After of attributes is kept") func retryAfterOfAttributes() throws {
    let booth = try Booth()
    try limit(booth, Self.attributes, seconds: 600)
    #expect(try booth.rig.result(of: booth.client.setAttributes(["a": 1], [:]))["deferred"]?.bool == true)
    booth.rig.letTimePass(inStepsOf: 10_000) { booth.rig.time.wallMilliseconds > Rig.start + 500_000 }
    #expect(count(Self.attributes, booth) == 1)
    booth.waitLonger { count(Self.attributes, booth) == 2 }
    #expect(count(Self.attributes, booth) == 2)
  }

  @Test("S075 What waits of a person and cannot be read is reported once, and does not count as done before")
  func unreadableWrites() throws {
    let directory = TemporaryDirectory()
    let before = try Booth(storage: directory.path, isEnabled: false)
    try Database(path: "\(directory.path)/kassa.db").script(
      """
      INSERT INTO outbox (scope, kind, app_user_id, created_at, content) VALUES
        ('voidhash', 'attributes', 'ada', 0, '{"set":'), ('voidhash', 'identify', 'bob', 0, '{}'),
        ('voidhash', 'unheard of', 'eve', 0, NULL);
      """)
    #expect(before.client.pending?["writes"]?.elements.count == 3)
    #expect(try before.rig.result(of: before.client.syncPendingWork())["completed"]?.bool == false)
    before.rig.close()
    let booth = try Booth(storage: directory.path, after: before)
    #expect(try booth.rig.result(of: booth.client.setAttributes(["a": 1], [:]))["deferred"]?.bool == false)
    #expect(try booth.rig.result(of: booth.client.syncPendingWork())["completed"]?.bool == true)
    let dropped = booth.rig.events().filter { $0["code"]?.string == "queue_record_dropped" }
    #expect(dropped.compactMap { $0["details"]?["kind"]?.string } == ["attributes", "identify", "unheard of"])
    #expect(dropped.compactMap { $0["details"]?["distinct_id"]?.string } == ["ada", "bob", "eve"])
    booth.rig.close()
    let again = try Booth(storage: directory.path, after: booth)
    try again.rig.result(of: again.client.syncPendingWork())
    #expect(!again.rig.diagnostics().contains("queue_record_dropped"))
  }
}
