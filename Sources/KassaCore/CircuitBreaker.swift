/// Stops asking a service that does not answer (Voidhash SDK, circuit breaker): failures in a row open it for a while,
/// then it lets one probe through; a failed probe doubles the wait, a success closes it.
///
/// A value of its own for each service. Times are boot milliseconds.
public struct CircuitBreaker: Sendable {
  private var failures = 0
  private var cooldown = Constants.breakerCooldownMilliseconds
  private var openUntil: Int64?
  private var probeStarted: Int64?

  public init() {}

  /// Whether requests go through without a probe.
  public var isClosed: Bool { openUntil == nil }

  /// How long to wait before the next request may be sent; nil if it may be sent now.
  public func remaining(now: Int64) -> Int64? {
    guard let openUntil else { return nil }
    if now < openUntil { return openUntil - now }
    guard let probeStarted else { return nil }
    // A probe that has told nothing for so long is lost, and its place is free.
    let since = now.subtractingReportingOverflow(probeStarted)
    guard !since.overflow, since.partialValue < Constants.breakerProbeMilliseconds else { return nil }
    return Constants.breakerProbeMilliseconds - since.partialValue
  }

  /// The same for a request that is sent if it may be: while the breaker is open, it then is the probe.
  public mutating func wait(now: Int64) -> Int64? {
    if let remaining = remaining(now: now) { return remaining }
    if openUntil != nil { probeStarted = now }
    return nil
  }

  /// True when this closed it.
  @discardableResult
  public mutating func succeeded() -> Bool {
    let wasOpen = openUntil != nil
    self = CircuitBreaker()
    return wasOpen
  }

  /// A failure of the service itself: no answer, 408 or 5xx. A refusal (other 4xx) is no failure. True when this opened
  /// it, for the first time or again after a probe. `isProbe`: false for a request that went out while it was closed.
  @discardableResult
  public mutating func failed(now: Int64, isProbe: Bool = true) -> Bool {
    if openUntil != nil {
      // Requests that were under way when it opened say nothing new.
      guard isProbe, probeStarted != nil else { return false }
      cooldown = min(cooldown * 2, Constants.breakerLongestCooldownMilliseconds)
      openUntil = now.adding(cooldown)
      probeStarted = nil
      return true
    }
    failures += 1
    guard failures >= Constants.breakerFailures else { return false }
    openUntil = now.adding(cooldown)
    return true
  }

  /// The caller gave up, or the answer says nothing about the service: no verdict.
  public mutating func abandoned(isProbe: Bool = true) {
    if isProbe { probeStarted = nil }
  }

  /// The host came to the foreground, or the network came back: a probe may be sent at once, unless one is under way.
  /// If it fails, the wait is as long as it would have been.
  public mutating func conditionsImproved(now: Int64) {
    if let openUntil { self.openUntil = min(openUntil, now) }
  }
}
