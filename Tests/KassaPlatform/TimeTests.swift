import CLinux
import Glibc
import KassaCore
import Testing

@testable import KassaPlatform

@Suite struct SystemTimeTests {
  /// Starts one sleeper for each of the times; `woken` lists them as they wake.
  private func sleepers(
    _ times: [Int64], by time: some TimeSource, on loop: EventLoop, woken: Locked<[Int64]>
  ) -> [Task<Void, Never>] {
    times.map { milliseconds in
      loop.start {
        let isOver = (try? await time.sleep(milliseconds: milliseconds)) != nil
        woken.with { $0.append(isOver ? milliseconds : -milliseconds) }
        loop.wakeWaiters()
      }
    }
  }

  private let loop: EventLoop
  init() throws { loop = try EventLoop(mode: .host) }

  @Test func clocksAgreeWithTheKernel() {
    defer { loop.stop() }
    let time = SystemTime(loop: loop)
    #expect(abs(time.wallMilliseconds - kassa_wall_milliseconds()) < 1_000)
    #expect(abs(time.bootNanoseconds - kassa_boot_nanoseconds()) < 1_000_000_000)
    #expect(time.isReal)
  }

  @Test func sleepersWakeInTheOrderOfTheirTimes() {
    defer { loop.stop() }
    let woken = Locked<[Int64]>([])
    let start = kassa_boot_nanoseconds()
    _ = sleepers([40, 20, 0, -5, 30], by: SystemTime(loop: loop), on: loop, woken: woken)
    #expect(loop.wait(timeoutMilliseconds: 5_000) { woken.with { $0.count } == 5 })
    #expect(Set(woken.with { $0.prefix(2) }) == [-5, 0])
    #expect(woken.with { $0.suffix(3) } == [20, 30, 40])
    #expect(kassa_boot_nanoseconds() - start >= 40_000_000)
  }

  @Test func cancelledSleepersWakeAtOnce() {
    defer { loop.stop() }
    let woken = Locked<[Int64]>([])
    let tasks = sleepers([60_000, 50_000], by: SystemTime(loop: loop), on: loop, woken: woken)
    tasks.last?.cancel()
    #expect(loop.wait(timeoutMilliseconds: 5_000) { woken.with { $0 } == [-50_000] })
    tasks.first?.cancel()
    #expect(loop.wait(timeoutMilliseconds: 5_000) { woken.with { $0 } == [-50_000, -60_000] })
  }

  @Test func timeThatIsMovedWakesWhoeverIsDue() {
    defer { loop.stop() }
    let time = SystemTime(loop: loop)
    let woken = Locked<[Int64]>([])
    let (wall, boot) = (time.wallMilliseconds, time.bootNanoseconds)
    let tasks = sleepers([3_000_000, 1_000_000, 2_000_000], by: time, on: loop, woken: woken)
    _ = loop.wait(timeoutMilliseconds: 20) { false }
    time.advance(milliseconds: 2_000_000)
    #expect(!time.isReal)
    #expect((2_000_000..<2_010_000).contains(time.wallMilliseconds - wall))
    #expect((2_000_000..<2_010_000).contains((time.bootNanoseconds - boot) / 1_000_000))
    #expect(loop.wait(timeoutMilliseconds: 5_000) { woken.with { $0.count } == 2 })
    // What is left of the third is a real wait.
    #expect(!loop.wait(timeoutMilliseconds: 20) { woken.with { $0.count } == 3 })
    time.advance(milliseconds: 1_000_000 - 50)
    #expect(loop.wait(timeoutMilliseconds: 5_000) { woken.with { $0.count } == 3 })
    #expect(woken.with { $0 } == [1_000_000, 2_000_000, 3_000_000])
    for task in tasks { task.cancel() }
  }

  @Test func timeStaysInRangeHoweverFarItIsMoved() {
    defer { loop.stop() }
    let time = SystemTime(loop: loop)
    time.advance(milliseconds: -1)
    time.advance(milliseconds: .min)
    #expect(time.isReal)
    for _ in 0..<3 { time.advance(milliseconds: .max) }
    let years = Double(time.bootNanoseconds - kassa_boot_nanoseconds()) / 31_557_600e9
    #expect(years > 99 && years < 101)
    let woken = Locked<[Int64]>([])
    _ = sleepers([.max, 10], by: time, on: loop, woken: woken)
    #expect(loop.wait(timeoutMilliseconds: 5_000) { woken.with { $0 } == [10] })
  }
}

@Suite struct ManualTimeTests {
  @Test func clocksStandStillUntilTheyAreMoved() {
    let time = ManualTime(wallMilliseconds: 1_000, bootNanoseconds: 5)
    usleep(2_000)
    #expect(time.wallMilliseconds == 1_000)
    #expect(time.bootNanoseconds == 5)
    time.advance(milliseconds: 7)
    #expect(time.wallMilliseconds == 1_007)
    #expect(time.bootNanoseconds == 7_000_005)
    time.setWall(milliseconds: 3)
    #expect(time.wallMilliseconds == 3)
    #expect(time.bootNanoseconds == 7_000_005)
  }

  @Test func sleepersWakeWhenTheirTimeHasCome() throws {
    let loop = try EventLoop(mode: .host)
    defer { loop.stop() }
    let time = ManualTime(wallMilliseconds: 0)
    let woken = Locked<[Int64]>([])
    let tasks = [Int64](arrayLiteral: 30, 10, 20, 40).map { milliseconds in
      loop.start {
        let isOver = (try? await time.sleep(milliseconds: milliseconds)) != nil
        woken.with { $0.append(isOver ? milliseconds : -milliseconds) }
      }
    }
    let turn = { _ = loop.wait(timeoutMilliseconds: 0) { false } }
    turn()
    #expect(time.sleeperCount == 4)
    time.advance(milliseconds: 9)
    turn()
    #expect(woken.with { $0 } == [])
    time.advance(milliseconds: 21)
    turn()
    #expect(woken.with { $0 } == [10, 20, 30])
    tasks.last?.cancel()
    turn()
    #expect(woken.with { $0 } == [10, 20, 30, -40])
    #expect(time.sleeperCount == 0)
  }
}

@Suite struct RandomTests {
  @Test func systemBytesDiffer() {
    let random = SystemRandom()
    #expect(random.bytes(32).count == 32)
    #expect(random.bytes(32) != random.bytes(32))
    #expect(random.bytes(0) == [])
    // More than the kernel gives in one call without interruption.
    #expect(Set(random.bytes(100_000)).count == 256)
  }

  @Test func seededBytesRepeat() {
    #expect(SeededRandom(seed: 7).bytes(64) == SeededRandom(seed: 7).bytes(64))
    #expect(SeededRandom(seed: 7).bytes(64) != SeededRandom(seed: 8).bytes(64))
  }
}
