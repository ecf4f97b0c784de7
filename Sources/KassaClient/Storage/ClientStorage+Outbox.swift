import KassaCore
import KassaPlatform

/// The outbox's rows: receipts on their way to the service, and what became of them.
///
/// A row outlives its acceptance: it says that the service has the receipt already, and whether the host finishes the
/// transaction, which holds for ever.
extension ClientStorage {
  /// A receipt, and what became of it.
  struct ReceiptRow {
    var id: ReceiptID
    var receipt: OutgoingReceipt
    var isAccepted: Bool
    var isFinished: Bool
    /// Grows each time there is something new to tell the service: what comes of an older sending is not of this one.
    var revision: Int64
    /// What the store said, without its proof; nil where a report gave the id alone.
    var transaction: StoreTransaction?
  }

  private static let columns = """
    number, store, id, content, product_slug, purchase_token, owner, restore_owner, is_restore, is_host_owned, attempts,
    available_at, refused_at, accepted_at, is_finished, revision
    """

  private static func row(_ row: Database.Row) -> ReceiptRow? {
    guard let platform = StoreTransaction.Platform(rawValue: row.text(1)) else { return nil }
    let transaction = row.optionalText(3).flatMap(StoredReceipts.decode)
    let receipt = OutgoingReceipt(
      number: row.integer(0), platform: platform, transactionID: transaction?.id ?? row.text(2),
      originalID: transaction?.originalID,
      storeProductID: transaction?.productID, productSlug: row.optionalText(4), purchaseToken: row.optionalText(5),
      environment: transaction?.environment, purchasedAt: transaction?.purchasedAt,
      quantity: transaction?.quantity ?? 1, owner: DistinctID(row.text(6)),
      restoreOwner: row.optionalText(7).map(DistinctID.init), isRestore: row.integer(8) != 0,
      isHostOwned: row.integer(9) != 0, attempts: Int(clamping: min(row.integer(10), 1 << 20)),
      availableAt: row.integer(11),
      refusedAt: row.optionalInteger(12))
    return ReceiptRow(
      id: ReceiptID(platform, row.text(2)), receipt: receipt, isAccepted: !row.isNull(13),
      isFinished: row.integer(14) != 0,
      revision: row.integer(15), transaction: transaction)
  }

  // MARK: Adding

  /// Puts a receipt into the queue, if it is not known. One that is known keeps its place, its owner and its retries; but
  /// it becomes the host's when the host reports it.
  ///
  /// Returns the name under which it is kept.
  @discardableResult
  func add(
    _ receipt: OutgoingReceipt, _ transaction: StoreTransaction?, scope: String
  ) throws(DatabaseError) -> ReceiptID {
    let id = try rowID(of: receipt, transaction, scope: scope)
    // Without RETURNING, for which SQLite opens a table of its own.
    try database.run(
      """
      INSERT INTO outgoing_receipts (scope, store, id, content, product_slug, purchase_token, owner, is_restore,
        is_host_owned, number, attempts, available_at, is_finished)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
        (SELECT coalesce(max(number), 0) + 1 FROM outgoing_receipts WHERE scope = ?1 AND accepted_at IS NULL), 0, 0, 0)
      ON CONFLICT (scope, store, id) DO UPDATE SET is_host_owned = max(is_host_owned, excluded.is_host_owned),
        content = coalesce(content, excluded.content), product_slug = coalesce(product_slug, excluded.product_slug)
      """,
      [
        .text(scope), .text(receipt.platform.rawValue), .text(id), DatabaseValue(transaction.map(Self.content)),
        DatabaseValue(receipt.productSlug), DatabaseValue(receipt.purchaseToken), .text(receipt.owner.text),
        .integer(receipt.isRestore ? 1 : 0), .integer(receipt.isHostOwned ? 1 : 0),
      ])
    return ReceiptID(receipt.platform, id)
  }

  /// Under which id a receipt is kept. Of Google's orders a report names no product, while the store does; both are about
  /// one purchase, so whichever came first gives the row its id.
  private func rowID(
    of receipt: OutgoingReceipt, _ transaction: StoreTransaction?, scope: String
  ) throws(DatabaseError) -> String {
    guard receipt.platform == .google else { return transaction?.idInStore ?? receipt.transactionID }
    if let transaction { return try receiptRow(of: transaction, scope: scope)?.id.text ?? transaction.idInStore }
    let order = receipt.transactionID
    let captured = try database.run(
      "SELECT id FROM outgoing_receipts WHERE scope = ?1 AND store = 'google' AND id > ?2 || ' ' AND id < ?2 || '!'",
      [.text(scope), .text(order)]
    ) { $0.text(0) }
    guard let first = captured.first else { return order }
    // The host finishes the order as a whole.
    for id in captured.dropFirst() where receipt.isHostOwned {
      try database.run(
        "UPDATE outgoing_receipts SET is_host_owned = 1 WHERE scope = ? AND store = 'google' AND id = ?",
        [.text(scope), .text(id)])
    }
    return first
  }

