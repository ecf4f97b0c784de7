import KassaCore
import KassaJSON

extension SimulatedStore {
  /// Does something to the account, its family or the store, and says what came of it: `now`, and the `events` that it
  /// made. docs/simulated-store.md lists the actions. Time is moved by the client, not here.
  @discardableResult
  public func simulate(_ action: JSON) throws(KassaError) -> JSON {
    let action = try read(action)
    switch action {
    case .state: return try state()
    case .events: return try everyEvent()
    default: break
    }
    let events = try change { ledger, shop throws(StoreRefusal) in
      let events = try ledger.perform(action, in: shop)
      return (events, events)
    }
    if case .intent(let order) = action { emit(.intent(order)) }
    for event in events where event.kind == .message {
      guard let id = event.details.first(where: { $0.key == "message_id" })?.value.string else { continue }
      if let message = ledger.messages.first(where: { $0.id == id }) { emit(.message(message.document)) }
    }
    return ["now": JSON(ledger.now), "events": .array(events.map(\.document))]
  }

  private func read(_ action: JSON) throws(KassaError) -> StoreAction {
    do throws(JSONShapeError) { return try StoreAction(action) } catch {
      throw KassaError(.invalidArgument, "the store's action: \(error)")
    }
  }

  /// When the client finishes a transaction depends on how fast it is, so that is left out: the rest is the same for the
  /// same script.
  private func everyEvent() throws(KassaError) -> JSON {
    try refresh()
    let log = try eventLog().compactMap { line in try? JSON.parse(line) }
    let events = log.filter { $0["event"]?.string != LedgerEvent.Kind.finished.rawValue }
    return ["now": JSON(ledger.now), "events": .array(events)]
  }

  private func state() throws(KassaError) -> JSON {
    try refresh()
    return [
      "now": JSON(ledger.now), "policy": JSON(policy.word), "storefront": ledger.storefront?.document ?? .null,
      "transactions": .array(ledger.transactions.all.map { $0.document.merging([("token", .null)]) }),
      "pending": .array(ledger.pending.map { $0.document.merging([("token", .null)]) }),
      "messages": .array(ledger.messages.map(\.document)),
    ]
  }
}
