import KassaCore

/// Every number and fixed word that Whop's documentation, SDKs or our own decisions give, with its source.
///
/// Sources: *API* is Whop's REST reference, *SDK* the official whop-sdk 2.6.0 for Python, *Kassa* a decision of ours.
enum WhopConstants {
  /// API, base URLs.
  static let baseURL = "https://api.whop.com"
  /// API, base URLs.
  static let apiPath = "/api/v1"
  /// API, hosted checkout: a relative `purchase_url` belongs to this host.
  static let checkoutOrigin = "https://whop.com"
  /// SDK, default of `api_version_date`.
  static let apiVersionDate = "2026-10-15-1"
  /// API, pagination: the largest page is not documented. Kassa.
  static let pageSize = 100
  /// Kassa: a list that goes on after so many pages is not an answer.
  static let maximumPages = 1_000
  /// Kassa: more rows than this, read to find one user's memberships, are worth a diagnostic.
  static let largeScan = 500
  /// Voidhash SDK, network policy; holds for every back end. The transport keeps the 10 s of one request.
  static let wholeRequestMilliseconds: Int64 = 30_000
  /// SDK, `max_retries`.
  static let maximumRetries = 2
  /// SDK, retryable statuses: 408, 409 and 429 and every 5xx. A 409 can mean an unknown outcome, so not here. Kassa.
  static func isRetryable(_ status: Int) -> Bool { status == 408 || status == 429 || status >= 500 }
  /// API, metadata limits of plans: 50 keys of 100 characters with values of 500.
  static let metadataValueLength = 500
  /// API, idempotency: a key has up to 255 bytes.
  static let idempotencyKeyLength = 255
  /// Kassa: clocks of the service and of this machine may differ by so much when a list is limited by date.
  static let clockTolerance: Int64 = 10 * 60 * 1_000
  /// API, `GET /memberships`.
  static let permissionToReadMemberships = "member:basic:read"

  /// Kassa: the keys under which a checkout's metadata carries who bought. They travel to payment and membership.
  enum Metadata {
    static let deviceID = "kassa_device_id"
    static let appUserID = "kassa_app_user_id"
    static let nonce = "kassa_nonce"
    static let source = "kassa_source"
    static let claimedAt = "kassa_claimed_at"
  }
}
