/// The clocks of one client. Nothing else in the library reads a clock or waits, so a test can move time and replay.
public protocol TimeSource: Sendable {
  /// The wall clock, in milliseconds since 1970 UTC. Users set it as they like.
  var wallMilliseconds: Int64 { get }
  /// A clock that only runs forward, also while the machine is suspended, in nanoseconds since some fixed moment.
  var bootNanoseconds: Int64 { get }
  /// Waits by the boot clock; ends early, by throwing, when the task is cancelled.
  func sleep(milliseconds: Int64) async throws(CancellationError)
}

/// Where unpredictable bytes come from.
public protocol RandomSource: Sendable {
  func bytes(_ count: Int) -> [UInt8]
}

extension RandomSource {
  /// A random UUID (version 4) in lower case.
  public func uuid() -> String { uuidText(bytes(16), version: 4) ?? "" }

  /// A number from 0 up to, but not including, 1.
  public func fraction() -> Double {
    let bits = bytes(7).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & (1 << 53 - 1)
    return Double(bits) / Double(UInt64(1) << 53)
  }
}
