import Glibc
import Synchronization

/// A thread of its own for a test that keeps it busy: Swift's pool has one per core only, and others wait for them.
final class TestThread: Sendable {
  private let thread: pthread_t

  init(_ body: @escaping @Sendable () -> Void) {
    final class Body {
      let run: @Sendable () -> Void
      init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { body in
        if let body { Unmanaged<Body>.fromOpaque(body).takeRetainedValue().run() }
        return nil
      }, Unmanaged.passRetained(Body(run: body)).toOpaque())
    self.thread = thread
  }

  func join() { pthread_join(thread, nil) }
}

/// A word that one thread writes and others read.
final class SharedWord: Sendable {
  private let atomic = Atomic<Int>(0)
  var value: Int {
    get { atomic.load(ordering: .acquiring) }
    set { atomic.store(newValue, ordering: .releasing) }
  }
}
