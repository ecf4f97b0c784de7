import KassaCore
import KassaJSON
import KassaPlatform

/// Questions to the host, which it answers from any thread, at once or after its user has done something.
final class HostRequests: Sendable {
  private enum Ending {
    case reply(JSON)
    /// Nobody waits any more.
    case withdrawn
    /// The host took too long.
    case late
  }

  private struct Waiting {
    var continuations: [UInt64: CheckedContinuation<Ending, Never>] = [:]
    /// On their way into the queue, and whether they were withdrawn meanwhile.
    var leaving: [UInt64: Bool] = [:]
  }

  private let queue: EventQueue
  private let loop: EventLoop
  private let time: any TimeSource
  private let waiting = Locked(Waiting())

  init(queue: EventQueue, loop: EventLoop, time: any TimeSource) {
    (self.queue, self.loop, self.time) = (queue, loop, time)
  }

  /// The host's reply; throws `cancelled` when the task is cancelled or the client closed first, and `timed_out` when the
  /// host takes longer than so many seconds.
  func ask(
    _ service: String, _ method: String, _ parameters: JSON, within seconds: Int64 = Constants.hostAnswerSeconds
  ) async throws(KassaError) -> JSON {
    let id = queue.reserveRequest()
    guard id != 0 else { throw KassaError(.closed, "the client was closed") }
    let document: JSON = [
      "type": "request", "id": JSON(Int64(clamping: id)), "service": JSON(service), "method": JSON(method),
      "params": parameters,
    ]
    let alarm = Task(executorPreference: loop) { await self.giveUp(id, after: seconds) }
    let ending = await withTaskCancellationHandler {
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
    alarm.cancel()
    switch ending {
    case .reply(let reply): return reply
    case .withdrawn: throw KassaError(.cancelled, "the request to the host was withdrawn")
    case .late:
      throw KassaError(
        .timedOut, "the host did not answer \(service)/\(method) within \(seconds) seconds", retryable: true)
    }
  }

  private func giveUp(_ id: UInt64, after seconds: Int64) async {
    do throws(CancellationError) { try await time.sleep(milliseconds: seconds * 1_000) } catch { return }
    withdraw(id, .late)
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
    continuation.resume(returning: .reply(reply))
    return true
  }

  private func withdraw(_ id: UInt64, _ ending: Ending = .withdrawn) {
    let (continuation, isLeaving) = waiting.with { waiting in
      let continuation = waiting.continuations.removeValue(forKey: id)
      let isLeaving = waiting.leaving[id] != nil
      if isLeaving, continuation != nil { waiting.leaving[id] = true }
      return (continuation, isLeaving)
    }
    guard let continuation else { return }
    if !isLeaving { queue.withdraw(request: id) }
    continuation.resume(returning: ending)
  }

  func close() {
    let all = waiting.with { waiting in
      defer { waiting.continuations = [:] }
      return Array(waiting.continuations.values)
    }
    for continuation in all { continuation.resume(returning: .withdrawn) }
  }
}

extension JSON {
  /// What a host says that cannot answer: `{"error":{"message":"..."}}`.
  var hostError: String? {
    guard let error = self["error"], !error.isNull else { return nil }
    return error["message"]?.string ?? error.string ?? "the host gave no reason"
  }
}
