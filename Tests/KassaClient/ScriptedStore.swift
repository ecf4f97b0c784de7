import KassaCore
import KassaJSON
import KassaPlatform

@testable import KassaClient

/// A store whose every answer a test decides, also those that no real store should give. Used on the loop and, between
/// its calls, by the test.
final class ScriptedStore: Store, @unchecked Sendable {
  struct Script {
    var products: [StoreProduct] = []
    var outcome: Result<StoreOutcome, KassaError> = .success(.cancelled)
    var unfinished: [StoreDelivery] = []
    var entitlements: [StoreDelivery] = []
    var storefront = Storefront(country: "DE")
    var finishFails = false
    var finishHangs = false
    var isRestoreDismissed = false
    var graceEndsAt: [String: Int64] = [:]
    var isOutOfReach = false
    /// It answers nothing as long as that is so.
    var isSilent = false
    var unfinishedFails: KassaError?
    /// What signed texts say.
    var signed: [String: StoreDelivery] = [:]
    /// Kept open until the test lets it go.
    var isSheetOpen = false
  }

  let time: ManualTime
  private let script = Locked(Script())
  private let log = Locked<[String]>([])
  private let listener = Locked<Listener?>(nil)
  private struct Listener: @unchecked Sendable { let hear: (StoreEvent) -> Void }

  init(time: ManualTime) { self.time = time }

  func change(_ body: (inout Script) -> Void) { script.with { body(&$0) } }
  /// What was asked of it, in order.
  var calls: [String] { log.with { $0 } }
  var finished: [String] { calls.filter { $0.hasPrefix("finish ") }.map { String($0.dropFirst(7)) } }

  private let orderTokens = Locked<[String]>([])
  /// The tokens that purchases were started with.
  var tokens: [String] { orderTokens.with { $0 } }

  private func note(_ call: String) { log.with { $0.append(call) } }

  func products(_ ids: [String]) async throws(KassaError) -> [StoreProduct] {
    note("products")
    return script.with { $0.products }.filter { ids.contains($0.id) }
  }

  func purchase(_ order: StoreOrder) async throws(KassaError) -> StoreOutcome {
    note("purchase \(order.productID)")
    if let token = order.appAccountToken { orderTokens.with { $0.append(token) } }
    while script.with({ $0.isSheetOpen }) {
      do throws(CancellationError) { try await time.sleep(milliseconds: 100) } catch {
        throw KassaError(.cancelled, "the sheet was closed")
      }
    }
    return try script.with { $0.outcome }.get()
  }

  func finish(_ transaction: StoreTransaction) async throws(KassaError) {
    while script.with({ $0.finishHangs }) {
      do throws(CancellationError) { try await time.sleep(milliseconds: 1_000) } catch { return }
    }
    if script.with({ $0.finishFails }) { throw KassaError(.storeFailed, "not now", retryable: true) }
    note("finish \(transaction.id)")
    script.with { $0.unfinished.removeAll { $0.verifiedTransaction?.id == transaction.id } }
  }

  func restore() async throws(KassaError) -> Bool {
    try reach()
    return !script.with { $0.isRestoreDismissed }
  }
  func unfinished() async throws(KassaError) -> [StoreDelivery] {
    note("unfinished")
    if let error = script.with({ $0.unfinishedFails }) { throw error }
    return script.with { $0.unfinished }
  }
  func entitlements() async throws(KassaError) -> [StoreDelivery] {
    note("entitlements")
    try reach()
    return script.with { $0.entitlements }
  }

  private func reach() throws(KassaError) {
    if script.with({ $0.isOutOfReach }) { throw KassaError(.storeFailed, "out of reach", retryable: true) }
  }
  func storefront() async throws(KassaError) -> Storefront? {
    while script.with({ $0.isSilent }) {
      do throws(CancellationError) { try await time.sleep(milliseconds: 1_000) } catch { break }
    }
    return script.with { $0.storefront }
  }
  func call(_ method: StoreMethod, _ params: JSON) async throws(KassaError) -> JSON {
    note(method.rawValue)
    guard method == .subscriptionStatus else { return ["method": JSON(method.rawValue)] }
    let statuses = script.with { $0.graceEndsAt }.map { id, end -> JSON in
      ["transaction": ["store": "apple", "id": JSON(id)], "grace_period_ends_at": JSON(end)]
    }
    return ["statuses": .array(statuses)]
  }

  func read(signedTransaction text: String) -> StoreDelivery? {
    script.with { $0.signed[text] }
      ?? .unverified(id: nil, productID: nil, reason: "wrong_signature", message: "nobody signed it")
  }

  func listen(_ listener: @escaping (StoreEvent) -> Void) { self.listener.with { $0 = Listener(hear: listener) } }
  func notify(_ event: JSON) throws(KassaError) { throw KassaError(.invalidArgument, "it listens to nobody") }
  func close() { note("close") }

  /// Tells the client something, on its loop.
  func tell(_ event: StoreEvent, on rig: Rig) {
    guard let listener = listener.with({ $0 }) else { return }
    rig.network.onLoop { listener.hear(event) }
  }
}

extension StoreTransaction {
  /// A monthly subscription, unless told otherwise.
  static func sample(
    _ id: String, product: String = "com.app.monthly", kind: StoreProduct.Kind = .subscription,
    at purchasedAt: Int64 = Rig.start, until expiresAt: Int64? = Rig.start + 30 * 86_400_000
  ) -> StoreTransaction {
    StoreTransaction(
      id: id, originalID: id, platform: .apple, productID: product, kind: kind, purchasedAt: purchasedAt,
      originallyPurchasedAt: purchasedAt, expiresAt: expiresAt, environment: .sandbox, signedAt: purchasedAt,
      proof: "proof \(id)")
  }
}
