import KassaCore

/// What a simulated store needs from its client.
public struct SimulatedStorePorts: Sendable {
  /// For sleeping only.
  public var time: any TimeSource
  public var random: any RandomSource
  /// The time by which subscriptions renew, in milliseconds since 1970 UTC.
  public var now: @Sendable () -> Int64
  /// Starts a task on the client's loop; without it nothing happens between two calls.
  public var start: (@Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>)?
  /// Hears of every transaction that is made or changed, before anybody else does: what Apple's servers would know.
  /// Those that come at once are told at once; the same may come again.
  public var onTransactions: (@Sendable ([StoreTransaction]) -> Void)?

  public init(
    time: any TimeSource, random: any RandomSource, now: @escaping @Sendable () -> Int64,
    start: (@Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>)? = nil,
    onTransactions: (@Sendable ([StoreTransaction]) -> Void)? = nil
  ) {
    self.time = time
    self.random = random
    self.now = now
    self.start = start
    self.onTransactions = onTransactions
  }
}
