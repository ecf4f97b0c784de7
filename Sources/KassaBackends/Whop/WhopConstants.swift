import KassaCore

/// The fixed words of Whop's interface, with their sources. Numbers are in `KassaCore.Constants`.
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
  /// SDK, retryable statuses: 408, 409 and 429 and every 5xx. A 409 can mean an unknown outcome, so not here. Kassa.
  static func isRetryable(_ status: Int) -> Bool { status == 408 || status == 429 || status >= 500 }
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
