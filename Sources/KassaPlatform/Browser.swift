import CLinux
import Glibc

/// The user's browser.
public enum Browser {
  /// Opens an http or https address with `xdg-open`. False if it is no such address, or if nothing could be started;
  /// what the browser makes of it is not known. From any thread. The loop collects the child when it ends, so the
  /// host's own handling of children is not touched.
  public static func open(_ url: String, on loop: EventLoop) -> Bool { open(url, with: "xdg-open", on: loop) }

  static func open(_ url: String, with program: String, on loop: EventLoop) -> Bool {
    guard isWebAddress(url) else { return false }
    let child = kassa_spawn(program, url)
    guard child > 0 else { return false }
    loop.post { collect(child, on: loop) }
    return true
  }

  static func isWebAddress(_ url: String) -> Bool {
    let start = url.prefix(8).lowercased()
    return (start.hasPrefix("http://") || start.hasPrefix("https://"))
      && url.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
  }

  /// The children of one loop that still run, by the descriptors that tell when they end.
  private final class Children {
    var descriptors: Set<Int32> = []
    init(loop: EventLoop) {
      loop.atStop { [self] in
        for descriptor in descriptors { close(descriptor) }
      }
    }
  }

  private static func collect(_ child: pid_t, on loop: EventLoop) {
    let descriptor = kassa_process_descriptor(child)
    guard descriptor >= 0 else { return poll(child, on: loop) }
    loop.resident { Children(loop: loop) }.descriptors.insert(descriptor)
    loop.watch(descriptor, events: .readable) { _ in
      _ = kassa_reap(child)
      loop.unwatch(descriptor)
      loop.resident { Children(loop: loop) }.descriptors.remove(descriptor)
      close(descriptor)
    }
  }

  /// Where the kernel cannot say that a child has ended, the loop looks once a second.
  private static func poll(_ child: pid_t, on loop: EventLoop) {
    guard !kassa_reap(child) else { return }
    _ = loop.timer(atBootNanoseconds: kassa_boot_nanoseconds().adding(1_000_000_000)) { poll(child, on: loop) }
  }
}
