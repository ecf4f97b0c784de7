import KassaCore
import KassaJSON

enum WhopPayment {
  /// What a payment's status and substatus mean to the buyer (API, Payment).
  static func state(_ payment: Fields) -> PurchaseProgress.Payment {
    let status = payment.json["status"]?.string, substatus = payment.json["substatus"]?.string
    if status == "paid" || substatus == "succeeded" { return .paid }
    switch substatus {
    case "failed", "blocked", "canceled", "price_too_low", "uncollectible":
      return declined(payment)
    default: break
    }
    switch status {
    case "pending", "authorized": return .pending
    case "uncollectible", "void": return declined(payment)
    case "open", "draft", "unresolved":
      let attempts = payment.json["payments_failed"]?.integer ?? 0
      return attempts > 0 ? declined(payment) : .none
    default: return .none
    }
  }

  /// The service's text, else its decline code.
  private static func declined(_ payment: Fields) -> PurchaseProgress.Payment {
    let code = payment.json["decline_code"]?.string
    let text = payment.json["failure_message"]?.string ?? payment.json["last_payment_error"]?["message"]?.string
    return .declined(message: text ?? code ?? "the payment was declined", code: code)
  }
}

enum WhopPermissions {
  /// Whether the answer of `GET /permissions` grants an action (SDK, ListPermissionsResponse).
  static func grants(_ action: String, in answer: JSON) -> Bool {
    (answer["data"]?.elements ?? []).contains { $0["action"]?.string == action && $0["granted"]?.bool == true }
  }
}
