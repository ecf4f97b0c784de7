import KassaCore
import KassaPlatform

/// Waits for the browser to come back from a checkout.
final class ReturnListener: Sendable {
  private static let path = "/kassa/return"

  private struct State {
    var server: HTTPServer?
    var returnedURL: String?
    var waiting: CheckedContinuation<String?, Never>?
    var isStopped = false
  }

  private let secret: String
  private let page: (@Sendable (HTTPRequest) async -> HTTPServerAnswer)?
  private let state = Locked(State())

  init(state secret: String, page: (@Sendable (HTTPRequest) async -> HTTPServerAnswer)?) {
    self.secret = secret
    self.page = page
  }

  func start(on loop: EventLoop) throws(PlatformError) {
    let server = try HTTPServer(loop: loop) { [weak self] request in
      await self?.answer(request) ?? .response(HTTPResponse(status: 404))
    }
    state.with { $0.server = server }
  }

  private var origin: String? { state.with { $0.server.map { "http://127.0.0.1:\($0.port)" } } }

  /// Where the checkout shall send the buyer; nil without a listener.
  var returnURL: String? { origin.map { "\($0)\(Self.path)?state=\(secret)" } }

  /// The address under which a browser reaches a page of the sandbox in this process.
  func reachable(_ url: String) -> String {
    let scheme = "embedded:"
    guard url.hasPrefix(scheme), let origin else { return url }
    return origin + url.dropFirst(scheme.count)
  }

  private func answer(_ request: HTTPRequest) async -> HTTPServerAnswer {
    let path = request.url.prefix { $0 != "?" }
    guard path == Self.path else { return await page?(request) ?? .response(HTTPResponse(status: 404)) }
    guard request.method == "GET", URLText.queryItems(of: request.url).contains(where: { $0 == ("state", secret) })
    else { return .response(Self.document(status: 400, "This is not a return from the checkout that is open.")) }
    let isFirst = state.with { state in
      guard state.returnedURL == nil, !state.isStopped else { return false }
      state.returnedURL = request.url
      return true
    }
    if isFirst { wake() }
    return .response(Self.document(status: 200, "You can close this window and go back to the application."))
  }

  private static func document(status: Int, _ text: String) -> HTTPResponse {
    let html = """
      <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark"><title>Checkout</title>
      <body style="font:1.1rem/1.5 system-ui;margin:4rem auto;max-width:32rem;padding:0 1rem"><main><h1>Checkout</h1>
      <p>\(text)</p></main></body></html>
      """
    return HTTPResponse(
      status: status,
      headers: [
        HTTPHeader("Content-Type", "text/html; charset=utf-8"), HTTPHeader("Cache-Control", "no-store"),
        HTTPHeader("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
      ], body: Array(html.utf8))
  }

  /// The address that came back, or nil when the task is cancelled or the listener stopped first.
  func returned() async -> String? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.with { state -> String?? in
          if let url = state.returnedURL { return .some(url) }
          if state.isStopped || Task.isCancelled { return .some(nil) }
          state.waiting = continuation
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      stop()
    }
  }

  private func wake() {
    let (waiting, url) = state.with { state in
      defer { state.waiting = nil }
      return (state.waiting, state.returnedURL)
    }
    waiting?.resume(returning: url)
  }

  func stop() {
    let server = state.with { state in
      defer { state.server = nil }
      state.isStopped = true
      return state.server
    }
    // The last page may still be on its way to the browser; the server ends after it.
    server?.stop()
    wake()
  }
}
