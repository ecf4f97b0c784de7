import KassaCore
import KassaJSON
import KassaPlatform

/// What survives the process: identity, the last answers of the service, logins and purchases that it has not heard
/// of or settled yet, and the trusted time. One SQLite file that several processes may share.
///
/// Used by one thread at a time: whoever opens the client, then the client's loop. Every write is one transaction; what was
/// written is on disk when the call returns.
final class ClientStorage: @unchecked Sendable {
  let database: Database
  private var dataVersion: Int64 = 0

  init(path: String) throws(DatabaseError) {
    database = try Database(path: path)
    try database.run("PRAGMA journal_mode=WAL") { _ in }
    database.keepLog()
    try database.script("PRAGMA synchronous=FULL")
    let found = try version()
    guard (0...StorageSchema.version).contains(found) else {
      throw DatabaseError(code: 0, message: "it was written by a later version of the library (schema \(found))")
    }
    if found < StorageSchema.version {
      try database.transaction { () throws(DatabaseError) in
        // Another process may have been quicker.
        for step in StorageSchema.steps.dropFirst(Int(clamping: try version())) { try database.script(step) }
        try database.script("PRAGMA user_version=\(StorageSchema.version)")
      }
    }
    // The loop must not stand still for long; a write takes well under a millisecond.
    database.setBusyTimeout(milliseconds: 250)
    dataVersion = try readDataVersion()
  }

  private func version() throws(DatabaseError) -> Int64 {
    try database.run("PRAGMA user_version") { $0.integer(0) }.first ?? 0
  }

  private func readDataVersion() throws(DatabaseError) -> Int64 {
    try database.run("PRAGMA data_version") { $0.integer(0) }.first ?? 0
  }

  /// Whether another connection has written since this was last asked.
  func hasForeignChanges() -> Bool {
    guard let version = try? readDataVersion(), version != dataVersion else { return false }
    dataVersion = version
    return true
  }

  // MARK: Identity and time

  /// The id of this installation; made on first use, whichever process is first.
  func deviceID(orElse new: () -> String) throws(DatabaseError) -> String {
    if let id = try fact("device_id"), !id.isEmpty { return id }
    try database.run("INSERT OR IGNORE INTO facts VALUES ('device_id', ?)", [.text(new())])
    return try fact("device_id") ?? ""
  }

  func appUserID() throws(DatabaseError) -> AppUserID? { try fact("app_user_id").map(AppUserID.init) }

  func savedTime() throws(DatabaseError) -> Int64? {
    try database.run("SELECT value FROM facts WHERE name = 'trusted_time'") { $0.integer(0) }.first
  }

  func save(time: Int64) throws(DatabaseError) {
    try database.run("INSERT OR REPLACE INTO facts VALUES ('trusted_time', ?)", [.integer(time)])
  }

  func fact(_ name: String) throws(DatabaseError) -> String? {
    try database.run("SELECT value FROM facts WHERE name = ?", [.text(name)]) { $0.optionalText(0) }.first ?? nil
  }

  func setAppUserID(_ appUserID: AppUserID?) throws(DatabaseError) {
    if let appUserID {
      try database.run("INSERT OR REPLACE INTO facts VALUES ('app_user_id', ?)", [.text(appUserID.text)])
    } else {
      try database.run("DELETE FROM facts WHERE name = 'app_user_id'")
    }
  }

  /// The user who is logged in, and the claims that logins owe to the service, in one step. Returns their numbers.
  func save(appUserID: AppUserID?, claims: [PendingClaim], scope: String?) throws(DatabaseError) -> [Int64] {
    try database.transaction { () throws(DatabaseError) -> [Int64] in
      try setAppUserID(appUserID)
      guard let scope else { return [] }
      var numbers: [Int64] = []
      for claim in claims {
        numbers += try database.run(
          "INSERT INTO outbox (scope, kind, app_user_id, created_at) VALUES (?, 'claim', ?, ?) RETURNING id",
          [.text(scope), .text(claim.appUserID.text), .integer(claim.loggedInAt)]
        ) { $0.integer(0) }
      }
      return numbers
    }
  }

  // MARK: Answers of the service

  struct Cache {
    var memberships: [String: Membership]
    var receipts: [String: Receipt]
    var plans: String?
    var listedAt: [AppUserID?: Int64]
    var pendingClaims: [PendingClaim]
    var attempts: [PurchaseAttempt]
    var anonymousID: DistinctID?
    var person: KnownPerson?
    var catalogue: StoredCatalogue?
  }

