import KassaCore

/// Clocks that stand still until a test moves them. Whoever sleeps wakes in the order of the deadlines.
public final class ManualTime: TimeSource {
  private struct State {
    var wall: Int64
    var boot: Int64
    var sleepers: [Sleeper] = []
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
      state.wall = state.wall.adding(milliseconds)
      state.boot = state.boot.adding(milliseconds.multiplied(by: 1_000_000))
      let due = state.sleepers.filter { $0.deadline <= state.boot }.sorted { $0.deadline < $1.deadline }
      state.sleepers.removeAll { $0.deadline <= state.boot }
      return due
    }
    for sleeper in due { sleeper.wake() }
  }

  public func sleep(milliseconds: Int64) async throws(CancellationError) {
    let sleeper = Sleeper(deadline: bootNanoseconds.adding(milliseconds.multiplied(by: 1_000_000)))
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        sleeper.start(continuation)
        let isDue = state.with { state -> Bool in
          guard sleeper.deadline > state.boot else { return true }
          // A task that was cancelled meanwhile is not kept.
          if sleeper.isAsleep { state.sleepers.append(sleeper) }
          return false
        }
        if isDue { sleeper.wake() }
      }
    } onCancel: {
      sleeper.wake()
      state.with { state in state.sleepers.removeAll { $0 === sleeper } }
    }
    if Task.isCancelled { throw CancellationError() }
  }
}
