import KassaCore

/// What a task waits for on the loop. It ends once: with a result, or by cancellation of the task. Used on the loop only.
final class Pending<Value: Sendable>: @unchecked Sendable {
  private var continuation: CheckedContinuation<Result<Value, TransportError>, Never>?
  private var isOver = false
  private var cleanups: [() -> Void] = []

  fileprivate func begin(_ continuation: CheckedContinuation<Result<Value, TransportError>, Never>) -> Bool {
    // A task that was cancelled before it came here does not start.
    guard !isOver else {
      continuation.resume(returning: .failure(.cancelled))
      return false
    }
    self.continuation = continuation
    return true
  }

  /// Gives back what the work holds: called once, before the task goes on.
  func onEnd(_ cleanup: @escaping () -> Void) { cleanups.append(cleanup) }

  func end(_ result: Result<Value, TransportError>) {
    guard !isOver else { return }
    isOver = true
    for cleanup in cleanups { cleanup() }
    cleanups = []
    continuation?.resume(returning: result)
    continuation = nil
  }
}

extension EventLoop {
  /// Starts work on the loop and waits until it ends. When the task is cancelled, the work ends at once.
  func pending<Value: Sendable>(
    _ start: @escaping @Sendable (Pending<Value>) -> Void
  ) async throws(TransportError) -> Value {
    let pending = Pending<Value>()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        post {
          if pending.begin(continuation) { start(pending) }
        }
      }
    } onCancel: {
      post { pending.end(.failure(.cancelled)) }
    }
    return try result.get()
  }
}
