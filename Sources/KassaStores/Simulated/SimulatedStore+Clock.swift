import KassaCore
import KassaPlatform

// How a simulated store notices that a renewal is due.
extension SimulatedStore {
  /// Wakes when the next thing is due. The longest sleep is short enough to notice a clock that was set.
  func schedule() {
    guard listener != nil else { return }
    guard let due = ledger.dueAt else {
      timer?.cancel()
      (timer, timerDue) = (nil, nil)
      return
    }
    guard due != timerDue else { return }
    timerDue = due
    sleep(milliseconds: min(max(1, due.subtracting(ports.now())), Self.longestSleep))
  }

  private func sleep(milliseconds: Int64) {
    guard let start = ports.start else { return }
    timer?.cancel()
    timer = start { [weak self, time = ports.time] in
      do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch { return }
      self?.wake()
    }
  }

  /// Looks what is due, after a sleep that was cut short too. While the disk is full or locked, ever more seldom: the next
  /// call says why.
  func wake() {
    timerDue = nil
    do throws(KassaError) {
      try refresh()
      retryDelay = nil
    } catch {
      let delay = min(max(Self.shortestRetry, (retryDelay ?? 0).adding(retryDelay ?? 0)), Self.longestRetry)
      retryDelay = delay
      if listener != nil { sleep(milliseconds: delay) }
    }
  }

  private static let longestSleep: Int64 = 3_600_000
  private static let shortestRetry: Int64 = 1_000
  private static let longestRetry: Int64 = 60_000
}
