/// What a buyer pays with: one of the cards of Whop's sandbox documentation, or a bank account.
enum Instrument: String, CaseIterable {
  case goodCard = "4242424242424242"
  case declinedCard = "4000000000000002"
  /// It can be saved and pays the first time, but no later charge succeeds.
  case failsLaterCard = "4000000000000341"
  case challengedCard = "5385308360135181"
  /// A debit that takes days: the payment is pending until an action settles or fails it.
  case bankAccount = "us_bank_account"

  /// The password of the challenge.
  static let challengePassword = "Checkout1!"

  /// Digits with or without spaces and dashes, or the name of the bank account. Nil for what is no test instrument.
  init?(_ text: String) {
    self.init(rawValue: text.filter { $0 != " " && $0 != "-" })
  }

  var isCard: Bool { self != .bankAccount }
  /// As `payment_method_type` names it.
  var type: String { isCard ? "card" : rawValue }
  var brand: String? {
    switch self {
    case .bankAccount: nil
    case .challengedCard: "mastercard"
    default: "visa"
    }
  }
  var lastFour: String? { isCard ? String(rawValue.suffix(4)) : nil }
  var displayName: String {
    switch self {
    case .bankAccount: "Bank account"
    case .challengedCard: "Mastercard •••• 5181"
    default: "Visa •••• \(rawValue.suffix(4))"
    }
  }
  /// Four digits in a group, as a card shows them.
  var groupedNumber: String {
    guard isCard else { return displayName }
    return stride(from: 0, to: 16, by: 4).map { rawValue.dropFirst($0).prefix(4) }.joined(separator: " ")
  }

  /// Whether a charge without the buyer, such as a renewal, succeeds.
  var paysRenewals: Bool { self != .failsLaterCard && self != .declinedCard }
}
