import KassaJSON

/// The words that `error.code` may hold. `docs/errors.md` says of each when it comes and what to do.
public enum ErrorCode: String, Sendable, CaseIterable {
  // The call
  case invalidArgument = "invalid_argument"
  case invalidConfiguration = "invalid_configuration"
  case notConfigured = "not_configured"
  case unsupported = "unsupported"
  case forked = "forked"
  // The operation
  case cancelled = "cancelled"
  case closed = "closed"
  case purchaseInProgress = "purchase_in_progress"
  case paymentFailed = "payment_failed"
  case planNotFound = "plan_not_found"
  case planNotMapped = "plan_not_mapped"
  case productNotFound = "product_not_found"
  case offerUnavailable = "offer_unavailable"
  case transactionUnverified = "storekit_transaction_unverified"
  case invalidTransaction = "invalid_transaction"
  case readOnlyPurchaseNotAllowed = "read_only_purchase_not_allowed"
  case reconcileTransactionsFailed = "reconcile_transactions_failed"
  case unsupportedStore = "unsupported_store"
  case storeFailed = "store_failed"
  case checkoutFailed = "checkout_failed"
  // The network and the service
  case offline = "offline"
  case timedOut = "timed_out"
  case notServiceAnswer = "not_service_answer"
  case rateLimited = "rate_limited"
  case serviceUnavailable = "service_unavailable"
  case serviceRefused = "service_refused"
  case notFound = "not_found"
  case alreadyIdentified = "already_identified"
  case unauthorized = "unauthorized"
  case permissionDenied = "permission_denied"
  case tokenUnavailable = "token_unavailable"
  case circuitOpen = "circuit_open"
  case outboundPaused = "outbound_paused"
  // This machine
  case storage = "storage"
  case internalError = "internal"
}

/// Why an operation failed: the code to switch on, a sentence for people, and what else a program can use.
public struct KassaError: Error, Sendable {
  public var code: ErrorCode
  /// What happened, which input, what to do. Never holds a key, token, receipt or device id.
  public var message: String
  /// A finer word below the code, such as a decline code.
  public var reason: String?
  /// The same call may succeed later without a change by the host.
  public var retryable: Bool
  /// The HTTP status, where a service answered.
  public var status: Int?
  public var retryAfterMilliseconds: Int64?

  public init(
    _ code: ErrorCode, _ message: String, reason: String? = nil, retryable: Bool = false, status: Int? = nil,
    retryAfterMilliseconds: Int64? = nil
  ) {
    self.code = code
    self.message = message
    self.reason = reason
    self.retryable = retryable
    self.status = status
    self.retryAfterMilliseconds = retryAfterMilliseconds
  }

  public static let notConfigured = KassaError(
    .notConfigured, "the client is not configured: call kassa_configure first")

  public var document: JSON {
    var members: [(String, JSON)] = [
      ("code", JSON(code.rawValue)), ("message", JSON(message)), ("retryable", JSON(retryable)),
    ]
    if let reason { members.append(("reason", JSON(reason))) }
    if let status { members.append(("status", JSON(status))) }
    if let retryAfterMilliseconds { members.append(("retry_after_ms", JSON(retryAfterMilliseconds))) }
    return .object(members)
  }
}
