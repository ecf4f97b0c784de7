import KassaJSON

/// What a credential may do, in Whop's words (`member:basic:read`); `*` stands for everything.
struct Permissions: Equatable {
  private let words: [String]

  init(_ words: [String]) { self.words = words }

  func allow(_ word: String) -> Bool { words.contains("*") || words.contains(word) }

  /// Whether these permissions include all of those.
  func include(_ others: [String]) -> Bool { others.allSatisfy(allow) }

  /// The permissions by name; of `*` those that this sandbox looks at.
  var names: [String] { words.contains("*") ? Self.known : words }

  var document: JSON { .array(words.map { JSON($0) }) }

  /// What this sandbox looks at.
  static let known = [
    Permission.readPlans, Permission.readProducts, Permission.readMembers, Permission.readEmails,
    Permission.manageMembers, Permission.cancelMemberships, Permission.changePaymentMethods,
    Permission.createCheckouts, Permission.readCheckouts, Permission.deleteCheckouts, Permission.createPlans,
    Permission.readPayments, Permission.managePayments, Permission.inAppPurchases,
  ]
}

/// The permissions that this sandbox looks at.
enum Permission {
  static let readPlans = "plan:basic:read"
  static let createPlans = "plan:create"
  static let readProducts = "access_pass:basic:read"
  static let readMembers = "member:basic:read"
  static let readEmails = "member:email:read"
  static let manageMembers = "member:manage"
  static let cancelMemberships = "membership:cancel"
  static let changePaymentMethods = "member:payment_methods:manage"
  static let createCheckouts = "checkout_configuration:create"
  static let readCheckouts = "checkout_configuration:basic:read"
  static let deleteCheckouts = "checkout_configuration:delete"
  static let readPayments = "payment:basic:read"
  static let managePayments = "payment:manage"
  /// What an app may ship. Whop does not say which routes it opens; here it opens none.
  static let inAppPurchases = "iap:read"
}

/// Who asks.
struct Credential {
  /// The key, or the token.
  var secret: String
  /// The user on whose behalf a token acts; nil: the account itself.
  var buyerID: String?
  var permissions: Permissions
}