  /// The service is told again what it knows: the transaction was refunded, or a restore asks for it. `owner` is whose it
  /// is from now on, once an older capture that still waits has been delivered. What has changed is finished again, what
  /// is only restored is not (Voidhash's SDK for iOS, `PurchaseOrchestrator`).
  @discardableResult
  func addAgain(
    _ receipt: OutgoingReceipt, _ transaction: StoreTransaction?, scope: String
  ) throws(DatabaseError) -> ReceiptID? {
    try database.transaction { () throws(DatabaseError) in try requeue(receipt, transaction, scope: scope) }
  }

  /// The same as part of a larger step.
  @discardableResult
  func requeue(
    _ receipt: OutgoingReceipt, _ transaction: StoreTransaction?, scope: String
  ) throws(DatabaseError) -> ReceiptID? {
    let id = try add(receipt, transaction, scope: scope)
    guard let known = try receiptRow(id, scope: scope) else { return nil }
    let content = DatabaseValue((transaction ?? known.transaction).map(Self.content))
    let isRestore = DatabaseValue.integer(receipt.isRestore ? 1 : 0)
    if known.isAccepted {
      try database.run(
        """
        UPDATE outgoing_receipts SET
          number = (SELECT coalesce(max(number), 0) + 1 FROM outgoing_receipts
            WHERE scope = ?1 AND accepted_at IS NULL),
          owner = ?4, restore_owner = NULL, is_restore = ?5, content = ?6, attempts = 0, available_at = 0,
          refused_at = NULL, accepted_at = NULL, is_finished = is_finished * ?5, revision = revision + 1
        WHERE scope = ?1 AND store = ?2 AND id = ?3
        """, Self.key(id, scope) + [.text(receipt.owner.text), isRestore, content])
    } else {
      let isOther = known.receipt.owner != receipt.owner
      try database.run(
        """
        UPDATE outgoing_receipts SET restore_owner = ?4, is_restore = max(is_restore, ?5), content = ?6, attempts = 0,
          available_at = 0, refused_at = NULL, is_finished = is_finished * ?5, revision = revision + 1
        WHERE scope = ?1 AND store = ?2 AND id = ?3
        """, Self.key(id, scope) + [DatabaseValue(isOther ? receipt.owner.text : nil), isRestore, content])
    }
    return known.id
  }

  /// Of which services and accounts something waits.
  func outboxScopes() throws(DatabaseError) -> [String] {
    try database.run(
      "SELECT scope FROM outgoing_receipts WHERE accepted_at IS NULL UNION SELECT scope FROM outbox ORDER BY scope"
    ) { $0.text(0) }
  }

  // MARK: Reading

  /// What is kept of a transaction; for Google also what was reported of its order.
  func receiptRow(of transaction: StoreTransaction, scope: String) throws(DatabaseError) -> ReceiptRow? {
    if let row = try receiptRow(transaction.receiptID, scope: scope) { return row }
    guard transaction.platform == .google else { return nil }
    return try receiptRow(ReceiptID(.google, transaction.id), scope: scope)
  }

  func receiptRow(_ id: ReceiptID, scope: String) throws(DatabaseError) -> ReceiptRow? {
    try database.run(
      "SELECT \(Self.columns) FROM outgoing_receipts WHERE scope = ? AND store = ? AND id = ?",
      [.text(scope), .text(id.platform.rawValue), .text(id.text)], row: Self.row
    ).first ?? nil
  }

