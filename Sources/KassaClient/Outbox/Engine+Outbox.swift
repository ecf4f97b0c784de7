import KassaCore
import KassaJSON
import KassaPlatform

/// Sending what the outbox holds: first what the service has yet to hear of people, then receipts, one at a time and in
/// the order of their capture. Nothing leaves it but by acceptance.
extension Engine {
  // MARK: When

  func wakeOutbox(_ urgency: OutboxState.Urgency = .due) {
    outbox.wanted = max(outbox.wanted ?? .due, urgency)
    guard outbox.sender == nil, let active, !active.isInert else { return }
    // The disk is given time to recover: else what it does not take is sent over and over.
    if urgency == .due, outbox.isBroken, outbox.timer != nil { return }
    // Nothing can be sent before the pause is over, and then the timer, or whoever ends it, calls again.
    if pause(of: active) != nil {
      if outbox.timer == nil { armOutbox() }
      return
    }
    outbox.sender = Task(executorPreference: loop) { await self.emptyOutbox() }
  }

  private func emptyOutbox() async {
    while let urgency = outbox.wanted, let active {
      outbox.wanted = nil
      switch outbox.lock?.tryLock() ?? .locked {
      case .locked:
        await sendAll(urgency, active)
        outbox.lock?.unlock()
      case .taken:
        // Whoever sends sends what is due; what is wanted besides waits for our turn.
        outbox.wanted = urgency
        outbox.sender = nil
        outbox.progress.fire()
        return armOutbox(after: Constants.senderCheckMilliseconds)
      case .failed(let errno):
        reportOnce("queue_lock_failed", "the outbox cannot be locked, so nothing is sent", ["errno": JSON(Int(errno))])
        outbox.sender = nil
        return armOutbox(after: Constants.backgroundBackoffCapMilliseconds)
      }
    }
    outbox.sender = nil
    outbox.progress.fire()
    armOutbox()
  }

  /// Wakes the outbox when the next receipt is due, or after so long.
  private func armOutbox(after milliseconds: Int64? = nil) {
    outbox.timer?.cancel()
    outbox.timer = nil
    guard let active, let wait = milliseconds ?? outboxWait(active) else { return }
    outbox.timer = Task(executorPreference: loop) { await self.wakeOutbox(after: wait) }
  }

  private func wakeOutbox(after milliseconds: Int64) async {
    do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch { return }
    outbox.timer = nil
    wakeOutbox()
  }

  /// How long nothing can be sent; nil when only something else can change that.
  private func outboxWait(_ active: Active) -> Int64? {
    let pause = pause(of: active)
    if pause == .unauthorized { return nil }
    if outbox.isBroken { return Constants.backgroundBackoffCapMilliseconds }
    let now = state.now
    let next = (try? storage.nextReceiptTime(scope: active.setup.scope, now: now)) ?? nil
    let held = (try? storage.heldUntil(.receipts, scope: active.setup.scope, now: now)) ?? nil
    let quiet = outbox.quietUntil.subtracting(time.bootNanoseconds / 1_000_000)
    // No wait is longer than that after a refusal: see `waitingReceipts`.
    let receipts = next.map {
      max(min(max($0, held ?? 0).subtracting(now), Constants.refusedReceiptMilliseconds), quiet)
    }
    let writesHeld = personWritesHeldUntil(active).map { $0.subtracting(now) }
    let writesFailed =
      outbox.writeFailures > 0
      ? RetryPolicy.interactive.delay(retry: outbox.writeFailures, jitter: random.fraction()) : nil
    let writes = [writesHeld, writesFailed].compactMap(\.self).max()
    guard let wait = [receipts, writes].compactMap(\.self).min() else { return nil }
    switch pause {
    case .unauthorized: return nil
    case .failing(let milliseconds): return max(wait, milliseconds, 1)
    case nil: return max(wait, 1)
    }
  }

  private func pause(of active: Active) -> BackendPause? {
    if case .people(let backend) = active.setup.backend { backend.pause } else { nil }
  }

  // MARK: Sending

  private func sendAll(_ urgency: OutboxState.Urgency, _ active: Active) async {
    await sendPersonWrites(active)
    var urgency = urgency
    // A restore may wait behind a capture that has just been delivered.
    while isCurrent(active), !Task.isCancelled, await sendPass(urgency, active) { urgency = .due }
  }

