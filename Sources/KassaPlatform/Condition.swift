import CLinux
import Glibc

/// A value behind a mutex, with a condition on the monotonic clock.
final class Condition<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var value: Value

  init(_ value: Value) {
    self.value = value
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    kassa_mutex_init(mutex, false)
    kassa_condition_init(condition)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  func with<Result>(_ body: (inout Value) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&value)
  }

  func broadcast() { pthread_cond_broadcast(condition) }

  /// Sleeps until the value is as wanted, or that monotonic time has passed. `isWanted` may take what it finds.
  func wait(until nanoseconds: Int64, _ isWanted: (inout Value) -> Bool) {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while !isWanted(&value) {
      if nanoseconds == .max {
        pthread_cond_wait(condition, mutex)
      } else if !kassa_condition_wait_until(condition, mutex, nanoseconds) {
        return
      }
    }
  }
}
