import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

/// A sandbox whose clock stands still until it is told otherwise, and the requests that tests send to it.
struct Shop {
  /// 2026-10-20T10:00:00Z
  static let start: Int64 = 1_792_490_400_000
  static let key = "sandbox_key"

  let time = ManualTime(wallMilliseconds: start)
  let sandbox: Sandbox

  init(catalogue: JSON? = nil, path: String = ":memory:", seed: UInt64 = 1) throws {
    sandbox = try Sandbox(catalogue: catalogue, path: path, time: time, random: SeededRandom(seed: seed))
  }

  /// The built-in catalogue with other switches.
  init(switches: JSON) throws {
    try self.init(catalogue: try JSON.parse(Catalogue.defaultText).merging([("switches", switches)]))
  }

  struct Answer {
    var status: Int
    var headers: [HTTPHeader]
    var json: JSON
    var text: String
    func header(_ name: String) -> String? { HTTPResponse(status: status, headers: headers).header(name) }
    subscript(key: String) -> JSON { json[key] ?? .null }
    var rows: [JSON] { self["data"].elements }
    var ids: [String] { rows.compactMap { $0["id"]?.string } }
  }

  func call(
    _ method: String, _ path: String, _ body: JSON? = nil, key: String? = Shop.key, headers: [HTTPHeader] = []
  ) throws -> Answer {
    var headers = headers
    if let key { headers.append(HTTPHeader("Authorization", "Bearer \(key)")) }
    let request = HTTPRequest(method, "embedded:/api/v1\(path)", headers: headers, body: body?.bytes() ?? [])
    return try response(sandbox.answer(request))
  }

  func get(_ path: String, key: String? = Shop.key) throws -> Answer { try call("GET", path, key: key) }

  func response(_ answer: SandboxAnswer) throws -> Answer {
    guard case .response(let response) = answer else { throw Unexpected(text: "\(answer)") }
    return Answer(
      status: response.status, headers: response.headers, json: (try? JSON.parse(response.body)) ?? .null,
      text: String(decoding: response.body, as: UTF8.self))
  }

  @discardableResult
  func act(_ action: JSON) throws -> JSON { try sandbox.perform(action) }

  /// Buys and gives the membership's id.
  @discardableResult
  func buy(_ plan: String, email: String = "buyer@example.com", card: String = "4242424242424242") throws -> String {
    let result = try act([
      "action": "complete_checkout", "plan_id": JSON(plan), "email": JSON(email), "card": JSON(card),
    ])
    return try #require(result["membership_id"]?.string)
  }

  func membership(_ id: String) throws -> Answer { try get("/memberships/\(id)") }

  func advance(days: Int) throws { try act(["action": "advance", "days": JSON(days)]) }
}

struct Unexpected: Error { var text: String }

extension JSON {
  /// The member that is there, or null.
  func at(_ keys: String...) -> JSON { keys.reduce(self) { $0[$1] ?? .null } }
}
