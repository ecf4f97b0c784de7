import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaBackends

extension Reply {
  /// A refusal in the service's envelope.
  static func tagged(_ status: Int, _ tag: String = "Api/SdkServiceError", _ message: String? = "no") -> Reply {
    let members: [(String, JSON)] = [("_tag", JSON(tag))] + (message.map { [("message", JSON($0))] } ?? [])
    return .json(status, JSON.object(members).text())
  }
  static let keyRefused = tagged(401, "Api/NotAuthenticatedError", "Invalid publishable key")
  static func person(_ id: String = "user-123", grants: JSON = [], date: Int64? = nil) -> Reply {
    .ok(["distinctId": JSON(id), "personId": "person_1", "entitlements": ["grants": grants]], date: date)
  }
}

struct Diagnostic: Sendable, Equatable {
  var code: String
  var message: String
  var details: JSON
}

let user = DistinctID("user-123")

func receipt(
  _ id: String = "2000000000000001", platform: StoreTransaction.Platform = .apple, slug: String? = "pro",
  token: String? = nil, environment: StoreTransaction.Environment? = .production, purchasedAt: Int64? = moment,
  quantity: Int = 1, owner: DistinctID = user
) -> OutgoingReceipt {
  OutgoingReceipt(
    platform: platform, transactionID: id, productSlug: slug, purchaseToken: token, environment: environment,
    purchasedAt: purchasedAt, quantity: quantity, owner: owner)
}

/// A back end on a scripted service.
struct VoidhashBench {
  static let key = "vh_pk_test"
  let time = NotedTime()
  let transport: ScriptedTransport
  let backend: VoidhashBackend
  private let times = Locked<[Int64]>([])
  private let noted = Locked<[Diagnostic]>([])
  /// The service's own times that the back end reported.
  var serverTimes: [Int64] { times.with { $0 } }
  var diagnostics: [Diagnostic] { noted.with { $0 } }
  var requests: [HTTPRequest] { transport.requests }

  init(
    _ members: [(String, JSON)] = [], facts: VoidhashClientFacts = VoidhashClientFacts(sdkVersion: "0.1.0"),
    asking: DistinctID? = nil, script: @escaping @Sendable (HTTPRequest, Int) -> Reply
  ) throws {
    let required: [(String, JSON)] = [
      ("kind", "voidhash"), ("publishable_key", JSON(Self.key)), ("bundle_id", "com.example.app"),
    ]
    transport = ScriptedTransport(time: time, script: script)
    backend = try VoidhashBackend(
      VoidhashConfiguration(.object(required + members), isDebug: true), facts: facts, transport: transport,
      time: time, random: SeededRandom(seed: 1), asking: { asking },
      serverTime: { [times] time in times.with { $0.append(time) } },
      report: { [noted] in
        let diagnostic = Diagnostic(code: $0, message: $1, details: $2)
        noted.with { $0.append(diagnostic) }
      })
  }

  /// Each reply once, the last one again and again.
  init(_ replies: Reply...) throws {
    try self.init { _, number in replies[min(number, replies.count - 1)] }
  }

  func error<Value>(of call: (VoidhashBackend) async throws -> Value) async throws -> KassaError {
    do {
      let value = try await call(backend)
      throw Unexpected(text: "\(value)")
    } catch let error as KassaError {
      return error
    }
  }
}

/// Samples of the service's documents, which lie beside the repository.
enum VoidhashSamples {
  private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../shared/data/voidhash").standardized
  static let areHere = FileManager.default.fileExists(atPath: directory.path)
  static let comment: Comment = "the samples of the service's documents are not beside the repository"

  static func text(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: directory.appendingPathComponent(name)), as: UTF8.self)
  }
  static func document(_ name: String) throws -> JSON { try JSON.parse(text(name)) }
}
