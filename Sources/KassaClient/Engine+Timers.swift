import KassaCore
import KassaJSON
import KassaPlatform

/// What happens by itself: retries, and the ends of grants.
extension Engine {
  /// Looks where the user buys and what was bought; nobody waits for the latter.
  func settleStore() -> Task<Void, Never>? {
    guard active?.setup.store != nil else { return nil }
    let storefront = Task(executorPreference: loop) { await self.lookUpStorefront() }
    Task(executorPreference: loop) {
      await storefront.value
      await self.scanStore(always: true)
      await self.wakeOutbox()
    }
    return storefront
  }

  /// Waits for what goes on by itself, but not for ever.
  func wait(_ milliseconds: Int64, for work: Task<Void, Never>) async {
    let limit = Task(executorPreference: loop) { _ = try? await self.time.sleep(milliseconds: milliseconds) }
    Task(executorPreference: loop) {
      await work.value
      limit.cancel()
    }
    await withTaskCancellationHandler {
      await limit.value
    } onCancel: {
      limit.cancel()
    }
  }

  /// Tries again what failed, until it succeeds.
  func scheduleRetry() {
    guard retry == nil else { return }
    retry = Task(executorPreference: loop) { await self.retryUntilDone() }
  }

  func retryUntilDone() async {
    defer { retry = nil }
    var tries = 0
    while let number = active?.number {
      tries += 1
      let delay = RetryPolicy.background.delay(retry: tries, jitter: random.fraction())
      do throws(CancellationError) { try await time.sleep(milliseconds: delay) } catch { return }
      guard number == active?.number else { continue }
      do throws(KassaError) {
        try await refresh(.refresh)
        if !state.isInitialized { state.change(.refresh) { $0.isInitialized = true } }
        try await claimPending()
        wakeOutbox()
        return
      } catch {
        // Another configuration deserves tries of its own.
        guard number == active?.number else {
          tries = 0
          continue
        }
        if active?.configuration.isDebug ?? false {
          report("refresh_failed", error.message, ["code": JSON(error.code.rawValue), "try": JSON(tries)])
        }
        if error.code == .closed || !error.isTransient { return }
      }
    }
  }

  /// When an answer next changes by itself, on the boot clock.
  func armExpiry(at boot: Int64?) {
    guard boot != expiryAt else { return }
    // A clock that was set right may have jumped over an end.
    let hasPassed = expiryEnd.map { $0 <= state.now } ?? false
    expiryEnd = state.nextEnd
    if hasPassed { Task(executorPreference: loop) { await self.lookAfterEnd() } }
    expiryAt = boot
    expiry?.cancel()
    expiry = nil
    guard let boot else { return }
    expiry = Task(executorPreference: loop) { await self.expire(at: boot) }
  }

  func expire(at boot: Int64) async {
    let milliseconds = max(0, boot &- time.bootNanoseconds) / 1_000_000 + 1
    do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch { return }
    (expiryAt, expiryEnd) = (nil, nil)
    state.expireIfDue()
    armExpiry(at: state.nextEndOnBootClock)
    await lookAfterEnd()
  }

  func lookAfterEnd() async {
    // So that a clock set back before the next start cannot revive what has ended.
    saveTime()
    // The store may know of a renewal, or of a grace period.
    await scanStore(always: true)
  }
}
