import KassaCore
import Testing

@Suite struct TrustedClockTests {
  private let second: Int64 = 1_000_000_000

  private func clock(saved: Int64? = nil, wall: Int64 = moment, boot: Int64 = 0) -> TrustedClock {
    TrustedClock(savedMilliseconds: saved, wallMilliseconds: wall, bootNanoseconds: boot)
  }

  @Test("At start the later of saved and wall clock counts") func start() {
    let first = clock()
    #expect(first.source == .wall)
    #expect(first.now(bootNanoseconds: 0) == moment)
    #expect(clock(saved: moment - hour).source == .wall)
    let saved = clock(saved: moment + hour)
    #expect(saved.source == .saved)
    #expect(saved.now(bootNanoseconds: 0) == moment + hour)
  }

  @Test("From then on only the boot clock moves it, in whole milliseconds and never backwards") func running() {
    let clock = clock(boot: 5 * second)
    #expect(clock.now(bootNanoseconds: 5 * second + 999_999) == moment)
    #expect(clock.now(bootNanoseconds: 5 * second + 1_000_000) == moment + 1)
    #expect(clock.now(bootNanoseconds: 3_605 * second) == moment + hour)
    #expect(clock.now(bootNanoseconds: 4 * second) == moment)
  }

  @Test("S021 S027 a wall clock that was set back does not count", arguments: [hour, 2 * day, 3_650 * day])
  func setBack(by distance: Int64) {
    #expect(clock(saved: moment, wall: moment - distance).now(bootNanoseconds: 0) == moment)
  }

  @Test("S029 steps of the wall clock backwards lose nothing", arguments: [3_000, hour, 8 * hour])
  func smallSteps(by step: Int64) {
    let restarted = clock(saved: moment, wall: moment - step)
    #expect(restarted.now(bootNanoseconds: second) == moment + 1_000)
  }

  @Test(
    "S029 S030 the service's answer mends a clock that was ahead, or behind", arguments: [-day, -3_000, 3_000, day])
  func corrected(wallIsAheadBy error: Int64) {
    var clock = clock(wall: moment + error)
    clock.correct(serverMilliseconds: moment, bootNanoseconds: second)
    #expect(clock.source == .server)
    #expect(clock.now(bootNanoseconds: second) == moment)
    #expect(clock.now(bootNanoseconds: 2 * second) == moment + 1_000)
  }

  @Test(
    "A Date has whole seconds: up to a second behind corrects nothing", arguments: [-1_000, -999, -1, 0])
  func wholeSeconds(_ difference: Int64) {
    var clock = clock()
    clock.correct(serverMilliseconds: moment + difference, bootNanoseconds: 0)
    #expect(clock.now(bootNanoseconds: 0) == moment)
    #expect(clock.source == .server)
  }

  @Test("A Date that is ahead shows that the clock is behind", arguments: [1, 999, 1_000])
  func ahead(_ difference: Int64) {
    var clock = clock()
    clock.correct(serverMilliseconds: moment + difference, bootNanoseconds: 0)
    #expect(clock.now(bootNanoseconds: 0) == moment + difference)
  }

  @Test("Answers every second never turn the clock back") func monotonic() {
    var clock = clock()
    var last = moment
    for step in 1...100 as ClosedRange<Int64> {
      let boot = step * second * 7 / 10
      // The Date of the answer, cut to whole seconds.
      clock.correct(serverMilliseconds: (moment + step * 700) / 1_000 * 1_000, bootNanoseconds: boot)
      let now = clock.now(bootNanoseconds: boot)
      #expect(now == moment + step * 700)
      #expect(now > last)
      last = now
    }
  }

  @Test("The boot time of a moment is the first at which the clock shows it", arguments: 0..<10 as Range<UInt64>)
  func bootTimes(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<200 {
      let clock = clock(boot: .random(in: 0...10_000_000 * second, using: &random))
      let time = moment + .random(in: 1...1_000 * day, using: &random)
      let boot = clock.bootNanoseconds(at: time)
      #expect(clock.now(bootNanoseconds: boot) == time)
      #expect(clock.now(bootNanoseconds: boot - 1) == time - 1)
    }
  }

  @Test("Moments that no clock reaches do not trap") func extremes() {
    let clock = clock()
    #expect(clock.bootNanoseconds(at: .max) == .max)
    #expect(clock.bootNanoseconds(at: .min) == 0)
    #expect(self.clock(saved: .max).now(bootNanoseconds: .max) == .max)
    #expect(self.clock(saved: .min, wall: .min).now(bootNanoseconds: 0) == .min)
    var wrong = clock
    wrong.correct(serverMilliseconds: .min, bootNanoseconds: 0)
    wrong.correct(serverMilliseconds: .max, bootNanoseconds: 0)
    #expect(wrong.now(bootNanoseconds: .max) == .max)
  }
}
