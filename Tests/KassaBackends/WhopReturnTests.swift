import KassaCore
import Testing

@testable import KassaBackends

@Suite struct WhopReturnTests {
  @Test(
    "The three vocabularies of a return address",
    arguments: [
      // Hosted checkout.
      (
        "http://127.0.0.1:1/back?receipt_id=pay_1&payment_id=pay_1&checkout_status=success&status=success&state_id=chs_1",
        .success, "pay_1"
      ),
      ("app://back?payment_id=pay_2&checkout_status=error", .failure, "pay_2"),
      // Embedded checkout.
      ("https://a/?status=success&receipt_id=pay_3", .success, "pay_3"), ("https://a/?status=error", .failure, nil),
      // Elements.
      ("https://a/?payment=pay_4&status=succeeded", .success, "pay_4"),
      ("https://a/?payment=pay_5&status=failed", .failure, "pay_5"),
      ("https://a/?status=canceled", .cancelled, nil), ("https://a/?status=cancelled", .cancelled, nil),
    ] as [(String, CheckoutReturn.Outcome, String?)])
  func vocabularies(_ url: String, _ outcome: CheckoutReturn.Outcome, _ receiptID: String?) {
    #expect(WhopReturn.reading(of: url) == CheckoutReturn(outcome: outcome, receiptID: receiptID))
  }

  @Test("The more telling of two words counts") func precedence() {
    #expect(WhopReturn.reading(of: "app://b?status=success&checkout_status=canceled").outcome == .cancelled)
    #expect(WhopReturn.reading(of: "app://b?checkout_status=&status=success").outcome == .success)
    #expect(WhopReturn.reading(of: "app://b?payment=pay_3&payment_id=pay_2&receipt_id=pay_1").receiptID == "pay_1")
    #expect(WhopReturn.reading(of: "app://b?status=SUCCESS").outcome == .success)
  }

  @Test(
    "An address that says nothing, or says it strangely, is unknown",
    arguments: [
      "", "app://back", "app://back?", "app://back?status", "app://back?status=processing", "app://back#status=success",
      "app://status=success", "app://back?Status=success", "app://back?status=success%00", "app://back?receipt_id=",
    ])
  func unknown(_ url: String) {
    #expect(WhopReturn.reading(of: url) == CheckoutReturn(outcome: .unknown, receiptID: nil))
  }

  @Test(
    "What cannot be a payment's id is no receipt",
    arguments: ["mem_1", "PAY_1", "pay", String(repeating: "x", count: 9_999)])
  func noReceipt(_ id: String) {
    #expect(WhopReturn.reading(of: "app://back?status=success&receipt_id=\(id)").receiptID == nil)
    let long = "pay_" + String(repeating: "x", count: 253)
    #expect(WhopReturn.reading(of: "app://back?receipt_id=\(long)").receiptID == nil)
  }
}
