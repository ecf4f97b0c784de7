/// Every number that a service's documentation, its SDKs or our own decisions give, with its source.
///
/// Sources: *Whop* is Whop's documentation (page in brackets), *whop-sdk* the official SDK 2.6.0 for Python, *Voidhash*
/// the network policy of Voidhash's SDKs, whose numbers hold for every back end, *Kassa* a decision of ours.
public enum Constants {
  // MARK: Requests

  /// Voidhash: one request, from name look-up to last byte.
  public static let requestMilliseconds: Int64 = 10_000
  /// Voidhash: a request with all its retries.
  public static let wholeRequestMilliseconds: Int64 = 30_000
  /// whop-sdk, `max_retries`.
  public static let maximumRetries = 2
  /// Voidhash: the first retry waits so long, each further one twice as long, plus up to a quarter of it.
  public static let backoffMilliseconds: Int64 = 1_000
  public static let backoffJitter = 0.25
  /// Voidhash: the longest wait between tries of what somebody waits for, and of what nobody waits for.
  public static let backoffCapMilliseconds: Int64 = 30_000
  public static let backgroundBackoffCapMilliseconds: Int64 = 60_000
  /// Voidhash: so many failures in a row open the circuit breaker, at first for 30 s, at most for 300 s; a probe that
  /// has not ended after 10 s is lost.
  public static let breakerFailures = 5
  public static let breakerCooldownMilliseconds: Int64 = 30_000
  public static let breakerLongestCooldownMilliseconds: Int64 = 300_000
  public static let breakerProbeMilliseconds: Int64 = 10_000
  /// Voidhash: after the key was refused, one probe is sent at most so often.
  public static let authenticationProbeMilliseconds: Int64 = 60_000
  /// Kassa: a wait that Voidhash asks for is believed up to an hour.
  public static let longestRetryAfterMilliseconds: Int64 = 3_600_000
  /// Kassa: the wait that a 429 names in its message is believed up to a day.
  public static let longestRetryAfterSeconds: Int64 = 86_400

  // MARK: Lists

  /// Kassa; Whop [pagination] documents no largest page.
  public static let pageSize = 100
  /// Kassa: a list that goes on after so many pages is not an answer.
  public static let maximumPages = 1_000
  /// Kassa: more rows than this, read to find one user's memberships, are worth a diagnostic.
  public static let largeScan = 500
  /// Kassa: of the memberships that a list left out, so many are asked for one by one in one refresh.
  public static let maximumVerifications = 50
  /// Kassa: clocks of the service and of this machine may differ by so much when a list is limited by date.
  public static let clockToleranceMilliseconds: Int64 = 600_000

  // MARK: Entitlements

  /// Whop [payment declines]: a failed renewal is retried for about five days before the membership is cancelled.
  public static let renewalGraceMilliseconds: Int64 = 5 * millisecondsPerDay
  public static let millisecondsPerDay: Int64 = 86_400_000
  /// Kassa: a grant without an end is trusted offline for so many days.
  public static let offlineDays: Int64 = 30
  /// Kassa: the trusted time is saved at most so often while the service answers.
  public static let saveTimeMilliseconds: Int64 = 60_000
  /// Kassa: so long after a period ended, the service is asked what came of the renewal.
  public static let renewalCheckMilliseconds: Int64 = 5_000

  /// Kassa: where cached answers stand, the network is asked so much later, so that a program which only asks and leaves
  /// does not pay for a connection.
  public static let confirmationDelayMilliseconds: Int64 = 10

  /// Kassa: a renewal that is not known then is asked for so often.
  public static let lateRenewalCheckMilliseconds: Int64 = 3_600_000

  // MARK: Stores

  /// Voidhash [make and restore purchases]: a store is scanned at most so often.
  public static let scanMilliseconds: Int64 = 60_000
  /// How long `kassa_configure` waits for the store's storefront and prices; they come later all the same.
  public static let storeAnswerMilliseconds: Int64 = 2_000
  /// Voidhash [make and restore purchases]: so many transactions are kept for the first listener.
  public static let transactionsKeptForListener = 10

