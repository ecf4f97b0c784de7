import CLinux
import Glibc

/// A value of the whole process behind a mutex, in memory that reads as zeroes in a child made by fork: there the value
/// is as new, and nobody holds the mutex, whatever the parent's threads were doing. (All zeroes is a valid mutex.)
public final class ProcessWide<Value: BitwiseCopyable>: @unchecked Sendable {
  private struct Memory {
    var mutex: pthread_mutex_t
    var value: Value
  }
  private let memory: UnsafeMutablePointer<Memory>?

  /// The value must be as good as new when all its bytes are zero.
  public init(zeroed: Value.Type) {
    memory = kassa_memory_wiped_on_fork(MemoryLayout<Memory>.size)?.bindMemory(to: Memory.self, capacity: 1)
  }

  /// Nil only if the system gave no memory.
  public func with<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let memory else { return nil }
    pthread_mutex_lock(&memory.pointee.mutex)
    defer { pthread_mutex_unlock(&memory.pointee.mutex) }
    return try body(&memory.pointee.value)
  }
}
