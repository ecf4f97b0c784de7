import KassaCore

#if KASSA_FAULTS
  import Glibc
#endif

/// Ways to be wrong that the kill test (Tests/Crash) must notice, or it proves nothing. The environment's `KASSA_FAULT`
/// names one, in debug builds; a release cannot be wrong on request.
enum Fault: String {
  /// The store is told that a transaction was delivered before the service has accepted it.
  case finishFirst = "finish_first"
  /// A report is sent before it is on disk.
  case sendUnwritten = "send_unwritten"

  #if KASSA_FAULTS
    private static let named = getenv("KASSA_FAULT").map { String(cString: $0) }
    var isOn: Bool { Self.named == rawValue }
  #else
    @inline(__always) var isOn: Bool { false }
  #endif
}

extension Engine {
  func finishTooEarly(_ transaction: StoreTransaction) async { try? await active?.setup.store?.finish(transaction) }

  func sendUnwritten(_ receipt: OutgoingReceipt, _ transaction: StoreTransaction?) async {
    guard let active else { return }
    _ = try? await active.people().submit(receipt)
    _ = try? storage.add(receipt, transaction, scope: active.setup.scope)
  }
}
