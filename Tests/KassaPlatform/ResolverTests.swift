import Foundation
import KassaCore
import Testing

@testable import KassaPlatform

@Suite struct ResolverTests {
  private func lookUp(_ host: String, on loop: EventLoop) async throws(TransportError) -> [String] {
    try await loop.pending { Resolver.shared(on: loop).lookUp(host, $0) }
  }

  /// A name of this machine that only its hosts file knows.
  private static let localName: String? = {
    let hosts = (try? String(contentsOfFile: "/etc/hosts", encoding: .utf8)) ?? ""
    let lines = hosts.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace) }
    return lines.first { $0.first == "127.0.0.1" && $0.count > 1 && $0[1] != "localhost" }.map { String($0[1]) }
  }()

  @Test(
    .enabled(if: localName != nil, "the hosts file gives 127.0.0.1 no second name"),
    arguments: [EventLoop.Mode.library, .host])
  func theHostsFileIsRead(mode: EventLoop.Mode) async throws {
    let name = try #require(Self.localName)
    let server = try RawServer(answer: "HTTP/1.1 204 No Content\r\n\r\n")
    try await withLoop(mode) { loop in
      let addresses = try await lookUp(name, on: loop)
      #expect(addresses.contains("127.0.0.1"))
      let response = try await CurlTransport(loop: loop).send(HTTPRequest("GET", "http://\(name):\(server.port)/"))
      #expect(response.status == 204)
    }
  }

  /// The look-up may wait for a name server or be over at once; its caller is free in any case.
  @Test(arguments: [EventLoop.Mode.library, .host])
  func cancellationEndsALookUpAtOnce(mode: EventLoop.Mode) async throws {
    try await withLoop(mode) { loop in
      let task = Task(executorPreference: loop) { try? await lookUp("kassa.invalid", on: loop) }
      let time = await duration {
        loop.post { task.cancel() }
        _ = await task.value
      }
      #expect(time < 100)
    }
  }
}
