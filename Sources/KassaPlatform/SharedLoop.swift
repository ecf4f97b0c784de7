import CLinux
import Glibc

/// The library's one thread: it starts with the first client that wants it and is gone after the last.
extension EventLoop {
  /// The loop and how many clients hold it. In a child made by fork the memory reads as zeroes: no loop, no client,
  /// and a mutex that nobody holds, whatever the parent's threads were doing.
  private struct Process {
    var mutex: pthread_mutex_t
    var loop: UnsafeMutableRawPointer?
    var clients: Int
  }

  private nonisolated(unsafe) static let process: UnsafeMutablePointer<Process>? =
    kassa_memory_wiped_on_fork(MemoryLayout<Process>.size)?.bindMemory(to: Process.self, capacity: 1)

  /// The loop of the process; each call needs a `releaseShared`.
  public static func acquireShared() throws(PlatformError) -> EventLoop {
    guard let process else { throw PlatformError.call("mmap") }
    pthread_mutex_lock(&process.pointee.mutex)
    defer { pthread_mutex_unlock(&process.pointee.mutex) }
    if let loop = process.pointee.loop {
      process.pointee.clients += 1
      return Unmanaged<EventLoop>.fromOpaque(loop).takeUnretainedValue()
    }
    let loop = try EventLoop(mode: .library)
    process.pointee.loop = Unmanaged.passRetained(loop).toOpaque()
    process.pointee.clients = 1
    return loop
  }

  /// Gives the loop back; the last one to do so waits until the thread is gone.
  public static func releaseShared(_ loop: EventLoop) {
    guard let process else { return }
    pthread_mutex_lock(&process.pointee.mutex)
    defer { pthread_mutex_unlock(&process.pointee.mutex) }
    // A loop of the parent is nothing to a child.
    guard let current = process.pointee.loop, current == Unmanaged.passUnretained(loop).toOpaque() else { return }
    process.pointee.clients -= 1
    guard process.pointee.clients == 0 else { return }
    process.pointee.loop = nil
    loop.stop()
    Unmanaged<EventLoop>.fromOpaque(current).release()
  }
}
