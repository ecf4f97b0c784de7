import Glibc
import KassaCore
import KassaJSON
import KassaPlatform
import KassaSandbox

/// The sandbox behind a socket of this machine.
final class SandboxServer {
  let url: String
  private let server: HTTPServer

  init(_ options: Options, loop: EventLoop) throws {
    let time = SystemTime(loop: loop)
    let random: any RandomSource = options.seed.map { SeededRandom(seed: $0) } ?? SystemRandom()
    let catalogue = try options.catalogue.map { try Self.parse($0) }
    let sandbox = try Sandbox(catalogue: catalogue, path: options.state, time: time, random: random)
    let isQuiet = options.isQuiet
    server = try HTTPServer(loop: loop, port: options.port) { request in
      // A page of another site that has its own name point here is not answered.
      guard Self.isLocal(request) else { return .response(HTTPResponse(status: 421)) }
      let answer = sandbox.answer(request)
      if !isQuiet { Self.log(request, answer) }
      return await answer.served(by: time)
    }
    url = "http://127.0.0.1:\(server.port)"
    sandbox.baseURL = url
  }

  private static func isLocal(_ request: HTTPRequest) -> Bool {
    let host = request.headers.first { $0.isNamed("host") }?.value ?? ""
    return URLText.Origin("http://\(host)")?.isLoopback ?? false
  }

  private static func log(_ request: HTTPRequest, _ answer: SandboxAnswer) {
    let outcome =
      switch answer {
      case .response(let response), .slow(let response, _), .delayed(let response, _): "\(response.status)"
      case .reset: "reset"
      }
    writeLine("\(request.method) \(request.url) \(outcome)", to: STDERR_FILENO)
  }

  private static func parse(_ path: String) throws -> JSON {
    let text = try read(path)
    do throws(JSONSyntaxError) { return try JSON.parse(text) } catch {
      throw PlatformError("\(path), line \(error.line), column \(error.column): \(error.message)")
    }
  }

  private static func read(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "re") else {
      throw PlatformError("\(path): \(String(cString: strerror(errno)))")
    }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      guard count > 0 else { return bytes }
      bytes += buffer.prefix(count)
    }
  }
}
