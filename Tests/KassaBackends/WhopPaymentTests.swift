import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

@Suite struct WhopPaymentTests {
  /// What a state is called in these tables.
  private enum Kind: String { case none, pending, paid, declined }

  private func kind(status: String?, substatus: String? = nil, failed: Int = 0) throws -> Kind {
    let payment = try Fields(["status": JSON(status), "substatus": JSON(substatus), "payments_failed": JSON(failed)])
    return switch WhopPayment.state(payment) {
    case .none: .none
    case .pending: .pending
    case .paid: .paid
    case .declined: .declined
    }
  }

  private static let statuses: [String: Kind] = [
    "draft": .none, "open": .none, "authorized": .pending, "paid": .paid, "pending": .pending,
    "uncollectible": .declined,
    "unresolved": .none, "void": .declined,
  ]

  /// The substatuses that decide by themselves; the others leave it to the status.
  private static let decisive: [String: Kind] = [
    "succeeded": .paid, "failed": .declined, "blocked": .declined, "canceled": .declined, "price_too_low": .declined,
    "uncollectible": .declined,
  ]

  private static func words(_ list: String) throws -> [String] {
    (try Samples.document("enums-2.6.0.json")[list]?.elements ?? []).compactMap(\.string)
  }

  @Test("Every status of the official SDK has a meaning", .enabled(if: Samples.areHere, Samples.comment))
  func statuses() throws {
    let words = try Self.words("ReceiptStatus")
    #expect(Set(words) == Set(Self.statuses.keys))
    for word in words { #expect(try kind(status: word) == Self.statuses[word], "\(word)") }
  }

  @Test(
    "Paid outweighs everything, then a substatus that decides, then the status",
    .enabled(if: Samples.areHere, Samples.comment))
  func everyPair() throws {
    let substatuses = try Self.words("FriendlyReceiptStatus")
    #expect(substatuses.count == 30)
    #expect(Set(Self.decisive.keys).isSubset(of: substatuses))
    for (status, meaning) in Self.statuses {
      for substatus in substatuses {
        let expected = meaning == .paid ? .paid : Self.decisive[substatus] ?? meaning
        #expect(try kind(status: status, substatus: substatus) == expected, "\(status) \(substatus)")
      }
    }
  }

  @Test("An unpaid payment with failed tries is declined", arguments: ["open", "draft", "unresolved"]) func failedTries(
    _ status: String
  ) throws {
    #expect(try kind(status: status, failed: 0) == .none)
    #expect(try kind(status: status, substatus: "past_due", failed: 1) == .declined)
    #expect(try kind(status: status, substatus: "succeeded", failed: 1) == .paid)
  }

  @Test("S131 new words, and none, say nothing", arguments: [nil, "", "new", "PAID"]) func unknown(_ status: String?)
    throws
  {
    #expect(try kind(status: status, substatus: "new", failed: 3) == .none)
    #expect(try kind(status: status, substatus: "failed") == .declined)
  }

  @Test("The documented payment is paid", .enabled(if: Samples.areHere, Samples.comment)) func sample() throws {
    #expect(WhopPayment.state(try Fields(Samples.document("payment.json"))) == .paid)
  }

  @Test(
    "A decline has the service's text, else its code",
    arguments: [
      (
        ["failure_message": "Your card has no money", "decline_code": "insufficient_funds"], "Your card has no money",
        "insufficient_funds"
      ),
      (
        ["last_payment_error": ["message": "Refused"], "decline_code": "generic_decline"], "Refused", "generic_decline"
      ),
      (["failure_message": nil, "decline_code": "expired_card"], "expired_card", "expired_card"),
      ([:], "the payment was declined", nil),
    ] as [(JSON, String, String?)])
  func declines(_ members: JSON, _ message: String, _ code: String?) throws {
    let payment = try Fields(members.merging([("status", "void")]))
    #expect(WhopPayment.state(payment) == .declined(message: message, code: code))
  }
}
