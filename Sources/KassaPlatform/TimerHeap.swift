/// The number of a timer; never used twice in a loop.
public struct TimerID: Hashable, Sendable {
  fileprivate let number: UInt64
}

/// Timers by their time; equal times in the order in which they were added.
struct TimerHeap {
  private struct Entry {
    var time: Int64
    var id: TimerID
    func isBefore(_ other: Entry) -> Bool { (time, id.number) < (other.time, other.id.number) }
  }

  private var entries: [Entry] = []
  private var actions: [TimerID: @Sendable () -> Void] = [:]
  private var lastNumber: UInt64 = 0

  mutating func add(at time: Int64, _ action: @escaping @Sendable () -> Void) -> TimerID {
    lastNumber += 1
    let id = TimerID(number: lastNumber)
    actions[id] = action
    entries.append(Entry(time: time, id: id))
    siftUp(from: entries.count - 1)
    return id
  }

  /// The entry stays until it comes to the top, or until most are dead; without its action it is nothing.
  mutating func remove(_ id: TimerID) {
    guard actions.removeValue(forKey: id) != nil else { return }
    if entries.count > 2 * actions.count + 64 {
      entries.removeAll { actions[$0.id] == nil }
      // What is sorted is a heap.
      entries.sort { $0.isBefore($1) }
    } else {
      dropDead()
    }
  }

  /// How many timers there are, and how many entries are kept for them.
  var count: (live: Int, kept: Int) { (actions.count, entries.count) }

  /// When the first timer is due.
  var next: Int64? { entries.first?.time }

  mutating func takeDue(at now: Int64) -> (@Sendable () -> Void)? {
    guard let first = entries.first, first.time <= now else { return nil }
    let action = actions.removeValue(forKey: first.id)
    dropDead()
    return action
  }

  private mutating func dropDead() {
    while let first = entries.first, actions[first.id] == nil { removeFirst() }
  }

  private mutating func removeFirst() {
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    siftDown(from: 0)
  }

  private mutating func siftUp(from index: Int) {
    var child = index
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].isBefore(entries[parent]) else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown(from index: Int) {
    var parent = index
    while true {
      let children = (2 * parent + 1)..<min(2 * parent + 3, max(entries.count, 2 * parent + 1))
      guard let child = children.min(by: { entries[$0].isBefore(entries[$1]) }),
        entries[child].isBefore(entries[parent])
      else { return }
      entries.swapAt(parent, child)
      parent = child
    }
  }
}