  /// Goes through the queue once. True when some were accepted, so that another look is worth it.
  private func sendPass(_ urgency: OutboxState.Urgency, _ active: Active) async -> Bool {
    let pass = OutboxPass(urgency: urgency, scope: active.setup.scope)
    while isCurrent(active), !Task.isCancelled, pause(of: active) == nil, !pass.isOver, !isQuiet(urgency) {
      guard let rows = nextRows(pass, active), !rows.isEmpty else { break }
      for (row, next) in zip(rows, rows.dropFirst().map(Optional.some) + [nil]) {
        pass.last = row.receipt.number
        // The next one is made ready while this one is under way.
        if let next, case .people(let backend) = active.setup.backend {
          loop.postWhenIdle { pass.prepare(next.receipt, for: backend) }
        }
        await send(row, in: pass, active)
        if pass.isOver || pass.mustLookAgain || !isCurrent(active) || pause(of: active) != nil { break }
      }
      pass.mustLookAgain = false
    }
    write(pass)
    if pass.accepted > 0, active.hasPeople { chasePerson() }
    // What the disk did not take is sent again, but not at once.
    outbox.isBroken = outbox.isBroken || !pass.isWritten
    return pass.accepted > 0 && !outbox.isBroken
  }

  /// Somebody else than the service answers, so it is left alone for a while.
  private func isQuiet(_ urgency: OutboxState.Urgency) -> Bool {
    urgency == .due && time.bootNanoseconds / 1_000_000 < outbox.quietUntil
  }

  /// nil when they cannot be read, which is not the same as none.
  private func nextRows(_ pass: OutboxPass, _ active: Active) -> [ClientStorage.ReceiptRow]? {
    let now = state.now
    do throws(DatabaseError) {
      let isHeld = try storage.heldUntil(.receipts, scope: active.setup.scope, now: now) != nil
      let rows = try storage.waitingReceipts(
        after: pass.last, dueBy: now, retriesToo: pass.urgency == .everything, restoresOnly: isHeld,
        limit: Constants.outboxBatch, scope: active.setup.scope)
      outbox.isBroken = false
      return rows
    } catch {
      outbox.isBroken = true
      reportOnce(
        "queue_read_failed", "the outbox cannot be read; nothing is sent until it can: \(error.message)",
        ["sqlite_code": JSON(Int(error.code))])
      return nil
    }
  }

  private func send(_ row: ClientStorage.ReceiptRow, in pass: OutboxPass, _ active: Active) async {
    let verdict: ReceiptVerdict
    do throws(KassaError) { verdict = try await submit(row, in: pass, active) } catch {
      // A cancelled call, and one that a refused key stopped, say nothing of the receipt.
      if error.code == .cancelled || error.code == .unauthorized || pause(of: active) == .unauthorized {
        pass.isOver = true
        return
      }
      return postpone(row, error, in: pass, active)
    }
    outbox.strangers = 0
    switch verdict {
    case .accepted:
      pass.accepted += 1
      let now = time.bootNanoseconds / 1_000_000
      pass.add(row, .accepted(at: state.now), now: now)
      if outbox.awaited[row.id] != nil || pass.isDue(now: now) { write(pass) }
      accepted(row, active)
      // Of a long queue the person has news before its end, but is not asked for as often as receipts are sent.
      let age = time.bootNanoseconds.subtracting(people.personAskedAt ?? .min) / 1_000_000
      if age >= Constants.refreshesAfterAcceptance.max() ?? 0, active.hasPeople { chasePerson() }
    case .refused(let message, let status): refuse(row, message, status, in: pass)
    }
  }

  private func submit(
    _ row: ClientStorage.ReceiptRow, in pass: OutboxPass, _ active: Active
  ) async throws(KassaError) -> ReceiptVerdict {
    switch active.setup.backend {
    case .people(let backend): return try await pass.submission(of: row.receipt, to: backend)()
    case .memberships(let backend): return try await submit(row, to: backend, active)
    }
  }

