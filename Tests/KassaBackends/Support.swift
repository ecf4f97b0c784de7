import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaBackends

/// 2026-10-20T10:00:00Z
let moment: Int64 = 1_792_490_400_000

/// What a service does with one request.
enum Reply: Sendable {
  case response(HTTPResponse)
  case failure(TransportError)
  /// The same, after so many milliseconds.
  indirect case late(Int64, Reply)

  static func json(_ status: Int, _ text: String, headers: [HTTPHeader] = [], date: Int64? = nil) -> Reply {
    let type = HTTPHeader("Content-Type", "application/json")
    return .response(HTTPResponse(status: status, headers: [type] + headers, body: Array(text.utf8), date: date))
  }
  static func ok(_ json: JSON, date: Int64? = nil) -> Reply { .json(200, json.text(), date: date) }
  /// The last page of a list.
  static func rows(_ rows: [JSON]) -> Reply { .ok(["data": .array(rows), "page_info": ["has_next_page": false]]) }
  static func refusal(_ status: Int, message: String = "no", headers: [HTTPHeader] = []) -> Reply {
    let error: JSON = ["error": ["type": JSON("type_\(status)"), "code": "code", "message": JSON(message)]]
    return .json(status, error.text(), headers: headers)
  }
  static func html(_ status: Int) -> Reply {
    let type = HTTPHeader("Content-Type", "text/html")
    return .response(HTTPResponse(status: status, headers: [type], body: Array("<html>Sign in</html>".utf8)))
  }
}

/// Clocks on which every wait is over at once, and noted.
final class NotedTime: TimeSource {
  let clocks = ManualTime(wallMilliseconds: moment)
  private let noted = Locked<[Int64]>([])
  var waits: [Int64] { noted.with { $0 } }
  var wallMilliseconds: Int64 { clocks.wallMilliseconds }
  var bootNanoseconds: Int64 { clocks.bootNanoseconds }

  func sleep(milliseconds: Int64) async throws(CancellationError) {
    if Task.isCancelled { throw CancellationError() }
    noted.with { $0.append(milliseconds) }
    clocks.advance(milliseconds: milliseconds)
  }
}

/// A service that answers by a script, and notes what it was asked.
final class ScriptedTransport: HTTPTransport {
  private let time: NotedTime
  private let script: @Sendable (HTTPRequest, Int) -> Reply
  private let noted = Locked<[HTTPRequest]>([])
  var requests: [HTTPRequest] { noted.with { $0 } }

  /// The script is told the request and how many came before.
  init(time: NotedTime, script: @escaping @Sendable (HTTPRequest, Int) -> Reply) {
    self.time = time
    self.script = script
  }

  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    let number = noted.with { noted -> Int in
      noted.append(request)
      return noted.count - 1
    }
    return try play(script(request, number))
  }

  private func play(_ reply: Reply) throws(TransportError) -> HTTPResponse {
    switch reply {
    case .response(let response): return response
    case .failure(let error): throw error
    case .late(let milliseconds, let reply):
      time.clocks.advance(milliseconds: milliseconds)
      return try play(reply)
    }
  }

  /// The dates of the tests, in the three forms of HTTP.
  func milliseconds(ofHTTPDate text: String) -> Int64? {
    [
      "Tue, 20 Oct 2026 10:00:05 GMT": moment + 5_000, "Tuesday, 20-Oct-26 10:00:05 GMT": moment + 5_000,
      "Tue Oct 20 10:00:05 2026": moment + 5_000, "Tue, 20 Oct 2026 09:00:00 GMT": moment - 3_600_000,
      "Wed, 20 Oct 2027 10:00:00 GMT": moment + 365 * 86_400_000,
    ][text]
  }
}

/// Gives one token after the other.
final class Tokens: AccessTokenSource {
  private let state = Locked<(count: Int, refused: [String?])>((0, []))
  /// What each call named as refused.
  var refused: [String?] { state.with { $0.refused } }

  func token(refused: String?) async throws(KassaError) -> String {
    state.with { state in
      state.count += 1
      state.refused.append(refused)
      return "token\(state.count)"
    }
  }
}

/// A back end on a scripted service.
struct Bench {
  let time = NotedTime()
  let transport: ScriptedTransport
  let backend: WhopBackend
  private let noted = Locked<[Int64]>([])
  /// The service's own times that the back end reported.
  var serverTimes: [Int64] { noted.with { $0 } }
  var requests: [HTTPRequest] { transport.requests }

  init(
    _ members: [(String, JSON)] = [], tokens: (any AccessTokenSource)? = nil,
    script: @escaping @Sendable (HTTPRequest, Int) -> Reply
  ) throws {
    let credential: (String, JSON) = tokens == nil ? ("api_key", "secret_key") : ("access_token", "host")
    let configuration: JSON = .object([("kind", "whop"), ("company_id", "biz_1"), credential] + members)
    transport = ScriptedTransport(time: time, script: script)
    backend = WhopBackend(
      try WhopConfiguration(configuration), transport: transport, tokens: tokens, time: time,
      random: SeededRandom(seed: 1), source: "kassa/test", now: { [time] in time.wallMilliseconds },
      serverTime: { [noted] time in noted.with { $0.append(time) } })
  }

  /// Each reply once, the last one again and again.
  init(_ replies: Reply..., tokens: (any AccessTokenSource)? = nil) throws {
    try self.init(tokens: tokens) { _, number in replies[min(number, replies.count - 1)] }
  }

  /// What the back end says of a call that fails.
  func error<Value>(of call: (WhopBackend) async throws -> Value) async throws -> KassaError {
    do {
      let value = try await call(backend)
      throw Unexpected(text: "\(value)")
    } catch let error as KassaError {
      return error
    }
  }
}

struct Unexpected: Error { var text: String }

extension HTTPRequest {
  func header(_ name: String) -> String? { HTTPResponse(status: 0, headers: headers).header(name) }
  /// The values of a parameter, in their order.
  func query(_ name: String) -> [String] { URLText.queryItems(of: url).filter { $0.name == name }.map(\.value) }
  var path: String { String((URLText.Origin(url)?.path ?? "").prefix { $0 != "?" }) }
  var json: JSON { (try? JSON.parse(body)) ?? .null }
}

/// A membership as the service sends it.
func row(_ id: String, device: String? = nil, user: String? = nil, nonce: String? = nil, buyer: String? = nil) -> JSON {
  let metadata: [(String, JSON)] = [
    ("kassa_device_id", JSON(device)), ("kassa_app_user_id", JSON(user)), ("kassa_nonce", JSON(nonce)),
  ]
  return [
    "id": JSON(id), "product_id": "prod_1", "plan_id": "plan_1", "status": "active", "user_id": JSON(buyer),
    "created_at": "2026-10-20T10:00:00Z", "metadata": .object(metadata.filter { !$0.1.isNull }),
  ]
}

/// Samples of the service's documents, which lie beside the repository.
enum Samples {
  private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../shared/data/whop").standardized
  static let areHere = FileManager.default.fileExists(atPath: directory.path)
  static let comment: Comment = "the samples of the service's documents are not beside the repository"

  static func document(_ name: String) throws -> JSON {
    try JSON.parse(Array(Data(contentsOf: directory.appendingPathComponent(name))))
  }
}
