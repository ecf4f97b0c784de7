/// The tables of a client's file. The file's `user_version` says how many of the steps it has been through; one of an older
/// version is brought up step by step, and a step is never changed again.
///
/// Long texts and blobs are in tables with a rowid: looking for a key in one without reads all of the row.
enum StorageSchema {
  static var version: Int64 { Int64(steps.count) }

  static let steps = [membershipTables, receiptAndPeopleTables]

  /// Version 1: identity, memberships, plans, and what the service has yet to hear of logins and checkouts.
  private static let membershipTables = """
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
    """

  /// Version 2: store transactions and the outbox of their receipts, people, and the answers that are kept beside all
  /// rows; triggers remove them as soon as a row that they were derived from changes, whoever changes it. Before the
  /// first release some files of version 1 had receipts and answers already.
  private static let receiptAndPeopleTables = """
    CREATE TABLE IF NOT EXISTS receipts (
      scope TEXT NOT NULL, store TEXT NOT NULL, id TEXT NOT NULL, content TEXT NOT NULL, plan_id TEXT, product_id TEXT,
      app_user_id TEXT, captured_at INTEGER NOT NULL, is_finished INTEGER NOT NULL, is_accepted INTEGER NOT NULL,
      PRIMARY KEY (scope, store, id));
    CREATE TABLE outgoing_receipts (
      scope TEXT NOT NULL, store TEXT NOT NULL, id TEXT NOT NULL, number INTEGER NOT NULL, content TEXT,
      product_slug TEXT, purchase_token TEXT, owner TEXT NOT NULL, restore_owner TEXT, is_restore INTEGER NOT NULL,
      is_host_owned INTEGER NOT NULL, attempts INTEGER NOT NULL, available_at INTEGER NOT NULL, refused_at INTEGER,
      accepted_at INTEGER, is_finished INTEGER NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (scope, store, id)) WITHOUT ROWID;
    INSERT INTO outgoing_receipts (scope, store, id, number, content, owner, is_restore, is_host_owned, attempts,
      available_at, is_finished)
    SELECT scope, store, id, row_number() OVER (ORDER BY captured_at), content, coalesce(app_user_id, ''), 0, 0, 0, 0,
      is_finished FROM receipts WHERE is_accepted = 0;
    -- accepted_at only so that they can be counted by the index alone.
    CREATE INDEX waiting_receipts ON outgoing_receipts (scope, number, accepted_at) WHERE accepted_at IS NULL;
    CREATE TABLE account_tokens (
      scope TEXT NOT NULL, token TEXT NOT NULL, distinct_id TEXT NOT NULL, PRIMARY KEY (scope, token)) WITHOUT ROWID;
    ALTER TABLE outbox ADD COLUMN content TEXT;
    CREATE TABLE people (
      scope TEXT NOT NULL, distinct_id TEXT NOT NULL, document TEXT NOT NULL, fetched_at INTEGER NOT NULL,
      PRIMARY KEY (scope, distinct_id));
    CREATE TABLE catalogues (
      scope TEXT PRIMARY KEY, document TEXT NOT NULL, app_version TEXT, fetched_at INTEGER NOT NULL);

    DROP TABLE IF EXISTS answers;
    CREATE TABLE answers (
      scope TEXT PRIMARY KEY, app_user_id TEXT, policy TEXT NOT NULL, listed_at INTEGER NOT NULL, list BLOB NOT NULL);
    CREATE TRIGGER IF NOT EXISTS membership_added AFTER INSERT ON memberships
      BEGIN DELETE FROM answers WHERE scope = NEW.scope; END;
    CREATE TRIGGER IF NOT EXISTS membership_changed AFTER UPDATE ON memberships
      BEGIN DELETE FROM answers WHERE scope = NEW.scope; END;
    CREATE TRIGGER IF NOT EXISTS membership_removed AFTER DELETE ON memberships
      BEGIN DELETE FROM answers WHERE scope = OLD.scope; END;
    CREATE TRIGGER IF NOT EXISTS receipt_added AFTER INSERT ON receipts BEGIN DELETE FROM answers WHERE scope = NEW.scope; END;
    CREATE TRIGGER IF NOT EXISTS receipt_changed AFTER UPDATE OF content, plan_id, product_id ON receipts
      BEGIN DELETE FROM answers WHERE scope = NEW.scope; END;
    CREATE TRIGGER IF NOT EXISTS receipt_removed AFTER DELETE ON receipts BEGIN DELETE FROM answers WHERE scope = OLD.scope; END;
    CREATE TRIGGER IF NOT EXISTS claim_added AFTER INSERT ON outbox WHEN NEW.kind = 'claim'
      BEGIN DELETE FROM answers WHERE scope = NEW.scope; END;
    CREATE TRIGGER IF NOT EXISTS claim_removed AFTER DELETE ON outbox WHEN OLD.kind = 'claim'
      BEGIN DELETE FROM answers WHERE scope = OLD.scope; END;
    CREATE TRIGGER IF NOT EXISTS person_added AFTER INSERT ON people BEGIN DELETE FROM answers WHERE scope = NEW.scope; END;
    CREATE TRIGGER IF NOT EXISTS person_removed AFTER DELETE ON people BEGIN DELETE FROM answers WHERE scope = OLD.scope; END;
    CREATE TRIGGER IF NOT EXISTS catalogue_added AFTER INSERT ON catalogues BEGIN DELETE FROM answers WHERE scope = NEW.scope; END;
    CREATE TRIGGER IF NOT EXISTS anonymous_changed AFTER INSERT ON facts WHEN NEW.name = 'anonymous_id'
      BEGIN DELETE FROM answers WHERE app_user_id IS NULL; END;
    """
}
