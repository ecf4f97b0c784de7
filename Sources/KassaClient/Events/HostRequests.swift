import KassaCore
import KassaJSON
import KassaPlatform

/// Questions to the host, which it answers from any thread, now or in ten minutes.
final class HostRequests: Sendable {
  private struct Waiting {
    var continuations: [UInt64: CheckedContinuation<JSON?, Never>] = [:]
    /// On their way into the queue, and whether they were withdrawn meanwhile.
    var leaving: [UInt64: Bool] = [:]
  }

  private let queue: EventQueue
  private let waiting = Locked(Waiting())

  init(queue: EventQueue) { self.queue = queue }

  /// The host's reply; throws `cancelled` when the task is cancelled or the client closed first.
  func ask(_ service: String, _ method: String, _ parameters: JSON) async throws(KassaError) -> JSON {
    let id = queue.reserveRequest()
    guard id != 0 else { throw KassaError(.closed, "the client was closed") }
    let document: JSON = [
      "type": "request", "id": JSON(Int64(clamping: id)), "service": JSON(service), "method": JSON(method),
      "params": parameters,
    ]
    let reply = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // First somebody waits, then the host hears of it: no answer can come too early.
        waiting.with {
          $0.continuations[id] = continuation
          $0.leaving[id] = false
        }
        send(id, document)
      }
    } onCancel: {
      withdraw(id)
    }
    guard let reply else { throw KassaError(.cancelled, "the request to the host was withdrawn") }
    return reply
  }

  private func send(_ id: UInt64, _ document: JSON) {
    if Task.isCancelled || queue.isClosed { withdraw(id) }
    guard waiting.with({ $0.leaving[id] }) == false else { return waiting.with { $0.leaving[id] = nil } }
    queue.put(.request(id: id, document))
    // Withdrawn between the two: the host hears of that after the request, not before.
    if waiting.with({ $0.leaving.removeValue(forKey: id) }) == true { queue.withdraw(request: id) }
  }

  /// Whether somebody still waited for it.
  func respond(_ id: UInt64, _ reply: JSON) -> Bool {
    guard let continuation = waiting.with({ $0.continuations.removeValue(forKey: id) }) else { return false }
    continuation.resume(returning: reply)
    return true
  }

  private func withdraw(_ id: UInt64) {
    let (continuation, isLeaving) = waiting.with { waiting in
      let continuation = waiting.continuations.removeValue(forKey: id)
      let isLeaving = waiting.leaving[id] != nil
      if isLeaving, continuation != nil { waiting.leaving[id] = true }
      return (continuation, isLeaving)
    }
    guard let continuation else { return }
    if !isLeaving { queue.withdraw(request: id) }
    continuation.resume(returning: nil)
  }

  func close() {
    let all = waiting.with { waiting in
      defer { waiting.continuations = [:] }
      return Array(waiting.continuations.values)
    }
    for continuation in all { continuation.resume(returning: nil) }
  }
}

extension JSON {
  /// What a host says that cannot answer: `{"error":{"message":"..."}}`.
  var hostError: String? {
    guard let error = self["error"], !error.isNull else { return nil }
    return error["message"]?.string ?? error.string ?? "the host gave no reason"
  }
}
