import CLinux
import KassaCore

/// The machine's clocks.
public struct SystemTime: TimeSource {
  private let loop: EventLoop
  public init(loop: EventLoop) { self.loop = loop }

  public var wallMilliseconds: Int64 { kassa_wall_milliseconds() }
  public var bootNanoseconds: Int64 { kassa_boot_nanoseconds() }

  public func sleep(milliseconds: Int64) async throws(CancellationError) {
    let time = bootNanoseconds.adding(milliseconds.multiplied(by: 1_000_000))
    let sleeper = Sleeper()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        sleeper.start(continuation)
        loop.post { [loop] in
          // A task that was cancelled before its timer existed needs none.
          guard sleeper.isAsleep else { return }
          sleeper.timer = loop.timer(atBootNanoseconds: time) { sleeper.wake() }
        }
      }
    } onCancel: {
      sleeper.wake()
      loop.post { [loop] in
        if let timer = sleeper.timer { loop.cancel(timer) }
      }
    }
    if Task.isCancelled { throw CancellationError() }
  }
}

/// One task that sleeps, woken by whoever comes first.
final class Sleeper: @unchecked Sendable {
  private enum State { case waiting, asleep(CheckedContinuation<Void, Never>), awake }
  private let state = Locked(State.waiting)
  /// Used on the loop only.
  var timer: TimerID?

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

/// Clocks that stand still until a test moves them. Whoever sleeps wakes in the order of the deadlines.
public final class ManualTime: TimeSource {
  private struct State {
    var wall: Int64
    var boot: Int64
    var sleepers: [(deadline: Int64, sleeper: Sleeper)] = []
  }
  private let state: Locked<State>

  public init(wallMilliseconds: Int64, bootNanoseconds: Int64 = 1_000_000_000) {
    state = Locked(State(wall: wallMilliseconds, boot: bootNanoseconds))
  }

  public var wallMilliseconds: Int64 { state.with { $0.wall } }
  public var bootNanoseconds: Int64 { state.with { $0.boot } }
  /// How many tasks sleep.
  public var sleeperCount: Int { state.with { $0.sleepers.count } }

  /// Sets the wall clock alone, as a user does.
  public func setWall(milliseconds: Int64) { state.with { $0.wall = milliseconds } }

  /// Lets time pass on both clocks.
  public func advance(milliseconds: Int64) {
    let due = state.with { state -> [Sleeper] in
      state.wall += milliseconds
      state.boot += milliseconds * 1_000_000
      let due = state.sleepers.filter { $0.deadline <= state.boot }.sorted { $0.deadline < $1.deadline }
      state.sleepers.removeAll { $0.deadline <= state.boot }
      return due.map(\.sleeper)
    }
    for sleeper in due { sleeper.wake() }
  }

  public func sleep(milliseconds: Int64) async throws(CancellationError) {
    let sleeper = Sleeper()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        sleeper.start(continuation)
        let isDue = state.with { state -> Bool in
          let deadline = state.boot.adding(milliseconds.multiplied(by: 1_000_000))
          guard deadline > state.boot else { return true }
          state.sleepers.append((deadline, sleeper))
          return false
        }
        if isDue { sleeper.wake() }
      }
    } onCancel: {
      sleeper.wake()
      state.with { state in state.sleepers.removeAll { $0.sleeper === sleeper } }
    }
    if Task.isCancelled { throw CancellationError() }
  }
}
