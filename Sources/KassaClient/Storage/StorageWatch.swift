import CLinux
import Glibc
import KassaPlatform

/// Hears of other processes that write to the same storage.
///
/// The kernel names the write-ahead log at every commit, ours too, and never at a read; SQLite then tells whether it
/// was another connection. Made and stopped on the loop.
final class StorageWatch: Sendable {
  private let descriptor: Int32
  private let loop: EventLoop

  /// Nil where the kernel has no watch left to give; then changes are seen at the next start.
  init?(directory: String, loop: EventLoop, changed: @escaping @Sendable () -> Void) {
    descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    self.loop = loop
    guard descriptor >= 0 else { return nil }
    guard inotify_add_watch(descriptor, directory, UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO)) >= 0 else {
      close(descriptor)
      return nil
    }
    let descriptor = self.descriptor, hearing = self.hearing
    loop.watch(descriptor, events: .readable) { _ in
      Self.drain(descriptor)
      // Of many commits in a row, some at a time are looked into.
      guard hearing.with({ $0.isFirst() }) else { return }
      _ = loop.timer(atBootNanoseconds: kassa_boot_nanoseconds() + Self.pauseNanoseconds) {
        if hearing.with({ $0.look() }) { changed() }
      }
    }
  }

  private static let pauseNanoseconds: Int64 = 10_000_000
  private let hearing = Locked(Hearing())

  private struct Hearing {
    var isOver = false
    private var isDue = false

    mutating func isFirst() -> Bool {
      defer { isDue = true }
      return !isDue
    }

    mutating func look() -> Bool {
      isDue = false
      return !isOver
    }
  }

  private static func drain(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
      while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
    }
  }

  /// Nothing is heard afterwards.
  func stop() {
    hearing.with { $0.isOver = true }
    loop.unwatch(descriptor)
    close(descriptor)
  }
}