  /// Receipts that wait, in the order of capture, from behind `number` on: those that are due by `now`, those that only
  /// wait for another try with `retriesToo`, and with `restoresOnly` none that no user asked for. No wait is longer than
  /// that after a refusal: what is due later was put off by a clock that has been corrected since.
  func waitingReceipts(
    after number: Int64 = 0, dueBy now: Int64 = .max, retriesToo: Bool = false, restoresOnly: Bool = false, limit: Int,
    scope: String
  ) throws(DatabaseError) -> [ReceiptRow] {
    try database.run(
      """
      SELECT \(Self.columns) FROM outgoing_receipts
      WHERE scope = ?1 AND accepted_at IS NULL AND number > ?2 AND is_restore >= ?4
        AND (available_at <= ?3 OR available_at > ?7 OR (?5 AND refused_at IS NULL)) AND store IN ('apple', 'google')
      ORDER BY number LIMIT ?6
      """,
      [
        .text(scope), .integer(number), .integer(now), .integer(restoresOnly ? 1 : 0), .integer(retriesToo ? 1 : 0),
        .integer(Int64(limit)), .integer(now.adding(Constants.refusedReceiptMilliseconds)),
      ], row: Self.row
    ).compactMap(\.self)
  }

  /// The latest transaction of each series that one owner has receipts of in a store, apart from what was consumed.
  func latestTransactions(
    of owner: DistinctID, in platform: StoreTransaction.Platform, scope: String
  ) throws(DatabaseError) -> [StoreTransaction] {
    // With max() the other columns are of the row that has it (SQLite, "Bare columns in an aggregate query").
    try database.run(
      """
      SELECT content, max(json_extract(content, '$.purchased_at')) FROM outgoing_receipts
      WHERE scope = ?1 AND store = ?2 AND coalesce(restore_owner, owner) = ?3
        AND json_extract(content, '$.kind') <> 'consumable'
      GROUP BY json_extract(content, '$.original_id'),
        CASE store WHEN 'google' THEN json_extract(content, '$.product_id') END
      ORDER BY 2
      """,
      [.text(scope), .text(platform.rawValue), .text(owner.text)]
    ) { StoredReceipts.decode($0.text(0)) }.compactMap(\.self)
  }

  func waitingReceiptCount(scope: String) throws(DatabaseError) -> Int64 {
    try database.run(
      "SELECT count(*) FROM outgoing_receipts INDEXED BY waiting_receipts WHERE scope = ? AND accepted_at IS NULL",
      [.text(scope)]
    ) { $0.integer(0) }.first ?? 0
  }

  /// When the first of the waiting receipts may be sent; nil when none waits.
  func nextReceiptTime(scope: String, now: Int64) throws(DatabaseError) -> Int64? {
    // Of a long queue most have never been tried: one that is due is soon found, the earliest only by reading all. SQLite
    // would rather look for the scope alone, among all that were ever accepted.
    let due = try database.run(
      """
      SELECT available_at FROM outgoing_receipts INDEXED BY waiting_receipts
      WHERE scope = ? AND accepted_at IS NULL AND available_at <= ? LIMIT 1
      """,
      [.text(scope), .integer(now)]
    ) { $0.integer(0) }.first
    if let due { return due }
    return try database.run(
      "SELECT min(available_at) FROM outgoing_receipts INDEXED BY waiting_receipts WHERE scope = ? AND accepted_at IS NULL",
      [.text(scope)]
    ) { $0.optionalInteger(0) }.first ?? nil
  }

  // MARK: What became of them

  /// What came of sending receipts, in one step.
  enum ReceiptOutcome {
    case accepted(at: Int64)
    /// Not sent before `until`, with so many attempts by then; refused for good at `refusedAt`.
    case postponed(until: Int64, attempts: Int, refusedAt: Int64?)

    var isAcceptance: Bool { if case .accepted = self { true } else { false } }
  }

  func save(_ outcomes: [(row: ReceiptRow, outcome: ReceiptOutcome)], scope: String) throws(DatabaseError) {
    guard !outcomes.isEmpty else { return }
    try database.transaction { () throws(DatabaseError) in
      for (row, outcome) in outcomes { try save(outcome, of: row, scope: scope) }
    }
  }

  /// Unless there is something new to tell since; then only a restore that waited behind the capture goes on.
  private func save(_ outcome: ReceiptOutcome, of row: ReceiptRow, scope: String) throws(DatabaseError) {
    let key = Self.key(row.id, scope) + [.text(row.receipt.owner.text), .integer(row.revision)]
    switch outcome {
    case .accepted(let at):
      // The restore for somebody else that waited behind the capture takes its place.
      try database.run(
        """
        UPDATE outgoing_receipts SET
          accepted_at = CASE WHEN restore_owner IS NULL THEN ?6 END,
          is_restore = restore_owner IS NOT NULL,
          owner = coalesce(restore_owner, owner), restore_owner = NULL, attempts = 0, available_at = 0,
          refused_at = NULL
        WHERE scope = ?1 AND store = ?2 AND id = ?3 AND owner = ?4 AND (revision = ?5 OR restore_owner IS NOT NULL)
        """, key + [.integer(at)])
    case .postponed(let until, let attempts, let refusedAt):
      try database.run(
        """
        UPDATE outgoing_receipts SET attempts = ?6, available_at = ?7, refused_at = ?8, is_restore = 0
        WHERE scope = ?1 AND store = ?2 AND id = ?3 AND owner = ?4 AND revision = ?5
        """, key + [.integer(Int64(attempts)), .integer(until), DatabaseValue(refusedAt)])
    }
  }

