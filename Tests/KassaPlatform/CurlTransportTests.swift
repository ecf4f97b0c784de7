import Foundation
import KassaCore
import KassaPlatform
import Testing

@Suite struct CurlTransportTests {
  private func send(
    _ request: HTTPRequest, mode: EventLoop.Mode = .library, limits: CurlTransport.Limits = .init()
  ) async throws -> HTTPResponse {
    try await withLoop(mode) { loop in try await CurlTransport(loop: loop, limits: limits).send(request) }
  }

  /// What comes of an answer that a peer gives byte by byte.
  private func error(
    _ limits: CurlTransport.Limits = .init(), serve: @escaping @Sendable (RawServer.Connection) -> Void
  ) async throws -> TransportError? {
    let server = try RawServer(serve)
    do {
      _ = try await send(HTTPRequest("GET", server.url), limits: limits)
      return nil
    } catch let error as TransportError {
      return error
    }
  }

  private func isMalformed(_ error: TransportError?) -> Bool {
    if case .malformed(let text) = error { text.hasPrefix("127.0.0.1: ") } else { false }
  }

  private func isOffline(_ error: TransportError?) -> Bool { if case .offline = error { true } else { false } }

  @Test(arguments: [EventLoop.Mode.library, .host])
  func anAnswerComesWhole(mode: EventLoop.Mode) async throws {
    let server = try RawServer(
      answer: """
        HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\n\
        Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-Empty:\r\nX-Two: a\r\nx-two: b \r\nContent-Length: 2\r\n\r\nok
        """)
    let response = try await send(HTTPRequest("GET", server.url), mode: mode)
    #expect(response.status == 201)
    #expect(response.body == Array("ok".utf8))
    #expect(response.date == 784_111_777_000)
    #expect(response.header("Link") == nil)
    #expect(response.header("x-EMPTY") == "")
    #expect(response.headers.filter { $0.name.lowercased() == "x-two" }.map(\.value) == ["a", "b"])
  }

