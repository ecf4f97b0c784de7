import KassaCore
import KassaJSON
import KassaPlatform

/// Carries requests to a service on this machine that may be `kassa-sandbox`, and lets that one know what the simulated
/// store of this process sold, as the real service learns it from Apple's servers.
///
/// Requests wait for what was registered before them: a receipt that came first would be of an unknown transaction. What
/// the server did not hear, it is told at the next start, as long as it is not finished.
final class RegisteringTransport: HTTPTransport {
  private let transport: any HTTPTransport
  private let baseURL: String
  private let start: @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>
  /// The last registration that is under way; it waits for those before it.
  private let last = Locked<Task<Void, Never>?>(nil)

  init(
    _ transport: any HTTPTransport, baseURL: String,
    start: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>
  ) {
    self.transport = transport
    self.baseURL = baseURL
    self.start = start
  }

  @Sendable func register(_ transactions: [StoreTransaction]) {
    for transaction in transactions { register(transaction) }
  }

  private func register(_ transaction: StoreTransaction) {
    let document = transaction.document.merging([
      ("grace_ends_at", JSON(transaction.graceEndsAt)), ("signed_at", JSON(transaction.signedAt)),
      ("proof", JSON(transaction.proof)),
    ])
    let action: JSON = ["action": "register_store_transaction", "transaction": document]
    let request = HTTPRequest(
      "POST", "\(baseURL)/sandbox/control", headers: [HTTPHeader("Content-Type", "application/json")],
      body: action.bytes())
    last.with { last in
      // One after the other: of several versions of a transaction the last one counts.
      last = start { [transport, last] in
        await last?.value
        _ = try? await transport.send(request)
      }
    }
  }

  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    while let registration = last.with({ $0 }) {
      await registration.value
      // Unless others came meanwhile, nobody has to wait any more.
      last.with { if $0 == registration { $0 = nil } }
    }
    return try await transport.send(request)
  }

  func milliseconds(ofHTTPDate text: String) -> Int64? { transport.milliseconds(ofHTTPDate: text) }
}