  /// The store knows that it was delivered, unless there is something new to tell since.
  func markFinished(_ id: ReceiptID, revision: Int64, scope: String) throws(DatabaseError) {
    try database.run(
      "UPDATE outgoing_receipts SET is_finished = 1 WHERE scope = ?1 AND store = ?2 AND id = ?3 AND revision = ?4",
      Self.key(id, scope) + [.integer(revision)])
  }

  private static func key(_ id: ReceiptID, _ scope: String) -> [DatabaseValue] {
    [.text(scope), .text(id.platform.rawValue), .text(id.text)]
  }

  /// Receipts that the service refused in an earlier run are offered again.
  func releaseRefusedReceipts(scope: String) throws(DatabaseError) {
    try database.run(
      """
      UPDATE outgoing_receipts SET available_at = 0, refused_at = NULL
      WHERE scope = ? AND accepted_at IS NULL AND refused_at IS NOT NULL
      """, [.text(scope)])
  }

  /// Forgets what the service took long ago and the store lists no more: what was consumed, and what has ended.
  func forgetReceipts(acceptedBefore time: Int64, scope: String) throws(DatabaseError) {
    try database.run(
      """
      DELETE FROM outgoing_receipts WHERE scope = ?1 AND accepted_at < ?2 AND is_finished = 1 AND is_host_owned = 0
        AND (json_extract(content, '$.kind') = 'consumable' OR json_extract(content, '$.expires_at') < ?2)
      """, [.text(scope), .integer(time)])
  }

  // MARK: Waiting as a whole

  /// What the service can ask to wait.
  enum Held: String {
    case receipts
    /// Log-ins and attributes.
    case people
  }

  /// Until when the service wants none of these; nil when it takes them. A longer wait than any that is believed is of a
  /// clock that has been corrected since.
  func heldUntil(_ what: Held, scope: String, now: Int64) throws(DatabaseError) -> Int64? {
    try database.run("SELECT value FROM facts WHERE name = ?", [.text("\(what.rawValue)_held_until \(scope)")]) {
      $0.integer(0)
    }.first.flatMap { now < $0 && $0 <= now.adding(Constants.longestRetryAfterMilliseconds) ? $0 : nil }
  }

  /// A wait that is under way gets no shorter.
  func hold(_ what: Held, until time: Int64, scope: String, now: Int64) throws(DatabaseError) {
    let time = max(time, try heldUntil(what, scope: scope, now: now) ?? time)
    try database.run(
      "INSERT OR REPLACE INTO facts VALUES (?, ?)", [.text("\(what.rawValue)_held_until \(scope)"), .integer(time)])
  }

  // MARK: Whose purchase it is

  /// Remembers whose token goes with a purchase, before it is charged.
  func save(accountToken token: String, of owner: DistinctID, scope: String) throws(DatabaseError) {
    try database.run(
      "INSERT OR REPLACE INTO account_tokens VALUES (?, ?, ?)",
      [.text(scope), .text(token.lowercased()), .text(owner.text)])
  }

  func owner(ofAccountToken token: String, scope: String) throws(DatabaseError) -> DistinctID? {
    try database.run(
      "SELECT distinct_id FROM account_tokens WHERE scope = ? AND token = ?", [.text(scope), .text(token.lowercased())]
    ) { DistinctID($0.text(0)) }.first
  }

  /// The transaction without Apple's signed text: the service asks Apple itself. Google is asked by the token.
  private static func content(_ transaction: StoreTransaction) -> String {
    var transaction = transaction
    if transaction.platform == .apple { transaction.proof = "" }
    return StoredReceipts.encode(transaction)
  }
}

/// Names a receipt in the outbox.
struct ReceiptID: Hashable {
  var platform: StoreTransaction.Platform
  var text: String
  init(_ platform: StoreTransaction.Platform, _ text: String) {
    self.platform = platform
    self.text = text
  }
}

extension StoreTransaction {
  var receiptID: ReceiptID { ReceiptID(platform, idInStore) }
}
