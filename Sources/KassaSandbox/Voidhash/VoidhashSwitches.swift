import KassaJSON

/// Where Voidhash's documentation is silent, its versions differ, or a project decides: the sandbox can be either.
struct VoidhashSwitches {
  /// What happens to a purchase of one person when another one's receipt of it comes ("paid access sharing").
  enum Sharing: String, CaseIterable {
    case transferToNewOwner = "transfer_to_new_owner"
    case keepWithPreviousOwner = "keep_with_previous_owner"
    case transferIfNoActiveOnTarget = "transfer_if_no_active_on_target"
    case bothKeep = "both_keep"
  }

  /// The answer to a receipt that cannot be verified or taken.
  enum Refusal: String, CaseIterable {
    /// 500, which looks like an outage: the answer of the published server.
    case serviceError = "service_error"
    /// 422: refused for good.
    case refused
    /// 200 with `accepted: false`.
    case notAccepted = "not_accepted"
  }

  var sharing = Sharing.transferToNewOwner
  /// Whether a transaction that nobody's receipt has brought before stays with the owner of its series.
  var onlyRestoresMoveAccess = true
  /// A transaction that no store has registered.
  var unknownReceipts = Refusal.serviceError
  /// A receipt from an app whose store is not connected.
  var unconnectedStore = Refusal.refused
  var takesDevelopmentPurchases = true
  /// Whether there is `POST /api/v1/sdk/sign-offer`.
  var signsOffers = false

  init(_ fields: Fields?) throws(JSONShapeError) {
    guard let fields else { return }
    try fields.allowOnly([
      "paid_access_sharing", "only_restores_move_access", "unknown_receipts", "unconnected_store",
      "development_purchases", "sign_offers",
    ])
    sharing = try fields.oneOf("paid_access_sharing") ?? sharing
    onlyRestoresMoveAccess = try fields.optionalBool("only_restores_move_access") ?? true
    unknownReceipts = try fields.oneOf("unknown_receipts") ?? unknownReceipts
    unconnectedStore = try fields.oneOf("unconnected_store") ?? unconnectedStore
    takesDevelopmentPurchases = try fields.optionalBool("development_purchases") ?? true
    signsOffers = try fields.optionalBool("sign_offers") ?? false
  }
}

extension Fields {
  func oneOf<Word: CaseIterable & RawRepresentable<String>>(_ key: String) throws(JSONShapeError) -> Word? {
    try word(key, among: Word.allCases.map(\.rawValue)).flatMap { Word(rawValue: $0) }
  }
}