  @Test(arguments: ["POST", "PATCH", "PUT", "DELETE"])
  func theRequestArrivesAsGiven(method: String) async throws {
    let seen = Locked("")
    let server = try RawServer { connection in
      let request = connection.readRequest() ?? ""
      seen.with { $0 = request }
      connection.write("HTTP/1.1 204 No Content\r\n\r\n")
    }
    let body = Array(#"{"a":"\#(String(repeating: "x", count: 100_000))"}"#.utf8)
    let headers = [HTTPHeader("Content-Type", "application/json"), HTTPHeader("X-Empty", "")]
    let response = try await send(HTTPRequest(method, server.url + "v1/x?q=%20", headers: headers, body: body))
    let request = seen.with { $0 }
    #expect(response.status == 204)
    #expect(request.hasPrefix("\(method) /v1/x?q=%20 HTTP/1.1\r\n"))
    #expect(request.hasSuffix(String(decoding: body, as: UTF8.self)))
    #expect(request.contains("\r\nContent-Type: application/json\r\n"))
    #expect(request.contains("\r\nX-Empty:\r\n"))
    #expect(request.contains("\r\nAccept-Encoding: gzip\r\n"))
    #expect(!request.contains("Expect:"))
  }

  @Test func aPostWithoutBodyHasNone() async throws {
    let seen = Locked("")
    let server = try RawServer { connection in
      let request = connection.readRequest() ?? ""
      seen.with { $0 = request }
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    }
    #expect(try await send(HTTPRequest("POST", server.url)).body.isEmpty)
    let request = seen.with { $0 }
    #expect(request.contains("\r\nContent-Length: 0\r\n"))
    #expect(!request.contains("Content-Type"))
  }

  @Test func connectionsAreKept() async throws {
    let server = try RawServer { connection in
      while connection.readRequest() != nil { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
    }
    try await withLoop { loop in
      for _ in 0..<5 { _ = try await CurlTransport(loop: loop).send(HTTPRequest("GET", server.url)) }
    }
    #expect(server.connectionCount == 1)
  }

  /// Handles are kept: what a request has of its own must not be sent with the next one.
  @Test func nothingOfARequestStays() async throws {
    let seen = Locked<[String]>([])
    let server = try RawServer { connection in
      while let request = connection.readRequest() {
        seen.with { $0.append(request) }
        connection.write("HTTP/1.1 204 No Content\r\n\r\n")
      }
    }
    let requests = [
      HTTPRequest("GET", server.url + "a"), HTTPRequest("HEAD", server.url + "b"),
      HTTPRequest("POST", server.url + "c", headers: [HTTPHeader("Content-Type", "text/plain")], body: [0x78]),
      HTTPRequest("POST", server.url + "d"), HTTPRequest("DELETE", server.url + "e", headers: [HTTPHeader("X-E", "e")]),
      HTTPRequest("PUT", server.url + "f", headers: [HTTPHeader("X-F", "")], body: [0x79, 0x79]),
    ]
    for request in requests { _ = try await send(request) }
    let alone = seen.with { seen in
      defer { seen = [] }
      return seen
    }
    let pairs = requests.indices.flatMap { first in requests.indices.map { [first, $0] } }.joined()
    try await withLoop { loop in
      let transport = CurlTransport(loop: loop)
      for index in pairs { _ = try await transport.send(requests[index]) }
    }
    #expect(seen.with { $0 } == pairs.map { alone[$0] })
  }

  @Test(arguments: [EventLoop.Mode.library, .host])
  func preparedRequests(mode: EventLoop.Mode) async throws {
    let server = try RawServer { connection in
      while let request = connection.readRequest() {
        let path = request.split(separator: " ")[1]
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
      }
    }
    let bodies = try await withLoop(mode) { loop in
      let transport = CurlTransport(loop: loop)
      // More than handles are kept, in another order than made, and one that is never sent.
      let prepared = (0..<6).map { transport.prepare(HTTPRequest("GET", server.url + "\($0)")) }
      var bodies: [String] = []
      for index in [4, 0, 1, 5, 3] { bodies.append(String(decoding: try await prepared[index]().body, as: UTF8.self)) }
      return bodies
    }
    #expect(bodies == ["/4", "/0", "/1", "/5", "/3"])
    await #expect(throws: TransportError.malformed("not an absolute http or https URL without a user name")) {
      try await withLoop(mode) { loop in try await CurlTransport(loop: loop).prepare(HTTPRequest("GET", "/path"))() }
    }
  }

  @Test func badRequestsAreRefused() async throws {
    let requests = [
      HTTPRequest("GET", "ftp://127.0.0.1/"), HTTPRequest("GET", "file:///etc/passwd"), HTTPRequest("GET", ""),
      HTTPRequest("GET", "http://127.0.0.1:1/\0"), HTTPRequest("GET", "/path"),
      HTTPRequest("G ET", "http://127.0.0.1:1/"),
      HTTPRequest("GET", "http://127.0.0.1:1/", headers: [HTTPHeader("A", "b\r\nC: d")]),
      HTTPRequest("GET", "http://127.0.0.1:1/", headers: [HTTPHeader("A: b", "c")]),
      HTTPRequest("GET", "http://user:secret@127.0.0.1:1/"),
    ]
    for request in requests {
      let error = await #expect(throws: TransportError.self) { try await send(request) }
      guard case .malformed(let text) = error else {
        Issue.record("\(request.url): \(String(describing: error))")
        continue
      }
      #expect(!text.contains("secret"))
    }
  }

  @Test func nobodyListens() async throws {
    let port = try RawServer { _ in }.port
    let error = await #expect(throws: TransportError.self) {
      try await send(HTTPRequest("GET", "http://127.0.0.1:\(port)/private?key=secret"))
    }
    guard case .offline(let text) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(text.hasPrefix("127.0.0.1: ") && text.contains("ECONNREFUSED") && !text.contains("secret"))
  }