  private func postpone(_ row: ClientStorage.ReceiptRow, _ error: KassaError, in pass: OutboxPass, _ active: Active) {
    let now = state.now
    let attempts = row.receipt.attempts + 1
    // A wait that is over at once, or a date that has passed, shortens none.
    let wait = max(
      min(error.retryAfterMilliseconds ?? 0, Constants.longestRetryAfterMilliseconds),
      RetryPolicy.interactive.delay(retry: attempts, jitter: random.fraction()))
    let until = now.adding(wait)
    if error.retryAfterMilliseconds != nil {
      // What the service says of one receipt it says of all.
      write { storage throws(DatabaseError) in
        try storage.hold(.receipts, until: until, scope: active.setup.scope, now: now)
      }
      pass.mustLookAgain = true
    }
    if error.code == .notServiceAnswer {
      // It would answer the others, too.
      outbox.strangers += 1
      let wait = RetryPolicy.interactive.delay(retry: outbox.strangers, jitter: random.fraction())
      outbox.quietUntil = (time.bootNanoseconds / 1_000_000).adding(wait)
      pass.isOver = true
    }
    pass.outcomes.append((row, .postponed(until: until, attempts: attempts, refusedAt: row.receipt.refusedAt)))
    write(pass)
    report(
      "transaction_sync_deferred", "a receipt was not delivered and is sent again: \(error.message)",
      [
        "transaction_id": JSON(row.receipt.transactionID), "code": JSON(error.code.rawValue),
        "status": JSON(error.status), "attempts": JSON(attempts), "retry_at": JSON(until),
      ])
  }

  private func refuse(_ row: ClientStorage.ReceiptRow, _ message: String, _ status: Int?, in pass: OutboxPass) {
    let now = state.now
    pass.outcomes.append(
      (
        row,
        .postponed(
          until: now.adding(Constants.refusedReceiptMilliseconds), attempts: row.receipt.attempts + 1, refusedAt: now)
      ))
    write(pass)
    report(
      "transaction_rejected",
      "the service refuses the receipt for good; it stays, and is offered again at the next start, after 6 hours, or "
        + "by a restore: \(message)",
      ["transaction_id": JSON(row.receipt.transactionID), "status": JSON(status)])
  }

  /// Those that are not written down are sent again, which the service takes for the same; but none besides them, while
  /// nothing can be written down.
  private func write(_ pass: OutboxPass) {
    let (outcomes, scope) = (pass.outcomes, pass.scope)
    guard !outcomes.isEmpty else { return }
    pass.outcomes = []
    let isWritten = write { storage throws(DatabaseError) in
      try storage.save(outcomes, scope: scope)
      return true
    }
    if isWritten == true {
      tellNews(
        of: outcomes.lazy.filter { $0.outcome.isAcceptance && $0.row.receipt.restoreOwner == nil }.map(\.row.id))
    } else {
      (pass.isWritten, pass.isOver) = (false, true)
    }
    outbox.progress.fire()
  }

  // MARK: Waiting for acceptance

  /// Whether the service accepts all of these within so long. A refusal for good is an answer, too.
  func isAccepted(_ ids: [ReceiptID], within milliseconds: Int64, _ active: Active) async -> Bool {
    let deadline = time.bootNanoseconds / 1_000_000 + milliseconds
    // The last one is sent last.
    var waiting = ids
    while let id = waiting.last {
      let row = (try? storage.receiptRow(id, scope: active.setup.scope)) ?? nil
      if row?.isAccepted ?? false {
        waiting.removeLast()
        continue
      }
      let left = deadline - time.bootNanoseconds / 1_000_000
      guard left > 0, isCurrent(active), !Task.isCancelled else { return false }
      // What was refused is not sent again before the wait is over.
      if let receipt = row?.receipt, receipt.refusedAt != nil, receipt.availableAt > state.now.adding(left) {
        return false
      }
      outbox.awaited[id, default: 0] += 1
      await waitForProgress(milliseconds: left)
      let others = (outbox.awaited[id] ?? 1) - 1
      outbox.awaited[id] = others > 0 ? others : nil
    }
    return true
  }

  // MARK: At the start

  /// What an earlier run left is sent; what was refused then is offered again.
  func startOutbox(_ active: Active) {
    let scope = active.setup.scope
    if outbox.releasedScopes.insert(scope).inserted {
      let now = state.now
      write { storage throws(DatabaseError) in
        try storage.releaseRefusedReceipts(scope: scope)
        try storage.forgetReceipts(
          acceptedBefore: now.subtracting(Constants.acceptedReceiptMilliseconds), scope: scope)
      }
      if let count = try? storage.waitingReceiptCount(scope: scope), count > Constants.outboxBacklog {
        report(
          "transaction_outbox_backlog", "\(count) receipts wait for the service; each is kept until it is accepted",
          ["count": JSON(count)])
      }
    }
    wakeOutbox()
  }

  func stopOutbox() {
    outbox.sender?.cancel()
    outbox.timer?.cancel()
    outbox.news.alarm?.cancel()
    // What is under way was given up with the connections; somebody else may send it now.
    outbox.lock?.unlock()
    outbox.progress.fire()
  }
}
