import KassaCore
import KassaPlatform

/// Whether requests fail for want of a connection. What is heard of the service after that is news: the network is back.
final class Connection: Sendable {
  private let isCut = Locked(false)

  func failed() { isCut.with { $0 = true } }

  /// The service answered; true for the first time after a failure.
  func answered() -> Bool {
    isCut.with { isCut in
      defer { isCut = false }
      return isCut
    }
  }
}

/// Tells of requests that nobody answered.
struct WatchedTransport: HTTPTransport {
  let inner: any HTTPTransport
  let connection: Connection

  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    try await watched { () async throws(TransportError) in try await inner.send(request) }
  }

  func prepare(_ request: HTTPRequest) -> PreparedRequest {
    let prepared = inner.prepare(request)
    return { () async throws(TransportError) in try await watched(prepared) }
  }

  private func watched(_ send: PreparedRequest) async throws(TransportError) -> HTTPResponse {
    do throws(TransportError) { return try await send() } catch {
      switch error {
      case .offline, .timedOut, .insecure: connection.failed()
      default: break
      }
      throw error
    }
  }

  func milliseconds(ofHTTPDate text: String) -> Int64? { inner.milliseconds(ofHTTPDate: text) }
}
