import KassaCore
import Testing

@Suite struct CircuitBreakerTests {
  private func failed(_ times: Int, at now: Int64 = 0) -> CircuitBreaker {
    var breaker = CircuitBreaker()
    for _ in 0..<times { breaker.failed(now: now) }
    return breaker
  }

  @Test("Five failures in a row open it for 30 s") func opening() {
    var four = failed(4)
    #expect(four.wait(now: 0) == nil)
    var five = failed(5)
    #expect(five.wait(now: 0) == 30_000)
    #expect(five.wait(now: 29_999) == 1)
    #expect(five.wait(now: 30_000) == nil)
  }

  @Test("A success in between starts the count again") func success() {
    var breaker = failed(4)
    breaker.succeeded()
    for _ in 0..<4 { breaker.failed(now: 0) }
    #expect(breaker.wait(now: 0) == nil)
  }

  @Test("After the wait one probe goes through; the others wait for its end, at most 10 s") func probe() {
    var breaker = failed(5)
    #expect(breaker.wait(now: 30_000) == nil)
    #expect(breaker.wait(now: 30_000) == 10_000)
    #expect(breaker.wait(now: 39_999) == 1)
    #expect(breaker.wait(now: 40_000) == nil)
  }

  @Test("A probe that fails doubles the wait, up to 300 s; one that succeeds closes it") func probes() {
    var breaker = failed(5)
    var now: Int64 = 30_000
    for cooldown in [60_000, 120_000, 240_000, 300_000, 300_000] as [Int64] {
      #expect(breaker.wait(now: now) == nil)
      breaker.failed(now: now)
      #expect(breaker.wait(now: now) == cooldown)
      now += cooldown
    }
    #expect(breaker.wait(now: now) == nil)
    breaker.succeeded()
    #expect(breaker.wait(now: now) == nil)
    for _ in 0..<5 { breaker.failed(now: now) }
    #expect(breaker.wait(now: now) == 30_000)
  }

  @Test("A probe that was given up leaves its place to the next") func abandoned() {
    var breaker = failed(5)
    #expect(breaker.wait(now: 30_000) == nil)
    breaker.abandoned()
    #expect(breaker.wait(now: 30_000) == nil)
    #expect(breaker.wait(now: 30_000) == 10_000)
  }

  @Test("Failures of requests that were under way when it opened do not lengthen the wait") func stragglers() {
    var breaker = failed(8)
    #expect(breaker.wait(now: 0) == 30_000)
  }

  @Test("Times at the end of all clocks do not trap") func extremes() {
    var breaker = failed(5, at: .max)
    #expect(breaker.wait(now: .max - 1) == 1)
  }

  @Test("Looking does not take the place of the probe") func remaining() {
    var breaker = failed(5)
    #expect(breaker.remaining(now: 29_000) == 1_000)
    #expect(breaker.remaining(now: 30_000) == nil)
    #expect(breaker.remaining(now: 30_000) == nil)
    #expect(breaker.wait(now: 30_000) == nil)
    #expect(breaker.remaining(now: 30_000) == 10_000)
  }

  @Test("Foreground and network let a probe through at once, and the wait goes on growing") func improved() {
    var breaker = failed(5)
    breaker.conditionsImproved(now: 1_000)
    #expect(!breaker.isClosed)
    #expect(breaker.wait(now: 1_000) == nil)
    breaker.failed(now: 1_500)
    #expect(breaker.remaining(now: 1_500) == 60_000)
    breaker.conditionsImproved(now: 2_000)
    #expect(breaker.wait(now: 2_000) == nil)
    breaker.failed(now: 2_000)
    #expect(breaker.remaining(now: 2_000) == 120_000)
  }

  @Test("A probe under way keeps the only place when conditions improve; a lost one does not")
  func improvedWhileProbing() {
    var breaker = failed(5)
    #expect(breaker.wait(now: 30_000) == nil)
    breaker.conditionsImproved(now: 35_000)
    #expect(breaker.wait(now: 35_000) == 5_000)
    #expect(breaker.wait(now: 40_000) == nil)
  }

  @Test("Better conditions change nothing while it is closed") func improvedWhileClosed() {
    var breaker = failed(4)
    breaker.conditionsImproved(now: 0)
    #expect(breaker.isClosed)
    breaker.failed(now: 0)
    #expect(breaker.remaining(now: 0) == 30_000)
  }

  @Test("Each transition is told once") func transitions() {
    var breaker = CircuitBreaker()
    #expect((0..<7).map { _ in breaker.failed(now: 0) } == [false, false, false, false, true, false, false])
    #expect(breaker.wait(now: 30_000) == nil)
    #expect(breaker.failed(now: 30_000) == true)
    #expect(breaker.failed(now: 30_000) == false)
    #expect(breaker.wait(now: 90_000) == nil)
    #expect(breaker.succeeded() == true)
    #expect(breaker.succeeded() == false)
  }

  @Test("What was under way when it opened does not speak for the probe") func stragglersWhileProbing() {
    var breaker = failed(5)
    #expect(breaker.wait(now: 30_000) == nil)
    #expect(breaker.failed(now: 31_000, isProbe: false) == false)
    breaker.abandoned(isProbe: false)
    #expect(breaker.remaining(now: 31_000) == 9_000)
    #expect(breaker.failed(now: 32_000) == true)
  }
}