  /// Kassa: of one kind of mistake no more different ones are reported.
  public static let reportsOfOneKind = 1_000
  /// Kassa: so much of what the host says before the configuration is kept for it.
  public static let earlyNotifications = 100
  /// Apple [reduce involuntary subscriber churn]: a billing grace period is 3, 16 or 28 days.
  public static let longestStoreGraceMilliseconds: Int64 = 28 * millisecondsPerDay
  /// Kassa: that a store still lists a subscription without an end is written down at most so often.
  public static let saveListingMilliseconds: Int64 = 3_600_000

  // MARK: People and products

  /// Voidhash [cache]: what is known of a person is asked for again after 5 minutes, and out of date after 2 days.
  public static let personStaleMilliseconds: Int64 = 300_000
  public static let personExpiresMilliseconds: Int64 = 2 * millisecondsPerDay
  /// Voidhash: somebody who waits for a person of whom something is known waits so long for news.
  public static let freshnessBudgetMilliseconds: Int64 = 500
  /// Voidhash: the person is asked for when a receipt was accepted, then after 2 s, and after 5 s more, since the service
  /// works on receipts after it has taken them.
  public static let refreshesAfterAcceptance: [Int64] = [0, 2_000, 5_000]
  /// Voidhash [cache]: the catalogue is asked for again after a day.
  public static let catalogueStaleMilliseconds: Int64 = millisecondsPerDay

  // MARK: Outbox

  /// Voidhash [make and restore purchases]: so long a purchase, a restore, and the two kinds of synchronisation wait for
  /// the service.
  public static let purchaseWaitMilliseconds: Int64 = 10_000
  public static let restoreWaitMilliseconds: Int64 = 20_000
  public static let syncPurchasesWaitMilliseconds: Int64 = 10_000
  public static let syncPendingWaitMilliseconds: Int64 = 2_000
  /// Voidhash [make and restore purchases]: a receipt that was refused for good is offered again after 6 hours.
  public static let refusedReceiptMilliseconds: Int64 = 6 * 3_600_000
  /// Kassa: so many receipts are read at a time, and at most so many results, or those of so long, written together.
  public static let outboxBatch = 256
  public static let outboxWriteMilliseconds: Int64 = 500
  /// Kassa: while another process sends, it is looked so often whether it still does.
  public static let senderCheckMilliseconds: Int64 = 1_000
  /// Voidhash's SDK for Android: so many waiting receipts are worth a diagnostic.
  public static let outboxBacklog: Int64 = 1_000
  /// Kassa: that the service has a receipt is remembered so long. A store lists what it still grants, and a receipt that
  /// is offered twice is harmless.
  public static let acceptedReceiptMilliseconds: Int64 = 90 * millisecondsPerDay

  // MARK: Identity and tokens

  /// Whop [plan metadata]: a value has at most 500 characters.
  public static let longestAppUserID = 500
  /// Kassa: a person's id travels in a header, of which servers take some 8 KB in all. In bytes.
  public static let longestDistinctID = 2_048
  /// Whop's Swift payments SDK: a token is replaced when less than 60 s remain.
  public static let tokenMarginMilliseconds: Int64 = 60_000
  /// Whop [access tokens]: a token lives for 1 hour by default; one that does not say is trusted for a single call.
  public static let tokenWithoutEndMilliseconds: Int64 = 0

  // MARK: Purchases

  /// Kassa: seconds between looks for the membership after a payment; the last one repeats, for 60 s in all.
  public static let membershipPollSeconds: [Int64] = [1, 2, 3, 5]
  public static let membershipPollLimitMilliseconds: Int64 = 60_000
  /// Kassa: while a checkout is open in the browser, looks every 5 s, after two minutes every 30 s: a closed tab says
  /// nothing.
  public static let openCheckoutPollMilliseconds: Int64 = 5_000
  public static let openCheckoutSlowPollMilliseconds: Int64 = 30_000
  public static let openCheckoutFastPhaseMilliseconds: Int64 = 120_000
  public static let checkoutTimeoutSeconds: Int64 = 1_800
  /// Kassa: a host answers so soon what it needs to ask no user.
  public static let hostAnswerSeconds: Int64 = 60
  /// Kassa: after a purchase ended without a result, a late success is looked for at the slow pace for so long, and then
  /// so often.
  public static let lateSuccessMilliseconds: Int64 = 600_000
  /// Kassa: an attempt without any trace at the service is forgotten after so long.
  public static let forgetAttemptMilliseconds: Int64 = 3 * millisecondsPerDay
}
