import KassaCore
import Testing

@Suite struct RetryTests {
  @Test("Waits double from one second, with up to a quarter more, up to the cap") func backoff() {
    let retries = [1, 2, 3, 4, 5, 6, 7, 20, 1_000, .max]
    #expect(
      retries.map { RetryPolicy.interactive.delay(retry: $0, jitter: 0) }
        == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000])
    #expect(
      retries.map { RetryPolicy.background.delay(retry: $0, jitter: 0) }
        == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000])
    #expect(RetryPolicy.interactive.delay(retry: 1, jitter: 0.5) == 1_125)
    for jitter in [0.999, 1, 7, .infinity] {
      #expect(1_249...1_250 ~= RetryPolicy.interactive.delay(retry: 1, jitter: jitter))
    }
    #expect(RetryPolicy.interactive.delay(retry: 0, jitter: -1) == 1_000)
  }

  /// The dates of this table, which a transport reads.
  private static let dates: [String: Int64] = [
    "Tue, 20 Oct 2026 10:02:00 GMT": moment + 120_000, "Tuesday, 20-Oct-26 10:02:00 GMT": moment + 120_000,
    "Tue Oct 20 10:02:00 2026": moment + 120_000, "Tue, 20 Oct 2026 09:59:59 GMT": moment - 1_000,
    "Tue, 20 Oct 2026 10:00:00 GMT": moment, "Wed, 20 Oct 2027 10:00:00 GMT": moment + 365 * day,
  ]

  private func wait(_ text: String, now: Int64 = moment) -> Int64? {
    retryAfterMilliseconds(text, now: now) { Self.dates[$0] }
  }

  @Test(
    "S101 every form of Retry-After",
    arguments: [
      ("120", 120_000), ("0", 0), ("1.5", 1_500), (" 120 ", 120_000), ("\t120\t", 120_000), (".5", 500), ("1.", 1_000),
      ("007", 7_000), ("31536000", 31_536_000_000), ("120junk", nil), ("-5", nil), ("+5", nil), ("1.2.3", nil),
      (".", nil), ("", nil),
      (" ", nil), ("1,5", nil), ("1e3", nil), ("0x10", nil), ("1 2", nil), ("٥", nil), ("99999999999999999999", nil),
      ("9223372036854775807", nil), ("Tue, 20 Oct 2026 10:02:00 GMT", 120_000),
      ("Tuesday, 20-Oct-26 10:02:00 GMT", 120_000),
      ("Tue Oct 20 10:02:00 2026", 120_000), (" Tue, 20 Oct 2026 10:02:00 GMT ", 120_000),
      ("Tue, 20 Oct 2026 09:59:59 GMT", 0), ("Tue, 20 Oct 2026 10:00:00 GMT", 0),
      ("Wed, 20 Oct 2027 10:00:00 GMT", 365 * day), ("tomorrow", nil),
    ] as [(String, Int64?)])
  func retryAfter(_ text: String, _ expected: Int64?) {
    #expect(wait(text) == expected)
  }

  @Test("S102 numbers are seconds") func seconds() { #expect(wait("2") == 2_000) }

  @Test(
    "S103 a wait is rounded up to the millisecond, never down",
    arguments: [("0.0001", 1), ("0.001", 1), ("0.0010", 1), ("0.0011", 2), ("1.9999", 2_000), ("0.000", 0)]
      as [(String, Int64)])
  func rounding(_ text: String, _ expected: Int64) {
    #expect(wait(text) == expected)
  }

  @Test("S103 the wait for a date ends at the date, not in the second before it") func dateToTheMillisecond() {
    #expect(wait("Tue, 20 Oct 2026 10:02:00 GMT", now: moment + 1) == 119_999)
    #expect(wait("Tue, 20 Oct 2026 10:02:00 GMT", now: .min) == nil)
  }
}

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
}
