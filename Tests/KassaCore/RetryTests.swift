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
