import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// What survives: restarts, other processes, damage, full and read-only disks.
@Suite struct StorageTests {
  @Test("The device id and the user survive a restart; files are private") func restart() throws {
    let directory = TemporaryDirectory()
    let id: String
    do {
      let rig = try Rig(storage: directory.path)
      id = rig.client.deviceID
      try rig.result(of: rig.client.logIn("ada"))
    }
    let rig = try Rig(storage: directory.path)
    #expect(rig.client.deviceID == id)
    #expect(rig.client.appUserID == "ada")
    func mode(_ path: String) throws -> Int {
      try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }
    #expect(try mode(directory.path) == 0o700)
    for file in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
      #expect(try mode("\(directory.path)/\(file)") == 0o600, "\(file)")
    }
  }

  @Test("S069 one client sees what another wrote to the same directory, without network") func sharedDirectory() throws
  {
    let directory = TemporaryDirectory()
    let first = try Rig(storage: directory.path)
    let second = try Rig(storage: directory.path, time: first.time, network: first.network)
    #expect(first.client.deviceID == second.client.deviceID)
    second.network.set(.fine)
    _ = second.events()
    try first.buy()
    second.network.set(.offline)
    for _ in 0..<1_000 where !second.hasAccess(Rig.pro) { Thread.sleep(forTimeInterval: 0.005) }
    #expect(second.hasAccess(Rig.pro))
    // The answers change a moment before the event that tells of it.
    let event = try #require(second.client.nextEvent(timeoutMilliseconds: 5_000))
    #expect(event["what"]?.string == "entitlements")
    #expect(event["cause"]?.string == "another_process")
    first.client.logOut()
  }

  @Test("S069 a login and a logout elsewhere are seen too") func sharedIdentity() throws {
    let directory = TemporaryDirectory()
    let first = try Rig(storage: directory.path)
    let second = try Rig(storage: directory.path, time: first.time, network: first.network)
    try first.result(of: first.client.logIn("ada"))
    for _ in 0..<1_000 where second.client.appUserID == nil { Thread.sleep(forTimeInterval: 0.005) }
    #expect(second.client.appUserID == "ada")
    first.client.logOut()
    for _ in 0..<1_000 where second.client.appUserID != nil { Thread.sleep(forTimeInterval: 0.005) }
    #expect(second.client.appUserID == nil)
  }

  @Test(
    "S066 S075 a damaged file is set aside, and a new one begun",
    arguments: [
      Data("not a database, but long enough to be read as one, certainly".utf8), Data(repeating: 0, count: 8_192),
      Data(repeating: 0xFF, count: 100_000),
    ])
  func damaged(content: Data) throws {
    let directory = TemporaryDirectory()
    let id: String
    do { id = try Rig(storage: directory.path).client.deviceID }
    for suffix in ["-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: "\(directory.path)/kassa.db\(suffix)")
    }
    try content.write(to: URL(fileURLWithPath: "\(directory.path)/kassa.db"))
    let rig = try Rig(storage: directory.path, seed: 2)
    #expect(rig.client.deviceID != id)
    #expect(rig.diagnostics().contains("storage_reset"))
    try rig.buy()
    #expect(rig.hasAccess(Rig.pro))
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(files.contains { $0.hasPrefix("kassa.db.damaged-") })
  }

  @Test("S074 an empty file, and one that vanishes while the client runs") func vanished() throws {
    let directory = TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
    _ = FileManager.default.createFile(atPath: "\(directory.path)/kassa.db", contents: Data())
    let rig = try Rig(storage: directory.path)
    try rig.buy()
    for file in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
      try FileManager.default.removeItem(atPath: "\(directory.path)/\(file)")
    }
    try rig.refresh()
    #expect(rig.hasAccess(Rig.pro))
  }

  @Test("S075 a file of a later version is refused, and nothing of it is lost") func laterVersion() throws {
    let directory = TemporaryDirectory()
    do { _ = try Rig(storage: directory.path) }
    do {
      let database = try Database(path: "\(directory.path)/kassa.db")
      try database.script("PRAGMA user_version=999")
    }
    let problem = #expect(throws: KassaError.self) { try Rig(storage: directory.path) }
    #expect(problem?.code == .storage)
    #expect(problem?.message.contains("later version") == true)
  }

  /// As the first version of the library wrote it; it stays as it is.
  private static let firstVersion = """
    PRAGMA journal_mode=WAL;
    CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE memberships (
      scope TEXT NOT NULL, id TEXT NOT NULL, product_id TEXT NOT NULL, plan_id TEXT NOT NULL, status TEXT NOT NULL,
      created_at INTEGER NOT NULL, expires_at INTEGER, renewal_period_end INTEGER,
      cancel_at_period_end INTEGER NOT NULL, manage_url TEXT, receipt_id TEXT, device_id TEXT, app_user_id TEXT,
      nonce TEXT, buyer_id TEXT, confirmed_at INTEGER NOT NULL,
      PRIMARY KEY (scope, id)) WITHOUT ROWID;
    CREATE TABLE plans (scope TEXT PRIMARY KEY, list TEXT NOT NULL);
    CREATE TABLE listings (
      scope TEXT NOT NULL, app_user_id TEXT NOT NULL, confirmed_at INTEGER NOT NULL,
      PRIMARY KEY (scope, app_user_id)) WITHOUT ROWID;
    CREATE TABLE outbox (
      id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, kind TEXT NOT NULL, app_user_id TEXT NOT NULL,
      created_at INTEGER NOT NULL);
    CREATE TABLE attempts (
      nonce TEXT PRIMARY KEY, scope TEXT NOT NULL, plan_id TEXT NOT NULL, device_id TEXT NOT NULL, app_user_id TEXT,
      started_at INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO facts VALUES ('device_id', 'device-of-old'), ('app_user_id', 'ada');
    INSERT INTO memberships VALUES ('whop', 'mem_1', 'prod_pro', 'plan_lifetime', 'completed', 1790000000000, NULL, NULL,
      0, NULL, NULL, 'device-of-old', 'ada', NULL, NULL, 1790000000000);
    INSERT INTO listings VALUES ('whop', 'ada', 1790000000000);
    INSERT INTO outbox (scope, kind, app_user_id, created_at) VALUES ('whop', 'claim', 'ada', 1790000000000);
    PRAGMA user_version=1;
    """

  @Test("S077 what the first version wrote is read: who asks, what they have, and what the service has to hear")
  func firstVersion() throws {
    let directory = TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
    do { try Database(path: "\(directory.path)/kassa.db").script(Self.firstVersion) }
    let time = ManualTime(wallMilliseconds: Rig.start)
    let network = Network(time: time)
    network.set(.offline)
    for _ in 0..<2 {
      let rig = try Rig(storage: directory.path, time: time, network: network)
      #expect(rig.client.deviceID == "device-of-old")
      #expect(rig.client.appUserID == "ada")
      #expect(rig.hasAccess(Rig.pro))
      #expect(rig.client.pending?["writes"]?.elements.first?["kind"]?.string == "claim")
      #expect(rig.diagnostics().isEmpty)
      rig.close()
    }
  }

  @Test("S073 a place that cannot be used is said, not suffered", arguments: ["/proc/kassa", "/dev/null/kassa"])
  func unusable(path: String) throws {
    let problem = #expect(throws: KassaError.self) { try Rig(storage: path) }
    #expect(problem?.code == .storage)
    #expect(problem?.message.contains(path) == true)
  }

  @Test("S070 two clients, a hundred logins each, on one directory") func busy() throws {
    let directory = TemporaryDirectory()
    let first = try Rig(storage: directory.path)
    let second = try Rig(storage: directory.path, time: first.time, network: first.network)
    for number in 0..<100 {
      try first.result(of: first.client.logIn("user\(number)"))
      try second.result(of: second.client.logIn("other\(number)"))
    }
    #expect(first.diagnostics().isEmpty)
    #expect(second.diagnostics().isEmpty)
    // The user is the directory's, so the first client soon follows the second.
    for _ in 0..<1_000 where first.client.appUserID != "other99" { Thread.sleep(forTimeInterval: 0.005) }
    try first.buy()
    #expect(first.hasAccess(Rig.pro))
  }

  @Test("Without a name nothing is kept, and that is said once") func inMemory() throws {
    let options = try ClientOptions([:])
    try #require(options.storage == ":memory:")
    let client = try Client(options, assembly: Network(time: ManualTime(wallMilliseconds: Rig.start)).assembly)
    defer { client.close() }
    #expect(client.nextEvent(timeoutMilliseconds: 0)?["code"]?.string == "storage_in_memory")
    #expect(client.nextEvent(timeoutMilliseconds: 0) == nil)
  }

  @Test(
    "Options that cannot be",
    arguments: [
      (["app_id": "a/b"], "app_id must be"), (["app_id": ""], "app_id must be"), (["app_id": ".."], "app_id must be"),
      (["ap_id": "x"], "ap_id is not a known key; did you mean \"app_id\"?"), (["storage": ""], "storage must be"),
      (["thread": "main"], "thread must be one of"), (["app_id": 5], "app_id must be a string (got a number)"),
    ] as [(JSON, String)])
  func options(document: JSON, message: String) throws {
    let problem = #expect(throws: KassaError.self) { try ClientOptions(document) }
    #expect(problem?.code == .invalidArgument)
    #expect(problem?.message.hasPrefix(message) == true)
  }
}
