/// What the listener of a simulated store has yet to hear of, in order.
struct StoreNews {
  enum Item: Sendable, Equatable {
    /// It was made or changed.
    case changed(id: String)
    /// The account has it no more.
    case forgotten(LedgerTransaction)
  }

  private(set) var items: [Item] = []
  private var changedIDs: Set<String> = []

  var isEmpty: Bool { items.isEmpty }

  mutating func add(changed ids: [String]) {
    for id in ids where changedIDs.insert(id).inserted { items.append(.changed(id: id)) }
  }

  mutating func add(forgotten transactions: [LedgerTransaction]) {
    items += transactions.map { .forgotten($0) }
  }

  mutating func remove(changed id: String) {
    guard changedIDs.remove(id) != nil else { return }
    items.removeAll { $0 == .changed(id: id) }
  }

  /// The first ones, which leave the list.
  mutating func take(_ most: Int) -> [Item] {
    let taken = Array(items.prefix(most))
    items.removeFirst(taken.count)
    for case .changed(let id) in taken { changedIDs.remove(id) }
    return taken
  }
}
