import CLinux
import Foundation
import KassaCore
import Testing

@testable import KassaPlatform

/// Runs the body with a loop of that mode and ends the loop after it.
private func withLoop(_ mode: EventLoop.Mode, _ body: (EventLoop) throws -> Void) throws {
  let loop = try EventLoop(mode: mode)
  defer { loop.stop() }
  try body(loop)
}

private let modes: [EventLoop.Mode] = [.library, .host]

private func count(in directory: String) -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? -1
}

/// Runs the body on a thread of its own each; returns when all have ended.
private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let left = Condition(count)
  for number in 0..<count {
    Thread.detachNewThread {
      body(number)
      left.with { $0 -= 1 }
      left.broadcast()
    }
  }
  left.wait(until: .max) { $0 == 0 }
}

private func isReadable(_ descriptor: Int32, milliseconds: Int32 = 0) -> Bool {
  var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return poll(&entry, 1, milliseconds) == 1
}

@Suite(.serialized) struct EventLoopTests {
  @Test(arguments: modes) func jobsRunInTheirOrder(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      let seen = Locked<[Int]>([])
      for number in 0..<1_000 { loop.post { seen.with { $0.append(number) } } }
      loop.post { loop.wakeWaiters() }
      #expect(loop.wait(timeoutMilliseconds: 5_000) { seen.with { $0.count } == 1_000 })
      #expect(seen.with { $0 } == Array(0..<1_000))
    }
  }

  @Test(arguments: modes) func aJobThatAJobPutsInRuns(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      let ran = Locked(false)
      loop.post {
        loop.post {
          ran.with { $0 = loop.isCurrent }
          loop.wakeWaiters()
        }
      }
      #expect(loop.wait(timeoutMilliseconds: 5_000) { ran.with { $0 } })
    }
  }

  @Test(arguments: modes) func asyncFunctionsStayOnTheLoop(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      let places = Locked<[Bool]>([])
      let isDone = Locked(false)
      loop.start {
        places.with { $0.append(loop.isCurrent) }
        await withTaskGroup(of: Bool.self) { group in
          for _ in 0..<10 {
            group.addTask {
              await Task.yield()
              return loop.isCurrent
            }
          }
          for await isCurrent in group { places.with { $0.append(isCurrent) } }
        }
        async let child = loop.isCurrent
        let isCurrent = await child
        places.with { $0.append(isCurrent) }
        isDone.with { $0 = true }
        loop.wakeWaiters()
      }
      #expect(loop.wait(timeoutMilliseconds: 5_000) { isDone.with { $0 } })
      #expect(places.with { $0 } == Array(repeating: true, count: 12))
    }
  }

  /// Jobs that come while the loop wakes for another one are those that a careless loop sleeps through.
  @Test func aJobNeverWaitsForTheNextOne() throws {
    try withLoop(.library) { loop in
      onThreads(3) { _ in
        for _ in 0..<10_000 {
          let ran = Locked(false)
          let end = kassa_monotonic_nanoseconds() + 5_000_000_000
          loop.post { ran.with { $0 = true } }
          while !ran.with({ $0 }), kassa_monotonic_nanoseconds() < end { sched_yield() }
          guard ran.with({ $0 }) else {
            Issue.record("a job did not run")
            return
          }
        }
      }
    }
  }

  @Test(arguments: modes) func operationsFromManyThreadsAllEndOnce(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      let ended = Locked(0)
      let time = SystemTime(loop: loop)
      onThreads(8) { number in
        let random = SeededRandom(seed: UInt64(number))
        for _ in 0..<500 {
          let choice = random.bytes(1).first ?? 0
          let isMine = Locked(false)
          let task = loop.start {
            if choice & 1 == 0 { try? await time.sleep(milliseconds: Int64(choice & 2)) }
            ended.with { $0 += 1 }
            isMine.with { $0 = true }
            loop.wakeWaiters()
          }
          if choice & 4 == 0 { task.cancel() }
          if choice & 8 == 0 {
            let isDone = loop.wait(timeoutMilliseconds: 10_000) { isMine.with { $0 } }
            if !isDone { Issue.record("an operation did not end") }
          }
        }
      }
      #expect(loop.wait(timeoutMilliseconds: 10_000) { ended.with { $0 } == 4_000 })
    }
  }

  @Test(arguments: modes) func syncRunsInTheLoopsPlace(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      #expect(!loop.isCurrent)
      #expect(loop.sync { loop.isCurrent })
      #expect(loop.sync { loop.sync { 7 } } == 7)
      let counter = Counter()
      onThreads(8) { _ in
        for _ in 0..<500 { loop.sync { counter.value += 1 } }
      }
      #expect(loop.sync { counter.value } == 4_000)
    }
  }

  /// Touched on the loop only, so without a lock.
  private final class Counter: @unchecked Sendable { var value = 0 }

  @Test func syncComesBetweenTheRoundsOfAThreadThatWaits() throws {
    try withLoop(.host) { loop in
      let isOver = Locked(false)
      onThreads(2) { number in
        if number == 0 {
          _ = loop.wait(timeoutMilliseconds: 20_000) { isOver.with { $0 } }
        } else {
          usleep(20_000)
          let start = kassa_monotonic_nanoseconds()
          for _ in 0..<100 { loop.sync {} }
          #expect(kassa_monotonic_nanoseconds() - start < 2_000_000_000)
          isOver.with { $0 = true }
          loop.wakeWaiters()
        }
      }
    }
  }

  @Test(arguments: modes) func timersFireInTheOrderOfTheirTimesAndNotEarly(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      let fired = Locked<[Int]>([])
      let start = kassa_boot_nanoseconds()
      loop.sync {
        for milliseconds in [30, 10, 20, 10] {
          let due = start + Int64(milliseconds) * 1_000_000
          _ = loop.timer(atBootNanoseconds: due) {
            fired.with { $0.append(kassa_boot_nanoseconds() >= due ? milliseconds : -1) }
            loop.wakeWaiters()
          }
        }
        let cancelled = loop.timer(atBootNanoseconds: start + 15_000_000) { fired.with { $0.append(-2) } }
        loop.cancel(cancelled)
      }
      #expect(loop.wait(timeoutMilliseconds: 5_000) { fired.with { $0.count } == 4 })
      #expect(fired.with { $0 } == [10, 10, 20, 30])
    }
  }

  @Test func aTimerThatIsOverdueFiresAtOnce() throws {
    try withLoop(.library) { loop in
      let fired = Locked(0)
      loop.sync {
        for time in [Int64.min, -1, 0, 1] {
          _ = loop.timer(atBootNanoseconds: time) {
            fired.with { $0 += 1 }
            loop.wakeWaiters()
          }
        }
        _ = loop.timer(atBootNanoseconds: .max) { fired.with { $0 += 100 } }
      }
      #expect(loop.wait(timeoutMilliseconds: 5_000) { fired.with { $0 } == 4 })
    }
  }

  @Test func cancelledTimersTakeNoRoom() {
    var heap = TimerHeap()
    _ = heap.add(at: 1) {}
    for number in 0..<10_000 { heap.remove(heap.add(at: Int64.max - Int64(number)) {}) }
    #expect(heap.count.live == 1)
    #expect(heap.count.kept < 100)
    #expect(heap.next == 1)
  }

  @Test func theHeapGivesTimersInOrder() {
    var heap = TimerHeap()
    let random = SeededRandom(seed: 1)
    let fired = Locked<[Int64]>([])
    var expected: [Int64] = []
    for _ in 0..<500 {
      let time = Int64(random.bytes(1).first ?? 0)
      let id = heap.add(at: time) { fired.with { $0.append(time) } }
      if time % 3 == 0 { heap.remove(id) } else { expected.append(time) }
    }
    while let fire = heap.takeDue(at: 300) { fire() }
    #expect(fired.with { $0 } == expected.sorted())
    #expect(heap.next == nil)
  }

  @Test func theDescriptorIsReadableExactlyWhenWorkIsDue() throws {
    try withLoop(.host) { loop in
      #expect(!isReadable(loop.descriptor))
      loop.post {}
      #expect(isReadable(loop.descriptor))
      _ = loop.wait(timeoutMilliseconds: 0) { false }
      #expect(!isReadable(loop.descriptor))

      // A timer that a job made, and one that `sync` made.
      let fired = Locked(0)
      let soon: @Sendable () -> Void = {
        _ = loop.timer(atBootNanoseconds: kassa_boot_nanoseconds() + 20_000_000) { fired.with { $0 += 1 } }
      }
      for make in [{ loop.post(soon) }, { loop.sync(soon) }] {
        make()
        _ = loop.wait(timeoutMilliseconds: 0) { false }
        #expect(!isReadable(loop.descriptor))
        #expect(isReadable(loop.descriptor, milliseconds: 5_000))
        _ = loop.wait(timeoutMilliseconds: 0) { false }
        #expect(!isReadable(loop.descriptor))
      }
      #expect(fired.with { $0 } == 2)

      loop.sync { loop.post {} }
      #expect(isReadable(loop.descriptor))
    }
  }

  @Test func aPollOfTheHostTurnsOnce() throws {
    try withLoop(.host) { loop in
      let ran = Locked(false)
      loop.post { ran.with { $0 = true } }
      // It turns even where there is nothing to wait for.
      #expect(loop.wait(timeoutMilliseconds: 0) { true })
      #expect(ran.with { $0 })
    }
  }

  @Test(arguments: modes) func waitingEndsInTime(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      let start = kassa_monotonic_nanoseconds()
      #expect(!loop.wait(timeoutMilliseconds: 50) { false })
      let took = kassa_monotonic_nanoseconds() - start
      #expect(took >= 50_000_000)
      #expect(took < 1_000_000_000)
      #expect(!loop.wait(timeoutMilliseconds: 0) { false })
    }
  }

  @Test(arguments: modes) func manyThreadsWaitForEachOther(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      // Every thread waits for the number before its own: each step wakes exactly one of the eight.
      let number = Locked(0)
      onThreads(8) { mine in
        for round in 0..<100 {
          let isMyTurn = loop.wait(timeoutMilliseconds: 10_000) { number.with { $0 } == round * 8 + mine }
          if !isMyTurn { Issue.record("thread \(mine) was not woken in round \(round)") }
          number.with { $0 += 1 }
          loop.wakeWaiters()
        }
      }
      #expect(number.with { $0 } == 800)
    }
  }

  @Test(arguments: modes) func whatIsDoneIsNotAskedAgain(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      for timeout: Int32 in [0, 10, -1] {
        var taken = 0
        loop.post {}
        #expect(
          loop.wait(timeoutMilliseconds: timeout) {
            taken += 1
            return true
          })
        #expect(taken == 1)
      }
    }
  }

  @Test(arguments: modes) func descriptorsAreWatched(mode: EventLoop.Mode) throws {
    try withLoop(mode) { loop in
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      let (output, input) = (ends[0], ends[1])
      let seen = Locked(0)
      loop.sync {
        _ = loop.watch(output, events: .readable) { ready in
          guard ready.contains(.readable) else { return }
          var byte: UInt8 = 0
          if read(output, &byte, 1) == 1 { seen.with { $0 += 1 } }
          loop.wakeWaiters()
        }
      }
      for expected in 1...3 {
        #expect(write(input, "x", 1) == 1)
        #expect(loop.wait(timeoutMilliseconds: 5_000) { seen.with { $0 } == expected })
      }
      loop.sync { loop.unwatch(output) }
      #expect(write(input, "x", 1) == 1)
      #expect(!loop.wait(timeoutMilliseconds: 20) { seen.with { $0 } == 4 })
      close(input)
      close(output)
    }
  }

  /// Other tests start threads and open files meanwhile, so one quiet try is enough; a leak would show in each.
  @Test func threadAndDescriptorsAreGoneAfterStop() throws {
    for _ in 0..<200 {
      let before = (count(in: "/proc/self/task"), count(in: "/proc/self/fd"))
      for _ in 0..<50 { try startAndStop() }
      let after = (count(in: "/proc/self/task"), count(in: "/proc/self/fd"))
      if after.0 <= before.0, after.1 <= before.1 { return }
      usleep(20_000)
    }
    Issue.record("threads or descriptors stay after each try")
  }

  private func startAndStop() throws {
    let loop = try EventLoop.acquireShared()
    let second = try EventLoop.acquireShared()
    #expect(loop === second)
    #expect(loop.sync { threadName() } == "kassa")
    EventLoop.releaseShared(second)
    #expect(loop.sync { true })
    EventLoop.releaseShared(loop)
    let host = try EventLoop(mode: .host)
    host.stop()
  }

  private func threadName() -> String? {
    try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
  }

  @Test func theThreadTakesNoSignals() throws {
    try withLoop(.library) { loop in
      let blocked = loop.sync { () -> Bool in
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        return [SIGTERM, SIGINT, SIGCHLD, SIGPIPE, SIGUSR1, SIGALRM].allSatisfy { sigismember(&mask, $0) == 1 }
      }
      #expect(blocked)
    }
  }

  @Test(arguments: modes) func whatIsPutInAfterTheEndIsDropped(mode: EventLoop.Mode) throws {
    let loop = try EventLoop(mode: mode)
    loop.stop()
    // The numbers of the loop's descriptors may be those of the host's files by now.
    let descriptors = (0..<3).map { _ in kassa_eventfd() }
    loop.post { Issue.record("ran after the end") }
    loop.wakeWaiters()
    for descriptor in descriptors {
      #expect(!isReadable(descriptor))
      close(descriptor)
    }
  }

  @Test(arguments: modes) func whatWasPutInBeforeTheEndRuns(mode: EventLoop.Mode) throws {
    let ran = Locked(0)
    let loop = try EventLoop(mode: mode)
    loop.sync { loop.atStop { loop.post { ran.with { $0 += 10 } } } }
    for _ in 0..<5 { loop.post { ran.with { $0 += 1 } } }
    loop.stop()
    #expect(ran.with { $0 } == 15)
  }

  /// Other tests may hold the same loop, so whether it was the last release is left open here.
  @Test func aReleaseMayComeFromTheLoopItself() throws {
    let loop = try EventLoop.acquireShared()
    let isReleased = Locked(false)
    loop.post {
      EventLoop.releaseShared(loop)
      isReleased.with { $0 = true }
    }
    let end = kassa_monotonic_nanoseconds() + 5_000_000_000
    while !isReleased.with({ $0 }), kassa_monotonic_nanoseconds() < end { usleep(1_000) }
    #expect(isReleased.with { $0 })
    let next = try EventLoop.acquireShared()
    #expect(next.sync { true })
    EventLoop.releaseShared(next)
  }

  @Test func putsDuringTheEndAreSafe() throws {
    for _ in 0..<50 {
      let loop = try EventLoop(mode: .library)
      let isReady = Condition(0)
      onThreads(3) { number in
        isReady.with { $0 += 1 }
        isReady.broadcast()
        isReady.wait(until: .max) { $0 == 3 }
        if number == 0 {
          loop.stop()
        } else {
          for _ in 0..<200 { loop.post {} }
        }
      }
    }
  }
}
