import Glibc
import KassaCore

/// Lines for whoever looks for a fault. Never a key, token, receipt, body, or the id of a user or device.
public struct Log: Sendable {
  fileprivate let isOn: Bool
  public static let none = Log(isOn: false)
  public static let standardError = Log(isOn: true)

  /// One line in one write, so that lines of several threads do not mix.
  public func line(_ text: @autoclosure () -> String) {
    guard isOn else { return }
    let bytes = Array("kassa: \(text())\n".utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }
}

/// A transport that says of each exchange what was asked, what came back, and how long it took.
public struct LoggingTransport: HTTPTransport {
  private let inner: any HTTPTransport
  private let log: Log
  private let time: any TimeSource

  public init(_ inner: any HTTPTransport, log: Log, time: any TimeSource) {
    self.inner = inner
    self.log = log
    self.time = time
  }

  public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    guard log.isOn else { return try await inner.send(request) }
    let start = time.bootNanoseconds
    // Queries hold ids of users and devices.
    let target = request.url.prefix { $0 != "?" }
    func say(_ what: String) {
      log.line("\(request.method) \(target): \(what), \((time.bootNanoseconds - start) / 1_000_000) ms")
    }
    do throws(TransportError) {
      let response = try await inner.send(request)
      say("\(response.status), \(response.body.count) bytes")
      return response
    } catch {
      say("\(error)")
      throw error
    }
  }

  public func prepare(_ request: HTTPRequest) -> PreparedRequest {
    guard log.isOn else { return inner.prepare(request) }
    return { () async throws(TransportError) in try await self.send(request) }
  }

  public func milliseconds(ofHTTPDate text: String) -> Int64? { inner.milliseconds(ofHTTPDate: text) }
}
