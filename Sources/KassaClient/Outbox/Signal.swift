import KassaCore
import KassaPlatform

/// Wakes whoever waits on the loop for something to happen. Used there only.
final class Signal {
  private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  private var lastNumber = 0

  func fire() {
    let woken = waiting
    waiting = [:]
    // Whoever waited longest goes on first.
    for (_, continuation) in woken.sorted(by: { $0.key < $1.key }) { continuation.resume() }
  }

  /// A place among those who wait.
  func reserve() -> Int {
    lastNumber += 1
    return lastNumber
  }

  func wait(_ place: Int) async { await withCheckedContinuation { waiting[place] = $0 } }

  /// Ends the wait of one place.
  func wake(_ place: Int) { waiting.removeValue(forKey: place)?.resume() }
}

extension Engine {
  /// Waits until something came of a receipt, at most so long. Ends early when the task is cancelled.
  func waitForProgress(milliseconds: Int64) async {
    guard milliseconds > 0, !Task.isCancelled else { return }
    let place = outbox.progress.reserve()
    let alarm = Task(executorPreference: loop) { await self.wake(place, after: milliseconds) }
    await withTaskCancellationHandler {
      await outbox.progress.wait(place)
    } onCancel: {
      Task(executorPreference: loop) { await self.wake(place, after: 0) }
    }
    alarm.cancel()
  }

  private func wake(_ place: Int, after milliseconds: Int64) async {
    if milliseconds > 0 {
      do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch { return }
    }
    outbox.progress.wake(place)
  }
}
