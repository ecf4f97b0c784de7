import CLinux
import CMicrohttpd
import Glibc
import KassaCore

/// One request to a server and its answer. Used on the loop only.
final class HTTPServerExchange: @unchecked Sendable {
  private unowned let server: HTTPServer
  private let connection: OpaquePointer
  private var request: HTTPRequest
  private var isTooLong = false
  private var task: Task<Void, Never>?
  private var answer: HTTPServerAnswer?
  private var isSuspended = false
  private var isOver = false
  /// Nil while the answer is not a slow one.
  private var pace: Pace?

  /// The body of a slow answer: some bytes, then a pause.
  private struct Pace {
    var body: [UInt8]
    var bytesPerStep: Int
    var stepNanoseconds: Int64
    var next: Int64 = 0
  }

  init(_ server: HTTPServer, _ connection: OpaquePointer, url: String) {
    (self.server, self.connection) = (server, connection)
    request = HTTPRequest("", url)
  }

  /// libmicrohttpd calls once for the head, once for each piece of the body, once at its end, and again when the
  /// connection goes on after the handler has answered.
  func proceed(_ method: UnsafePointer<CChar>, _ received: UnsafeRawBufferPointer) -> MHD_Result {
    if request.method.isEmpty {
      request.method = String(cString: method)
      request.headers = headers()
    } else if !received.isEmpty {
      isTooLong = isTooLong || received.count > HTTPServer.maximumBodyBytes - request.body.count
      if !isTooLong { request.body.append(contentsOf: received) }
    } else if isTooLong {
      return queue(HTTPResponse(status: 413))
    } else if let answer {
      return queue(answer)
    } else {
      askHandler()
    }
    return .YES
  }

  private func headers() -> [HTTPHeader] {
    var headers: [HTTPHeader] = []
    withUnsafeMutablePointer(to: &headers) { headers in
      _ = server.mhd.get_connection_values(
        connection, .HEADER_KIND,
        { data, _, name, value in
          guard let headers = data?.assumingMemoryBound(to: [HTTPHeader].self), let name else { return .YES }
          headers.pointee.append(HTTPHeader(String(cString: name), value.map { String(cString: $0) } ?? ""))
          return .YES
        }, headers)
    }
    return headers
  }

  private func askHandler() {
    suspend()
    task = server.loop.start { [self, handler = server.handler, request] in
      answer = await handler(request)
      guard !isOver else { return }
      resume()
      server.run()
    }
  }

  private func suspend() {
    server.mhd.suspend_connection(connection)
    isSuspended = true
  }

  func resume() {
    guard isSuspended else { return }
    isSuspended = false
    server.mhd.resume_connection(connection)
  }

  /// The last call of libmicrohttpd for this request.
  func finish() {
    isOver = true
    task?.cancel()
    server.forget(self)
  }

  // MARK: Answers

  private func queue(_ answer: HTTPServerAnswer) -> MHD_Result {
    switch answer {
    case .response(let response): return queue(response)
    case .reset:
      // Closing without lingering sends a reset.
      var option = linger(l_onoff: 1, l_linger: 0)
      let size = socklen_t(MemoryLayout<linger>.size)
      setsockopt(kassa_mhd_socket(connection), SOL_SOCKET, SO_LINGER, &option, size)
      return .NO
    case .slow(let response, let bytesPerSecond):
      let rate = max(1, bytesPerSecond)
      let step = max(1, rate / 20)
      pace = Pace(body: response.body, bytesPerStep: step, stepNanoseconds: Int64(step) * 1_000_000_000 / Int64(rate))
      return queue(response)
    }
  }

  private func queue(_ response: HTTPResponse) -> MHD_Result {
    guard let message = pace == nil ? message(response.body) : slowMessage(response.body.count) else { return .NO }
    defer { server.mhd.destroy_response(message) }
    for header in response.headers where !Self.isOurs(header) {
      _ = server.mhd.add_response_header(message, header.name, header.value)
    }
    if let date = response.date, response.header("Date") == nil {
      _ = server.mhd.add_response_header(message, "Date", Timestamp.httpDate(date))
    }
    return server.mhd.queue_response(connection, UInt32(clamping: response.status), message)
  }

  /// How long the body is, libmicrohttpd says by itself.
  private static func isOurs(_ header: HTTPHeader) -> Bool {
    header.isNamed("content-length") || header.isNamed("transfer-encoding")
  }

  private func message(_ body: [UInt8]) -> OpaquePointer? {
    var body = body
    return body.withUnsafeMutableBytes {
      server.mhd.create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
    }
  }

  private func slowMessage(_ count: Int) -> OpaquePointer? {
    server.mhd.create_response_from_callback(
      UInt64(count), 4_096,
      { exchange, position, buffer, capacity in
        guard let exchange, let buffer else { return -1 }
        return Unmanaged<HTTPServerExchange>.fromOpaque(exchange).takeUnretainedValue()
          .readSlowly(
            from: Int(clamping: position), into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
      }, Unmanaged.passUnretained(self).toOpaque(), nil)
  }

  /// The next bytes of a slow answer; none while it pauses.
  private func readSlowly(from position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let now = kassa_boot_nanoseconds()
    guard let pace, pace.next <= now else {
      pause()
      return 0
    }
    let piece = pace.body.dropFirst(position).prefix(min(pace.bytesPerStep, buffer.count))
    buffer.copyBytes(from: piece)
    self.pace?.next = now.adding(pace.stepNanoseconds)
    return piece.count
  }

  private func pause() {
    suspend()
    _ = server.loop.timer(atBootNanoseconds: pace?.next ?? 0) { [weak self] in
      guard let self, !isOver else { return }
      resume()
      server.run()
    }
  }
}
