/// When a request that failed is tried again (Voidhash SDK, network policy; the numbers hold for every back end).
public struct RetryPolicy: Sendable {
  private let cap: Int64
  /// Of what somebody waits for.
  public static let interactive = RetryPolicy(cap: Constants.backoffCapMilliseconds)
  /// Of what nobody waits for.
  public static let background = RetryPolicy(cap: Constants.backgroundBackoffCapMilliseconds)

  /// The wait before the retry of that number, from 1 on: 1, 2, 4 ... seconds up to the cap, and up to a quarter more.
  public func delay(retry: Int, jitter: Double) -> Int64 {
    let doubled = Constants.backoffMilliseconds << Int64(min(max(retry - 1, 0), 20))
    let wait = min(cap, doubled)
    return wait + Int64(Double(wait) * Constants.backoffJitter * min(max(jitter, 0), 0.999))
  }
}

/// `Retry-After` (RFC 9110, section 10.2.3): seconds, fractions allowed, or an HTTP date. Rounded up to a millisecond;
/// a date that has passed is 0; anything else is no answer.
public func retryAfterMilliseconds(
  _ text: String, now: Int64, date: (String) -> Int64?
) -> Int64? {
  let text = text.trimmingSpaces
  guard let first = text.utf8.first else { return nil }
  if first.isASCIIDigit || first == 0x2E { return fractionalSeconds(text) }
  guard let moment = date(text) else { return nil }
  let wait = moment.subtractingReportingOverflow(now)
  return wait.overflow ? nil : max(0, wait.partialValue)
}

/// Non-negative decimal seconds as milliseconds, rounded up.
private func fractionalSeconds(_ text: String) -> Int64? {
  let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
  let whole = parts.first.map(String.init) ?? "", fraction = parts.count > 1 ? String(parts[1]) : ""
  guard (whole + fraction).utf8.allSatisfy(\.isASCIIDigit), !(whole + fraction).isEmpty else { return nil }
  guard let seconds = Int64(whole.isEmpty ? "0" : whole), seconds <= 1 << 40 else { return nil }
  let digits = Array(fraction.utf8)
  let thousandths = (0..<3).reduce(Int64(0)) { sum, place in
    sum * 10 + (digits.indices.contains(place) ? Int64(digits[place]) - 0x30 : 0)
  }
  let rounding: Int64 = digits.dropFirst(3).contains { $0 != 0x30 } ? 1 : 0
  return seconds * 1_000 + thousandths + rounding
}

extension String {
  var trimmingSpaces: String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    return String(drop(while: isSpace).reversed().drop(while: isSpace).reversed())
  }
}
