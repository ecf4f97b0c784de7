import CLinux
import KassaCore
import Synchronization

/// The machine's clocks, and how far simulated time is ahead of them. Whoever sleeps is woken by the loop.
public final class SystemTime: TimeSource, @unchecked Sendable {
  /// How far simulated time can be moved in all: a hundred years, far from where numbers end.
  private static let farthest: Int64 = 36_525 * 86_400 * 1_000_000_000

  private let loop: EventLoop
  private let ahead = Atomic<Int64>(0)
  /// Touched on the loop only.
  private var sleepers: [ObjectIdentifier: Sleeper] = [:]

  public init(loop: EventLoop) { self.loop = loop }

  private var aheadNanoseconds: Int64 { ahead.load(ordering: .relaxed) }

  public var wallMilliseconds: Int64 { kassa_wall_milliseconds() + aheadNanoseconds / 1_000_000 }
  public var bootNanoseconds: Int64 { kassa_boot_nanoseconds() + aheadNanoseconds }

  /// Time was never moved, so these are the clocks that everybody else in the machine sees.
  public var isReal: Bool { aheadNanoseconds == 0 }

  /// Moves both clocks forward, for the simulated store and the sandbox. Whoever sleeps past the new time sleeps less
  /// long; whoever is due by it wakes now, in the order of the deadlines. Time does not run backwards: nothing happens
  /// for a number that is not positive.
  public func advance(milliseconds: Int64) {
    let step = max(0, milliseconds).multiplied(by: 1_000_000)
    var (isMoved, before) = (false, aheadNanoseconds)
    while !isMoved {
      let after = min(before.adding(step), Self.farthest)
      (isMoved, before) = ahead.compareExchange(expected: before, desired: after, ordering: .relaxed)
    }
    loop.post {
      for sleeper in self.sleepers.values {
        self.disarm(sleeper)
        self.arm(sleeper)
      }
    }
  }

  public func sleep(milliseconds: Int64) async throws(CancellationError) {
    let sleeper = Sleeper(deadline: bootNanoseconds.adding(milliseconds.multiplied(by: 1_000_000)))
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        sleeper.start(continuation)
        loop.post {
          // A task that was cancelled before its timer existed needs none.
          if sleeper.isAsleep { self.arm(sleeper) }
        }
      }
    } onCancel: {
      sleeper.wake()
      loop.post { self.disarm(sleeper) }
    }
    if Task.isCancelled { throw CancellationError() }
  }

  private func arm(_ sleeper: Sleeper) {
    sleepers[ObjectIdentifier(sleeper)] = sleeper
    sleeper.timer = loop.timer(atBootNanoseconds: sleeper.deadline.adding(-aheadNanoseconds)) {
      self.disarm(sleeper)
      sleeper.wake()
    }
  }

  private func disarm(_ sleeper: Sleeper) {
    guard let timer = sleepers.removeValue(forKey: ObjectIdentifier(sleeper))?.timer else { return }
    loop.cancel(timer)
  }
}

/// One task that sleeps, woken by whoever comes first.
final class Sleeper: @unchecked Sendable {
  private enum State { case waiting, asleep(CheckedContinuation<Void, Never>), awake }
  private let state = Locked(State.waiting)
  /// When to wake, by the boot clock of whoever is slept by.
  let deadline: Int64
  /// Touched on the loop only.
  var timer: TimerID?

  init(deadline: Int64) { self.deadline = deadline }

  func start(_ continuation: CheckedContinuation<Void, Never>) {
    let isAwake = state.with { state -> Bool in
      if case .awake = state { return true }
      state = .asleep(continuation)
      return false
    }
    if isAwake { continuation.resume() }
  }

  var isAsleep: Bool { state.with { if case .asleep = $0 { true } else { false } } }

  func wake() {
    let continuation = state.with { state -> CheckedContinuation<Void, Never>? in
      defer { state = .awake }
      if case .asleep(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume()
  }
}

extension Int64 {
  /// The sum and the product, at most the largest number: a time that far away never comes.
  func adding(_ other: Int64) -> Int64 {
    let sum = addingReportingOverflow(other)
    return sum.overflow ? .max : sum.partialValue
  }
  func multiplied(by factor: Int64) -> Int64 {
    let product = multipliedReportingOverflow(by: factor)
    return product.overflow ? .max : product.partialValue
  }
}
