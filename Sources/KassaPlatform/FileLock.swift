import Glibc

/// A lock between processes, and between the clients of one process, that ends with whoever holds it, however they end.
public final class FileLock {
  private let path: String
  private var descriptor: Int32 = -1

  /// - Parameter path: a file that is made if it is missing, and never removed.
  public init(path: String) { self.path = path }

  deinit { unlock() }

  public enum Attempt: Sendable, Equatable {
    case locked
    /// Somebody else holds it.
    case taken
    case failed(errno: Int32)
  }

  /// Does not wait.
  public func tryLock() -> Attempt {
    guard descriptor < 0 else { return .locked }
    let new = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard new >= 0 else { return .failed(errno: errno) }
    guard flock(new, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      close(new)
      return reason == EWOULDBLOCK ? .taken : .failed(errno: reason)
    }
    descriptor = new
    return .locked
  }

  public func unlock() {
    guard descriptor >= 0 else { return }
    // Said in words: a child made by fork has the descriptor too, and would keep the lock.
    flock(descriptor, LOCK_UN)
    close(descriptor)
    descriptor = -1
  }
}
