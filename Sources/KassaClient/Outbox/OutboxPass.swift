import KassaCore

/// One way through the queue.
final class OutboxPass {
  let urgency: OutboxState.Urgency
  let scope: String
  var last: Int64 = 0
  var accepted = 0
  /// Not written down yet, and since when the first of them waits for it, in milliseconds of the boot clock.
  var outcomes: [(row: ClientStorage.ReceiptRow, outcome: ClientStorage.ReceiptOutcome)] = []
  private var firstAt: Int64 = 0
  /// The rows that were read may not be sent any more.
  var mustLookAgain = false
  var isOver = false
  /// The disk took what came of it.
  var isWritten = true
  private var ready: (receipt: OutgoingReceipt, submission: ReceiptSubmission)?

  init(urgency: OutboxState.Urgency, scope: String) { (self.urgency, self.scope) = (urgency, scope) }

  func add(_ row: ClientStorage.ReceiptRow, _ outcome: ClientStorage.ReceiptOutcome, now: Int64) {
    if outcomes.isEmpty { firstAt = now }
    outcomes.append((row, outcome))
  }

  /// Whether what came of them should be written down.
  func isDue(now: Int64) -> Bool {
    outcomes.count >= Constants.outboxBatch || now - firstAt >= Constants.outboxWriteMilliseconds
  }

  /// Makes ready what is sent next.
  func prepare(_ receipt: OutgoingReceipt, for backend: any PersonBackend) {
    if !isOver { ready = (receipt, backend.submission(of: receipt)) }
  }

  func submission(of receipt: OutgoingReceipt, to backend: any PersonBackend) -> ReceiptSubmission {
    defer { ready = nil }
    if let ready, ready.receipt == receipt { return ready.submission }
    return backend.submission(of: receipt)
  }
}
