import KassaCore

/// What the address says to which a checkout sent the buyer back. Whop has three vocabularies for it: hosted checkout
/// (`checkout_status`, `receipt_id`, `payment_id`), embedded checkout (`status` success or error), and elements
/// (`status` succeeded, failed, canceled, and `payment`).
enum WhopReturn {
  static func reading(of url: String) -> CheckoutReturn {
    let items = URLText.queryItems(of: url)
    func value(_ name: String) -> String? { items.last { $0.name == name && !$0.value.isEmpty }?.value }
    let receipt = value("receipt_id") ?? value("payment_id") ?? value("payment")
    return CheckoutReturn(
      outcome: outcome(of: value("checkout_status") ?? value("status")),
      receiptID: receipt.flatMap { $0.hasPrefix("pay_") && $0.utf8.count <= 256 ? $0 : nil })
  }

  private static func outcome(of word: String?) -> CheckoutReturn.Outcome {
    switch word?.lowercased() {
    case "success", "succeeded": .success
    case "error", "failed": .failure
    case "canceled", "cancelled": .cancelled
    default: .unknown
    }
  }
}