  @Test func aResetIsOffline() async throws {
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.prepareReset()
    }
    #expect(isOffline(error))
  }

  @Test func aStrangerOnTheTLSPortIsInsecure() async throws {
    let server = try RawServer { connection in
      connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      connection.waitForEnd()
    }
    let url = server.url.replacingOccurrences(of: "http:", with: "https:")
    let error = await #expect(throws: TransportError.self) { try await send(HTTPRequest("GET", url)) }
    guard case .insecure = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func aSlowAnswerTimesOut() async throws {
    let limits = CurlTransport.Limits(requestMilliseconds: 200)
    let server = try RawServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
      connection.waitForEnd()
    }
    let time = try await withLoop { loop in
      await duration {
        await #expect(throws: TransportError.timedOut) {
          try await CurlTransport(loop: loop, limits: limits).send(HTTPRequest("GET", server.url))
        }
      }
    }
    #expect(time >= 190 && time < 1_000)
  }

  @Test(arguments: [EventLoop.Mode.library, .host])
  func cancellationEndsATransferAtOnce(mode: EventLoop.Mode) async throws {
    let server = try RawServer { connection in
      _ = connection.readRequest()
      connection.waitForEnd()
    }
    try await withLoop(mode) { loop in
      let transport = CurlTransport(loop: loop)
      _ = try? await transport.send(HTTPRequest("GET", "http://127.0.0.1:1/"))
      let task = Task(executorPreference: loop) { try await transport.send(HTTPRequest("GET", server.url)) }
      try await Task.sleep(for: .milliseconds(50))
      let time = await duration {
        task.cancel()
        let result = await task.result
        #expect(throws: TransportError.cancelled) { try result.get() }
      }
      #expect(time < 100)
    }
  }

  @Test func aStoppedLoopEndsItsTransfers() async throws {
    let server = try RawServer { $0.waitForEnd() }
    let loop = try EventLoop(mode: .library)
    // Not on Swift's pool, which other tests block for longer than a request may take.
    Thread.detachNewThread {
      while server.connectionCount == 0 { usleep(1_000) }
      loop.stop()
    }
    let task = Task(executorPreference: loop) {
      try await CurlTransport(loop: loop).send(HTTPRequest("GET", server.url))
    }
    await #expect(throws: TransportError.cancelled) { try await task.value }
  }

  @Test func S101_datesOfAllThreeForms() throws {
    let loop = try EventLoop(mode: .host)
    defer { loop.stop() }
    let transport = CurlTransport(loop: loop)
    for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
      #expect(transport.milliseconds(ofHTTPDate: text) == 784_111_777_000, "\(text)")
    }
    let others = [
      "", "120", "0", "1.5", " 120 ", "120junk", "-5", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 CET",
      "06 Nov 1994", "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT, Mon, 07 Nov 1994 08:49:37 GMT", "19941106 08:49:37", "tomorrow",
    ]
    for text in others { #expect(transport.milliseconds(ofHTTPDate: text) == nil, "\(text)") }
  }

  /// What is not the service's answer still comes through as it is: the back end tells them apart.
  @Test(arguments: [
    ("200 OK\r\nContent-Type: text/html", "<html>Welcome</html>"), ("200 OK", ""), ("200 OK", "null"), ("200 OK", "[]"),
    ("302 Found\r\nLocation: http://portal.example/login", "moved"), ("511 Network Authentication Required", "<p>"),
  ])
  func S105_strangersAreHandedOn(head: String, body: String) async throws {
    let server = try RawServer(answer: "HTTP/1.1 \(head)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    let response = try await send(HTTPRequest("GET", server.url))
    #expect(response.status == Int(head.prefix(3)))
    #expect(response.body == Array(body.utf8))
    #expect(server.connectionCount == 1)
  }

  @Test func S111_lyingAndTruncatedLength() async throws {
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"data\":[")
    }
    #expect(isMalformed(error))
  }

  @Test func S111_negativeLength() async throws {
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nx")
    }
    #expect(isMalformed(error))
  }

  @Test func S111_anEndlessChunkedBody() async throws {
    let before = peakMemory()
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
      while connection.write(chunk) {}
    }
    #expect(isMalformed(error))
    #expect(isSanitized || peakMemory() - before < 128 << 20)
  }

  @Test func S111_brokenChunks() async throws {
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n")
    }
    #expect(isMalformed(error))
  }

  @Test func S111_aHundredMegabytes() async throws {
    let blocks = Locked(0)
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
      let block = [UInt8](repeating: 0x20, count: 1 << 20)
      while connection.write(block) { blocks.with { $0 += 1 } }
    }
    #expect(isMalformed(error))
    // Refused by its length; what went out filled the kernel's buffers.
    #expect(blocks.with { $0 } < 50)
  }

  @Test func S111_endlessHeaders() async throws {
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\n")
      while connection.write("X-More: \(String(repeating: "x", count: 1_000))\r\n") {}
    }
    #expect(isMalformed(error))
  }

  @Test func S111_aGzipBomb() async throws {
    // 256 MB of zeroes in some 256 KB.
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "head -c 268435456 /dev/zero | gzip -9"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bomb = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
    #expect(bomb.count > 1_000 && bomb.count < 1 << 20)
    let before = peakMemory()
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
      connection.write(bomb)
    }
    #expect(isMalformed(error))
    #expect(isSanitized || peakMemory() - before < 128 << 20)
  }

  @Test(arguments: ["gzip", "rot13"])
  func S111_anInvalidEncoding(name: String) async throws {
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: \(name)\r\nContent-Length: 9\r\n\r\nnot gzip!")
    }
    #expect(isMalformed(error))
  }

  @Test func S111_noHTTPAtAll() async throws {
    let error = try await error { connection in
      _ = connection.readRequest()
      connection.write("SSH-2.0-OpenSSH_9.2\r\n")
    }
    #expect(isMalformed(error))
  }
}