  /// - Parameter user: who is logged in.
  func load(scope name: String, as user: AppUserID?) throws(DatabaseError) -> Cache {
    let scope: [DatabaseValue] = [.text(name)]
    var memberships: [String: Membership] = [:], words = Words()
    let count = try database.run("SELECT count(*) FROM memberships WHERE scope = ?", scope) { $0.integer(0) }.first
    memberships.reserveCapacity(Int(clamping: count ?? 0))
    try database.run(
      """
      SELECT id, product_id, plan_id, status, created_at, expires_at, renewal_period_end, cancel_at_period_end,
        manage_url, receipt_id, device_id, app_user_id, nonce, buyer_id, confirmed_at
      FROM memberships WHERE scope = ?
      """, scope
    ) { row in
      let membership = Self.membership(row, &words)
      memberships[membership.id] = membership
    }
    let plans = try database.run("SELECT list FROM plans WHERE scope = ?", scope) { $0.text(0) }.first
    let listings = try database.run("SELECT app_user_id, confirmed_at FROM listings WHERE scope = ?", scope) {
      ($0.text(0).isEmpty ? nil : AppUserID($0.text(0)), $0.integer(1))
    }
    let attempts = try database.run(
      "SELECT nonce, plan_id, device_id, app_user_id, started_at FROM attempts WHERE scope = ?", scope
    ) { row in
      PurchaseAttempt(
        planID: row.text(1),
        identity: Identity(deviceID: row.text(2), appUserID: row.optionalText(3).map(AppUserID.init)),
        nonce: row.text(0), startedAt: row.integer(4))
    }
    let anonymousID = try anonymousID()
    let asking = user.map { DistinctID($0.text) } ?? anonymousID
    return Cache(
      memberships: memberships, receipts: try receipts(scope: name), plans: plans,
      listedAt: Dictionary(listings) { $1 }, pendingClaims: try claims(scope: name), attempts: attempts,
      anonymousID: anonymousID,
      person: try asking.map { id throws(DatabaseError) in
        try person(id, scope: name).map {
          KnownPerson($0.person, as: id, fetchedAt: $0.fetchedAt, isFromNetwork: false)
        }
      } ?? nil,
      catalogue: try catalogue(scope: name))
  }

  /// The columns of which many rows hold the same text: each text is made once.
  private struct Words {
    var product = "", plan = "", status = "", device: String?, user: String?, buyer: String?
  }

  private static func membership(_ row: Database.Row, _ words: inout Words) -> Membership {
    row.text(1, unlessSameAs: &words.product)
    row.text(2, unlessSameAs: &words.plan)
    row.text(3, unlessSameAs: &words.status)
    row.text(10, unlessSameAs: &words.device)
    row.text(11, unlessSameAs: &words.user)
    row.text(13, unlessSameAs: &words.buyer)
    return Membership(
      id: row.text(0), productID: words.product, planID: words.plan, status: MembershipStatus(words.status),
      createdAt: row.integer(4), expiresAt: row.optionalInteger(5), renewalPeriodEnd: row.optionalInteger(6),
      cancelAtPeriodEnd: row.integer(7) != 0, manageURL: row.optionalText(8), receiptID: row.optionalText(9),
      deviceID: words.device, appUserID: words.user.map(AppUserID.init), nonce: row.optionalText(12),
      buyerID: words.buyer, confirmedAt: row.integer(14), isFromNetwork: false)
  }

  // MARK: Derived answers

  /// What the memberships and claims come to for one user under one policy. The schema's triggers remove it as soon as
  /// one of those changes, whoever changes it, so it never says anything else than they do.
  struct KeptAnswers {
    var list: AnswerList
    var appUserID: AppUserID?
    var policy: EntitlementPolicy
    /// When the service last listed everything for this user, or for nobody.
    var listedAt: Int64
  }

  struct EarlyAnswers {
    var list: AnswerList
    var listedAt: Int64
    var hasPlans: Bool
  }

  func earlyAnswers(
    scope: String, appUserID: AppUserID?, policy: EntitlementPolicy
  ) throws(DatabaseError) -> EarlyAnswers? {
    try database.run(
      """
      SELECT list, listed_at, EXISTS (SELECT 1 FROM plans WHERE scope = ?1) FROM answers
      WHERE scope = ?1 AND app_user_id IS ?2 AND policy = ?3
      """, [.text(scope), DatabaseValue(appUserID?.text), .text(policy.text)]
    ) { row in
      AnswerList(bytes: row.blob(0)).map {
        EarlyAnswers(list: $0, listedAt: row.integer(1), hasPlans: row.integer(2) != 0)
      }
    }.first ?? nil
  }

