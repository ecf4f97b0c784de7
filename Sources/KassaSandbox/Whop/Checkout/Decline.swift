/// Why a charge failed: the service's code and its words for the buyer.
struct Decline {
  var code: String
  var message: String

  static let cardDeclined = Decline(
    code: "generic_decline", message: "Your card was declined. Try another card or contact your bank.")
  static let challengeFailed = Decline(
    code: "three_d_secure_failed", message: "Your bank could not confirm that it is you. Try again or use another card."
  )
  static let debitFailed = Decline(
    code: "bank_insufficient_funds", message: "The bank account did not have enough money.")
}

extension PaymentRecord {
  mutating func pay(at moment: Int64) {
    state = .paid
    paidAt = moment
    declineCode = nil
    failureMessage = nil
  }

  mutating func fail(_ decline: Decline) {
    state = .failed
    attemptsFailed += 1
    declineCode = decline.code
    failureMessage = decline.message
  }
}
