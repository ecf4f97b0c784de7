import KassaCore

/// Carries requests to a sandbox in this process, with everything that a network does to them: delays, breaks, limits.
public final class EmbeddedTransport: HTTPTransport {
  private let sandbox: Sandbox
  private let time: any TimeSource
  private let timeout: Int64

  /// - Parameter timeoutMilliseconds: how long one request may take.
  public init(_ sandbox: Sandbox, time: any TimeSource, timeoutMilliseconds: Int64 = 10_000) {
    self.sandbox = sandbox
    self.time = time
    timeout = timeoutMilliseconds
  }

  public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    guard !Task.isCancelled else { throw .cancelled }
    switch sandbox.answer(request) {
    case .response(let response): return try decoded(response)
    case .reset: throw .offline("the connection was reset")
    case .slow(let response, let bytesPerSecond):
      try await wait(milliseconds: Int64(response.body.count) * 1_000 / Int64(max(1, bytesPerSecond)))
      return try decoded(response)
    case .delayed(let response, let milliseconds):
      try await wait(milliseconds: milliseconds)
      return try decoded(response)
    }
  }

  private func wait(milliseconds: Int64) async throws(TransportError) {
    do throws(CancellationError) {
      try await time.sleep(milliseconds: min(milliseconds, timeout))
    } catch {
      throw .cancelled
    }
    if milliseconds > timeout { throw .timedOut }
  }

  /// The sandbox never compresses: an encoding is one of its faults.
  private func decoded(_ response: HTTPResponse) throws(TransportError) -> HTTPResponse {
    guard response.header("Content-Encoding") == nil else { throw .malformed("the body is not what its encoding says") }
    return response
  }

  /// The sandbox writes the preferred form only: `Tue, 20 Oct 2026 10:00:00 GMT`.
  public func milliseconds(ofHTTPDate text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[0].count == 4, words[5] == "GMT" else { return nil }
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard let month = months.firstIndex(of: String(words[2])) else { return nil }
    let monthDigits = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    return Timestamp.milliseconds(iso8601: "\(words[3])-\(monthDigits)-\(words[1])T\(words[4])Z")
  }
}