  /// Keeps them if they are not there; unless another process has changed something that they do not know of.
  func keep(_ answers: KeptAnswers, scope: String) throws(DatabaseError) {
    let known = try database.run(
      "SELECT 1 FROM answers WHERE scope = ?1 AND app_user_id IS ?2 AND policy = ?3",
      [.text(scope), DatabaseValue(answers.appUserID?.text), .text(answers.policy.text)]
    ) { _ in true }
    guard known.isEmpty else { return }
    try database.transaction { () throws(DatabaseError) in try insert(answers, scope) }
  }

  func insert(_ answers: KeptAnswers, _ scope: String) throws(DatabaseError) {
    guard try readDataVersion() == dataVersion else { return }
    try database.run(
      "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)",
      [
        .text(scope), DatabaseValue(answers.appUserID?.text), .text(answers.policy.text), .integer(answers.listedAt),
        .blob(answers.list.bytes),
      ])
  }

  // MARK: Learning

  /// Saves rows, when the service listed everything for a user, or for nobody, and what all rows come to now.
  func save(
    memberships: [Membership], listing: (appUserID: AppUserID?, at: Int64)? = nil, answers: KeptAnswers? = nil,
    scope: String
  ) throws(DatabaseError) {
    try database.transaction { () throws(DatabaseError) in
      for membership in memberships { try save(membership, scope: scope) }
      if let listing { try save(listing, scope) }
      if let answers { try insert(answers, scope) }
    }
  }

  /// When the service listed everything for a user, or for nobody.
  func save(_ listing: (appUserID: AppUserID?, at: Int64), _ scope: String) throws(DatabaseError) {
    try database.run(
      "INSERT OR REPLACE INTO listings VALUES (?, ?, ?)",
      [.text(scope), .text(listing.appUserID?.text ?? ""), .integer(listing.at)])
  }

  private func save(_ membership: Membership, scope: String) throws(DatabaseError) {
    try database.run(
      "INSERT OR REPLACE INTO memberships VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .text(scope), .text(membership.id), .text(membership.productID), .text(membership.planID),
        .text(membership.status.raw), .integer(membership.createdAt), DatabaseValue(membership.expiresAt),
        DatabaseValue(membership.renewalPeriodEnd), .integer(membership.cancelAtPeriodEnd ? 1 : 0),
        DatabaseValue(membership.manageURL), DatabaseValue(membership.receiptID), DatabaseValue(membership.deviceID),
        DatabaseValue(membership.appUserID?.text), DatabaseValue(membership.nonce), DatabaseValue(membership.buyerID),
        .integer(membership.confirmedAt),
      ])
  }

  func save(plans: String, scope: String) throws(DatabaseError) {
    try database.run("INSERT OR REPLACE INTO plans VALUES (?, ?)", [.text(scope), .text(plans)])
  }

  // MARK: What is still open

  /// Oldest first.
  func claims(scope: String) throws(DatabaseError) -> [PendingClaim] {
    try database.run(
      "SELECT id, app_user_id, created_at FROM outbox WHERE scope = ? AND kind = 'claim' ORDER BY id", [.text(scope)]
    ) { PendingClaim(id: $0.integer(0), appUserID: AppUserID($0.text(1)), loggedInAt: $0.integer(2)) }
  }

  /// A claim that the service has accepted.
  func removeClaim(_ id: Int64) throws(DatabaseError) {
    try database.run("DELETE FROM outbox WHERE id = ?", [.integer(id)])
  }

  func save(attempt: PurchaseAttempt, scope: String) throws(DatabaseError) {
    try database.run(
      "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?, ?)",
      [
        .text(attempt.nonce), .text(scope), .text(attempt.planID), .text(attempt.identity.deviceID),
        DatabaseValue(attempt.identity.appUserID?.text), .integer(attempt.startedAt),
      ])
  }

  func removeAttempt(_ nonce: String) throws(DatabaseError) {
    try database.run("DELETE FROM attempts WHERE nonce = ?", [.text(nonce)])
  }
}

extension EntitlementPolicy {
  /// Two policies with the same text give the same answers.
  fileprivate var text: String {
    let products = productIDs.map { JSON.array($0.sorted().map { JSON($0) }) }
    let environments = JSON.array(environments.map(\.rawValue).sorted().map { JSON($0) })
    return JSON.array([JSON(offlineMilliseconds), JSON(isStrict), environments, products ?? .null, JSON(bundleID)])
      .text()
  }
}
