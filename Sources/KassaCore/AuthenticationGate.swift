/// Stops asking a service that refused the key (Voidhash SDK, authentication gate): nothing is sent but one probe, and
/// that only when the host came to the foreground or the network came back, and a minute has passed.
///
/// Times are boot milliseconds.
public struct AuthenticationGate: Sendable {
  private enum State {
    case open
    /// `since`: when it closed, or the last probe was permitted or failed.
    case paused(since: Int64, probe: Probe)
  }
  private enum Probe { case none, permitted, underWay }
  private var state = State.open

  public init() {}

  public var isPaused: Bool { if case .paused = state { true } else { false } }

  /// Whether a request may be sent; `ended` has to be told what came of it. `mayProbe`: it is of the kind that may serve
  /// as the probe.
  public mutating func passage(mayProbe: Bool) -> Passage {
    switch state {
    case .open: return .free
    case .paused(let since, .permitted) where mayProbe:
      state = .paused(since: since, probe: .underWay)
      return .probe
    case .paused: return .refused
    }
  }

  public enum Passage: Sendable { case free, probe, refused }

  public enum Verdict: Sendable {
    /// The service refused the key.
    case refused
    /// It said something else, whatever that was.
    case known
    /// No answer, or none of the service's own.
    case none
  }

  public enum Change: Sendable, Equatable { case paused, recovered }

  /// What came of a request; says what is news, once for each pause.
  public mutating func ended(_ passage: Passage, _ verdict: Verdict, now: Int64) -> Change? {
    switch (state, passage, verdict) {
    case (.open, _, .refused):
      state = .paused(since: now, probe: .none)
      return .paused
    case (.paused(_, .underWay), .probe, .refused), (.paused(_, .underWay), .probe, .none):
      state = .paused(since: now, probe: .none)
      return nil
    case (.paused(_, .underWay), .probe, .known):
      state = .open
      return .recovered
    // What was under way when it closed opens it no more.
    case (.open, _, _), (.paused, _, _): return nil
    }
  }

  /// True when a probe may be sent now. One that is permitted and not sent is permitted anew a minute later.
  public mutating func conditionsImproved(now: Int64) -> Bool {
    guard case .paused(let since, let probe) = state, probe != .underWay else { return false }
    let passed = now.subtractingReportingOverflow(since)
    guard passed.overflow || passed.partialValue >= Constants.authenticationProbeMilliseconds else { return false }
    state = .paused(since: now, probe: .permitted)
    return true
  }
}
