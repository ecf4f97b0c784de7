import KassaJSON

/// The time that ends are judged by. Users set the wall clock as they like, so it is: the service's own time when it
/// last answered plus what the boot clock counted since; before the first answer, the later of what was saved and the
/// wall clock.
///
/// So a wall clock set back revives nothing, and one set forward ends nothing while the service disagrees.
public struct TrustedClock: Sendable, Equatable {
  public enum Source: String, Sendable { case server, saved, wall }

  /// The time at `bootNanoseconds`.
  public private(set) var milliseconds: Int64
  public private(set) var bootNanoseconds: Int64
  public private(set) var source: Source

  public init(savedMilliseconds: Int64?, wallMilliseconds: Int64, bootNanoseconds: Int64) {
    let saved = savedMilliseconds ?? .min
    milliseconds = max(saved, wallMilliseconds)
    source = saved > wallMilliseconds ? .saved : .wall
    self.bootNanoseconds = bootNanoseconds
  }

  /// The service answered, at this time by its own clock. A `Date` has whole seconds, so one that is up to a
  /// second behind, and a little for the way, agrees with this clock and does not turn it back.
  public mutating func correct(serverMilliseconds: Int64, bootNanoseconds: Int64) {
    let now = self.now(bootNanoseconds: bootNanoseconds)
    let difference = serverMilliseconds.subtractingReportingOverflow(now)
    let agrees = !difference.overflow && (-1_500...0).contains(difference.partialValue)
    // Whole milliseconds only, or each answer would lose the rest of one, and every end come a little later.
    self.bootNanoseconds =
      agrees && now != .max ? self.bootNanoseconds &+ (now - milliseconds) * 1_000_000 : bootNanoseconds
    milliseconds = agrees ? now : serverMilliseconds
    source = .server
  }

  public func now(bootNanoseconds: Int64) -> Int64 {
    let elapsed = max(0, bootNanoseconds &- self.bootNanoseconds) / 1_000_000
    let sum = milliseconds.addingReportingOverflow(elapsed)
    return sum.overflow ? .max : sum.partialValue
  }

  /// When the boot clock will show this time.
  public func bootNanoseconds(at time: Int64) -> Int64 {
    let distance = time.subtractingReportingOverflow(milliseconds)
    let nanoseconds = distance.partialValue.multipliedReportingOverflow(by: 1_000_000)
    let boot = nanoseconds.partialValue.addingReportingOverflow(bootNanoseconds)
    guard !distance.overflow, !nanoseconds.overflow, !boot.overflow else { return time > milliseconds ? .max : 0 }
    return boot.partialValue
  }
}
