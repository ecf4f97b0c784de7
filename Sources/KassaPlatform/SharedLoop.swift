import CLinux

/// The library's one thread: it starts with the first client that wants it and is gone after the last.
extension EventLoop {
  private struct Holding: BitwiseCopyable {
    var loop: UnsafeMutableRawPointer?
    var clients: Int
  }
  private static let process = ProcessWide(zeroed: Holding.self)

  /// The loop of the process; each call needs a `releaseShared`.
  public static func acquireShared() throws(PlatformError) -> EventLoop {
    let loop = try process.with { holding throws(PlatformError) -> EventLoop in
      if let loop = holding.loop {
        holding.clients += 1
        return Unmanaged<EventLoop>.fromOpaque(loop).takeUnretainedValue()
      }
      let loop = try EventLoop(mode: .library)
      holding = Holding(loop: Unmanaged.passRetained(loop).toOpaque(), clients: 1)
      return loop
    }
    guard let loop else { throw PlatformError("no memory for the event loop") }
    return loop
  }

  /// Gives the loop back; the last one to do so waits until the thread is gone.
  public static func releaseShared(_ loop: EventLoop) {
    process.with { holding in
      // A loop of the parent is nothing to a child.
      guard let current = holding.loop, current == Unmanaged.passUnretained(loop).toOpaque() else { return }
      holding.clients -= 1
      guard holding.clients == 0 else { return }
      holding.loop = nil
      loop.stop()
      Unmanaged<EventLoop>.fromOpaque(current).release()
    }
  }
}
