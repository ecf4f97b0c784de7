import KassaCore
import KassaJSON
import KassaReceipts

// Sheets and questions of the store alone (`kassa_store_call`). Parameters are checked before the host is asked.

extension HostStore {
  public func call(_ method: StoreMethod, _ params: JSON) async throws(KassaError) -> JSON {
    let asked = try method.checked(params)
    try requireSupport()
    if method == .appTransaction, configuration.platform != .known(.apple) {
      throw KassaError(.unsupported, "app_transaction is Apple's: store.platform is \"\(configuration.platform.word)\"")
    }
    let reply = try await ask(method.rawValue, asked)
    switch method {
    case .manageSubscriptions, .presentCodeRedemption, .displayMessage:
      return ["outcome": JSON(try reply.outcome(SheetOutcome.self))]
    case .beginRefund:
      return ["outcome": JSON(try reply.outcome(RefundOutcome.self))]
    case .canMakePayments:
      return try reply.read { (fields) throws(JSONShapeError) in
        try fields.refuseUnknown(but: ["can_make_payments"])
        return ["can_make_payments": JSON(try fields.bool("can_make_payments"))]
      }
    case .subscriptionStatus: return try statuses(reply)
    case .appTransaction: return try appTransaction(reply)
    case .messages: return try messages(reply)
    case .storefront, .entitlements:
      throw KassaError(.internalError, "store/\(method.rawValue) has a function of its own")
    }
  }

  private func statuses(_ reply: HostReply) throws(KassaError) -> JSON {
    try reply.read { (fields) throws(JSONShapeError) in
      try fields.refuseUnknown(but: ["statuses"])
      var statuses: [JSON] = []
      for status in try fields.list("statuses") { statuses.append(try self.status(status)) }
      return ["statuses": .array(statuses)]
    }
  }

  private func status(_ fields: Fields) throws(JSONShapeError) -> JSON {
    try fields.refuseUnknown(but: [
      "state", "transaction", "will_renew", "renews_product_id", "grace_period_ends_at", "expiration_reason",
    ])
    let transaction = try fields.optionalObject("transaction").map { (fields) throws(JSONShapeError) in
      try transactions.read(fields)
    }
    var doubt: JSON = .null
    if case .unverified(_, _, let reason, _) = transaction?.delivery { doubt = JSON(reason) }
    return [
      "state": JSON(try fields.word("state", SubscriptionState.self).rawValue),
      "transaction": transaction?.delivery.verifiedTransaction?.document ?? .null, "unverified_reason": doubt,
      "will_renew": JSON(try fields.optionalBool("will_renew")),
      "renews_product_id": JSON(try fields.optionalName("renews_product_id")),
      "grace_period_ends_at": JSON(try fields.optionalTime("grace_period_ends_at")),
      "expiration_reason": JSON(try fields.optionalName("expiration_reason")),
    ]
  }

  /// Source: StoreKit, `AppTransaction`, and the signed payload of the same names.
  private func appTransaction(_ reply: HostReply) throws(KassaError) -> JSON {
    let text = try reply.read { (fields) throws(JSONShapeError) in
      try fields.refuseUnknown(but: ["jws"])
      return try fields.name("jws", atMost: HostLimits.signedBytes, isSecret: true)
    }
    let payload: JSON
    do throws(Refusal) { payload = try verifyAppTransaction(text) } catch {
      throw KassaError(.storeFailed, "the app transaction is not believed: \(error.message)", reason: error.reason)
    }
    return [
      "bundle_id": payload["bundleId"] ?? .null, "environment": payload["receiptType"] ?? .null,
      "application_version": payload["applicationVersion"] ?? .null,
      "original_application_version": payload["originalApplicationVersion"] ?? .null,
      "original_purchased_at": JSON(payload["originalPurchaseDate"]?.double.flatMap { Int64(exactly: $0.rounded()) }),
    ]
  }

  private func messages(_ reply: HostReply) throws(KassaError) -> JSON {
    try reply.read { (fields) throws(JSONShapeError) in
      try fields.refuseUnknown(but: ["messages"])
      var messages: [JSON] = []
      for message in try fields.list("messages") { messages.append(try message.storeMessage()) }
      return ["messages": .array(messages)]
    }
  }
}

/// What a subscription is in. Source: StoreKit, `Product.SubscriptionInfo.RenewalState`.
enum SubscriptionState: String, CaseIterable {
  case subscribed, expired, revoked
  case billingRetry = "billing_retry"
  case gracePeriod = "grace_period"
}

extension HostReply {
  fileprivate func outcome<Word: RawRepresentable & CaseIterable>(
    _ type: Word.Type
  ) throws(KassaError) -> String where Word.RawValue == String {
    try read { (fields) throws(JSONShapeError) in
      try fields.refuseUnknown(but: ["outcome"])
      return try fields.word("outcome", type).rawValue
    }
  }
}

extension StoreMethod {
  /// The parameters, every key of the method there: what the caller left out is null.
  fileprivate func checked(_ params: JSON) throws(KassaError) -> JSON {
    do throws(JSONShapeError) {
      let fields = try Fields(params.isNull ? [:] : params, path: "params")
      switch self {
      case .manageSubscriptions:
        try fields.allowOnly(["group_id", "confirm_in"])
        return [
          "group_id": JSON(try fields.optionalName("group_id")), "confirm_in": fields.json["confirm_in"] ?? .null,
        ]
      case .presentCodeRedemption:
        try fields.allowOnly(["confirm_in"])
        return ["confirm_in": fields.json["confirm_in"] ?? .null]
      case .beginRefund:
        try fields.allowOnly(["transaction_id", "confirm_in"])
        return [
          "transaction_id": JSON(try fields.name("transaction_id")), "confirm_in": fields.json["confirm_in"] ?? .null,
        ]
      case .subscriptionStatus:
        try fields.allowOnly(["group_id", "product_id"])
        let group = try fields.optionalName("group_id"), product = try fields.optionalName("product_id")
        guard (group == nil) != (product == nil) else {
          throw JSONShapeError(path: fields.path, problem: "must have one of \"group_id\" and \"product_id\"")
        }
        return ["group_id": JSON(group), "product_id": JSON(product)]
      case .displayMessage:
        try fields.allowOnly(["id", "confirm_in"])
        return ["id": JSON(try fields.name("id")), "confirm_in": fields.json["confirm_in"] ?? .null]
      case .storefront, .canMakePayments, .entitlements, .appTransaction, .messages:
        try fields.allowOnly([])
        return [:]
      }
    } catch {
      throw KassaError(.invalidArgument, error.description)
    }
  }
}
