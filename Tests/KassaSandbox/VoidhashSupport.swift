import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

/// What a client of Voidhash sends, and what a store sold to it.
struct VoidhashShop {
  static let user = "user-123"
  static let anonymous = "vh:anon:5f0c3d3e-96a7-4b1e-9d8e-1f6a36c2b001"
  static let month: Int64 = 30 * 86_400_000

  let shop: Shop
  var time: ManualTime { shop.time }

  init(path: String = ":memory:", seed: UInt64 = 1) throws { shop = try Shop(path: path, seed: seed) }

  init(catalogue: JSON, path: String = ":memory:") throws { shop = try Shop(catalogue: catalogue, path: path) }

  /// The built-in project with other switches, or more.
  init(switches: JSON = [:], _ more: (String, JSON)..., path: String = ":memory:") throws {
    let text = try JSON.parse(Catalogue.defaultText)
    let voidhash = (text["voidhash"] ?? .null).merging([("switches", switches)] + more)
    try self.init(catalogue: text.merging([("voidhash", voidhash)]), path: path)
  }

  static let headers: [(String, String)] = [
    ("x-publishable-key", "vh_pk_sandbox"), ("x-distinct-id", user), ("x-client-bundle-id", "com.example.app"),
    ("x-is-backgrounded", "false"), ("x-is-debug-build", "false"), ("x-observer-mode", "false"),
    ("x-platform", "ios"), ("x-platform-flavor", "native"), ("x-sdk", "ios"), ("x-sdk-version", "0.1.0"),
    ("x-environment", "production"), ("x-nonce", "11111111-1111-4111-8111-111111111111"),
  ]

  /// - Parameter changes: headers that are other ones; nil leaves one out.
  func call(
    _ method: String, _ path: String, _ body: JSON? = nil, as id: String = user, with changes: [String: String?] = [:]
  ) throws -> Shop.Answer {
    var headers = Self.headers.filter { changes[$0.0] == nil && $0.0 != "x-distinct-id" }
    if changes["x-distinct-id"] == nil { headers.append(("x-distinct-id", id)) }
    for (name, value) in changes { if let value { headers.append((name, value)) } }
    let request = HTTPRequest(
      method, "embedded:\(path)", headers: headers.map { HTTPHeader($0.0, $0.1) }, body: body?.bytes() ?? [])
    return try shop.response(shop.sandbox.answer(request))
  }

  func sdk(
    _ method: String, _ path: String, _ body: JSON? = nil, as id: String = user, with changes: [String: String?] = [:]
  ) throws -> Shop.Answer {
    try call(method, "/api/v1/sdk/\(path)", body, as: id, with: changes)
  }

  func person(_ id: String = user, _ environment: String = "production") throws -> Shop.Answer {
    try sdk("GET", "person", as: id, with: ["x-environment": environment])
  }

  /// The perks that are active.
  func perks(_ id: String = user, _ environment: String = "production") throws -> [String] {
    let grants = try person(id, environment).json.at("entitlements", "grants").elements
    return grants.filter { $0["status"] == "active" }.compactMap { $0["perkId"]?.string }
  }

  @discardableResult
  func sync(_ transactionID: String, as id: String = user, with changes: [String: String?] = [:]) throws -> Shop.Answer
  {
    try sdk(
      "POST", "sync-transaction", ["platform": "ios", "transactionId": JSON(transactionID)], as: id, with: changes)
  }

  @discardableResult
  func identify(_ former: String, as id: String, _ more: (String, JSON)...) throws -> Shop.Answer {
    try sdk("POST", "identify", JSON.object([("distinctId", JSON(id))] + more), as: former)
  }

  func register(_ transaction: StoreTransaction) throws { try shop.sandbox.register(storeTransaction: transaction) }

  func act(_ action: JSON) throws -> JSON { try shop.act(action) }
  func advance(days: Int) throws { try shop.advance(days: days) }

  /// The state's part about Voidhash.
  func state() throws -> JSON { try shop.act(["action": "state"]).at("voidhash") }

  /// `transaction id, distinct id, deliveries` of every receipt.
  func log() throws -> [String] {
    try state().at("receipts").elements.map {
      "\($0.at("transaction_id").string ?? "?") \($0.at("distinct_id").string ?? "?") \($0.at("deliveries").integer ?? -1)"
    }
  }
}

/// What a store sold: by default the first month of a subscription.
func sale(
  _ id: String = "2000", of series: String = "2000", _ product: String = "com.example.app.pro.monthly",
  _ kind: StoreProduct.Kind = .subscription, at moment: Int64 = Shop.start,
  days: Int64 = 30, _ change: (inout StoreTransaction) -> Void = { _ in }
) -> StoreTransaction {
  var transaction = StoreTransaction(
    id: id, originalID: series, platform: .apple, productID: product, kind: kind, purchasedAt: moment,
    originallyPurchasedAt: Shop.start, expiresAt: kind == .subscription ? moment + days * 86_400_000 : nil,
    environment: .sandbox, signedAt: moment, proof: "signed-\(id)")
  change(&transaction)
  return transaction
}

/// Samples of Voidhash's documents, which lie beside the repository.
enum VoidhashSamples {
  private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../shared/data/voidhash").standardized
  static let areHere = FileManager.default.fileExists(atPath: directory.path)
  static let comment: Comment = "the samples of Voidhash's documents are not beside the repository"

  static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
  }

  static func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: directory.appendingPathComponent(name)), as: UTF8.self)
  }

  static func read(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

  static func base64(_ text: String) throws -> [UInt8] { Array(try #require(Data(base64Encoded: text))) }

  static func document(_ name: String) throws -> JSON { try JSON.parse(try text(name)) }
}
