import Foundation
import KassaCore
@testable import KassaPlatform
import Testing

@Suite struct HTTPServerTests {
  private func withServer(
    _ mode: EventLoop.Mode = .library, handler: @escaping HTTPServer.Handler,
    _ body: @escaping @Sendable (CurlTransport, String, HTTPServer) async throws -> Void
  ) async throws {
    try await withLoop(mode) { loop in
      let server = try HTTPServer(loop: loop, handler: handler)
      try await body(CurlTransport(loop: loop), "http://127.0.0.1:\(server.port)", server)
    }
  }

  @Test(arguments: [EventLoop.Mode.library, .host])
  func aRequestAndItsAnswer(mode: EventLoop.Mode) async throws {
    try await withServer(mode) { request in
      let name = request.headers.first { $0.name == "X-Name" }?.value ?? "-"
      let text = "\(request.method) \(request.url) \(name) \(request.body.count)"
      return .response(
        HTTPResponse(
          status: 201, headers: [HTTPHeader("X-Answer", "a"), HTTPHeader("Content-Length", "7")],
          body: Array(text.utf8), date: 784_111_777_000))
    } _: { transport, url, _ in
      let response = try await transport.send(
        HTTPRequest(
          "POST", url + "/a%2Fb?q=a%20b", headers: [HTTPHeader("X-Name", "n")],
          body: Array(repeating: 1, count: 300_000)))
      #expect(response.status == 201)
      #expect(String(decoding: response.body, as: UTF8.self) == "POST /a%2Fb?q=a%20b n 300000")
      #expect(response.header("X-Answer") == "a")
      #expect(response.date == 784_111_777_000)
    }
  }

  @Test func answersMayComeLaterAndOutOfTurn() async throws {
    try await withLoop { loop in
      let time = SystemTime(loop: loop)
      let server = try HTTPServer(loop: loop) { request in
        let milliseconds = Int64(request.url.dropFirst()) ?? 0
        try? await time.sleep(milliseconds: milliseconds)
        return .response(HTTPResponse(status: 200, body: Array(request.url.utf8)))
      }
      let transport = CurlTransport(loop: loop)
      let order = Locked<[String]>([])
      await withThrowingTaskGroup(of: Void.self) { group in
        for milliseconds in [200, 1, 100] {
          group.addTask {
            let response = try await transport.send(
              HTTPRequest("GET", "http://127.0.0.1:\(server.port)/\(milliseconds)"))
            order.with { $0.append(String(decoding: response.body, as: UTF8.self)) }
          }
        }
      }
      #expect(order.with { $0 } == ["/1", "/100", "/200"])
    }
  }

  @Test func aBodyOverTheLimitIsRefused() async throws {
    try await withServer { request in
      .response(HTTPResponse(status: 200, body: Array("\(request.body.count)".utf8)))
    } _: { transport, url, _ in
      let most = HTTPServer.maximumBodyBytes
      let whole = try await transport.send(HTTPRequest("POST", url, body: Array(repeating: 1, count: most)))
      #expect(String(decoding: whole.body, as: UTF8.self) == "\(most)")
      let longer = try await transport.send(HTTPRequest("POST", url, body: Array(repeating: 1, count: most + 1)))
      #expect(longer.status == 413)
      // The connection is still good.
      #expect(try await transport.send(HTTPRequest("GET", url)).status == 200)
    }
  }

  @Test func aResetIsOffline() async throws {
    try await withServer { _ in
      .reset
    } _: { transport, url, _ in
      let error = await #expect(throws: TransportError.self) { try await transport.send(HTTPRequest("GET", url)) }
      guard case .offline = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test func aSlowAnswerKeepsItsPace() async throws {
    try await withServer { _ in
      .slow(HTTPResponse(status: 200, body: Array(repeating: 7, count: 1_000)), bytesPerSecond: 2_000)
    } _: { transport, url, _ in
      let time = try await duration {
        let response = try await transport.send(HTTPRequest("GET", url))
        #expect(response.body == Array(repeating: 7, count: 1_000))
      }
      #expect(time > 400 && time < 1_000)
    }
  }

  @Test func aSlowerAnswerTimesOut() async throws {
    try await withLoop { loop in
      let server = try HTTPServer(loop: loop) { _ in
        .slow(HTTPResponse(status: 200, body: Array(repeating: 7, count: 1_000)), bytesPerSecond: 1)
      }
      let transport = CurlTransport(loop: loop, limits: .init(requestMilliseconds: 200))
      await #expect(throws: TransportError.timedOut) {
        try await transport.send(HTTPRequest("GET", "http://127.0.0.1:\(server.port)/"))
      }
    }
  }

  @Test func stopSendsWhatIsUnderWayAndFreesThePort() async throws {
    try await withLoop { loop in
      let time = SystemTime(loop: loop)
      let isAsked = Locked(false)
      let server = try HTTPServer(loop: loop) { _ in
        isAsked.with { $0 = true }
        try? await time.sleep(milliseconds: 200)
        return .response(HTTPResponse(status: 200, body: [1]))
      }
      let port = server.port
      let transport = CurlTransport(loop: loop)
      let task = Task(executorPreference: loop) {
        try await transport.send(HTTPRequest("GET", "http://127.0.0.1:\(port)/"))
      }
      while !isAsked.with({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
      server.stop()
      server.stop()
      let second = try HTTPServer(loop: loop, port: port) { _ in .response(HTTPResponse(status: 204)) }
      #expect(second.port == port)
      #expect(try await task.value.body == [1])
      #expect(try await transport.send(HTTPRequest("GET", "http://127.0.0.1:\(port)/")).status == 204)
    }
  }

  @Test func stopEndsAnAnswerThatTakesTooLong() async throws {
    try await withLoop { loop in
      let time = SystemTime(loop: loop)
      let wasCancelled = Locked(false)
      let isAsked = Locked(false)
      let server = try HTTPServer(loop: loop) { _ in
        isAsked.with { $0 = true }
        do { try await time.sleep(milliseconds: 60_000) } catch { wasCancelled.with { $0 = true } }
        return .reset
      }
      let transport = CurlTransport(loop: loop)
      let task = Task(executorPreference: loop) {
        try await transport.send(HTTPRequest("GET", "http://127.0.0.1:\(server.port)/"))
      }
      while !isAsked.with({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
      let elapsed = await duration {
        server.stop()
        let result = await task.result
        #expect(throws: TransportError.self) { try result.get() }
      }
      #expect(elapsed > 900 && elapsed < 1_500)
      #expect(wasCancelled.with { $0 })
    }
  }

  @Test func aTakenPortIsAnError() async throws {
    try await withServer { _ in
      .reset
    } _: { _, _, server in
      #expect(throws: PlatformError.self) { try HTTPServer(loop: server.loop, port: server.port) { _ in .reset } }
    }
  }

  @Test func onlyThisMachineCanConnect() async throws {
    try await withServer { _ in
      .reset
    } _: { _, _, server in
      // All of 127.0.0.0/8 is this machine, but only one address listens.
      let transport = CurlTransport(loop: server.loop)
      let error = await #expect(throws: TransportError.self) {
        try await transport.send(HTTPRequest("GET", "http://127.0.0.2:\(server.port)/"))
      }
      guard case .offline(let text) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(text.contains("ECONNREFUSED"))
    }
  }
}
