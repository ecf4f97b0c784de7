import CLinux
import Glibc

/// A value behind a mutex. (`Synchronization.Mutex` gives false reports under the thread sanitizer.)
public final class Locked<Value>: @unchecked Sendable {
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline var value: Value

  /// A recursive lock may be taken again by the thread that holds it.
  public init(_ value: Value, isRecursive: Bool = false) {
    self.value = value
    mutex = .allocate(capacity: 1)
    kassa_mutex_init(mutex, isRecursive)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Inlined, so that it knows its types.
  @inlinable
  public func with<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
