import Foundation
import KassaPlatform

/// Runs a test on a loop that is stopped afterwards. It is on the loop, so that what it measures does not depend on
/// Swift's pool of threads, which other tests block.
func withLoop<Value: Sendable>(
  _ mode: EventLoop.Mode = .library, _ body: @escaping @Sendable (EventLoop) async throws -> Value
) async throws -> Value {
  let loop = try EventLoop(mode: mode)
  let driver = Locked(false)
  if mode == .host {
    // A host that does nothing but wait.
    Thread.detachNewThread {
      _ = loop.wait(timeoutMilliseconds: -1) { driver.with { $0 } }
      driver.with { $0 = false }
    }
  }
  let result = await Task(executorPreference: loop) { try await body(loop) }.result
  if mode == .host {
    driver.with { $0 = true }
    loop.wakeWaiters()
    while driver.with({ $0 }) { usleep(100) }
  }
  loop.stop()
  return try result.get()
}

/// Milliseconds that the body took.
func duration(_ body: () async throws -> Void) async rethrows -> Double {
  let start = ContinuousClock.now
  try await body()
  return (ContinuousClock.now - start) / .milliseconds(1)
}

/// A sanitizer keeps freed memory for a while, so how much there is says nothing.
let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

/// Peak of the memory of this process, in bytes.
func peakMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
  return (Int(line.filter(\.isNumber)) ?? 0) << 10
}
