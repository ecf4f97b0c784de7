import KassaCore
import KassaJSON
import KassaReceipts

extension SimulatedStore {
  public func call(_ method: StoreMethod, _ params: JSON) async throws(KassaError) -> JSON {
    try refresh()
    let fields: Fields
    do throws(JSONShapeError) {
      fields = try Fields(params.isNull ? JSON.object([]) : params)
      try fields.allowOnly(method.keys)
    } catch { throw KassaError(.invalidArgument, "\(method.rawValue): \(error)") }
    switch method {
    case .manageSubscriptions:
      try failIfTold(.manageSubscriptions, "the subscriptions could not be shown")
      return ["outcome": "completed"]
    case .presentCodeRedemption: return try await redeem(fields)
    case .storefront: return ["storefront": ledger.storefront?.document ?? .null]
    case .canMakePayments: return ["can_make_payments": JSON(!shop.settings.isPaymentDisabled)]
    case .beginRefund: return try await beginRefund(fields)
    case .subscriptionStatus:
      try failIfTold(.subscriptionStatus, "the subscriptions' status could not be loaded")
      return try subscriptionStatus(fields)
    case .entitlements: return document(of: ledger.entitled.map { delivery(of: $0.id) })
    case .appTransaction:
      try failIfTold(.appTransaction, "the app's own transaction could not be loaded")
      return try appTransaction()
    case .messages: return ["messages": .array(ledger.messages.map(\.document))]
    case .displayMessage: return try displayMessage(fields)
    }
  }

  private func verified(_ id: String) -> StoreTransaction? {
    if case .verified(let transaction) = delivery(of: id) { transaction } else { nil }
  }

  private func read<Value>(_ method: StoreMethod, _ body: () throws(JSONShapeError) -> Value) throws(KassaError)
    -> Value
  {
    do throws(JSONShapeError) { return try body() } catch {
      throw KassaError(.invalidArgument, "\(method.rawValue): \(error)")
    }
  }

  // MARK: Sheets

  private func redeem(_ fields: Fields) async throws(KassaError) -> JSON {
    try failIfTold(.offerCodeRedemption, "the code could not be redeemed")
    let (code, productID) = try read(.presentCodeRedemption) { () throws(JSONShapeError) in
      (try fields.optionalString("code"), try fields.optionalString("product_id"))
    }
    guard try await decide(.codeRedemption(code: code)) == .approve else { return ["outcome": "cancelled"] }
    // A sheet without a code is one that the user closed after looking.
    guard let code else { return ["outcome": "cancelled"] }
    try change { ledger, shop throws(StoreRefusal) in
      ((), try ledger.redeem(code, productID: productID, appAccountToken: nil, in: shop).events)
    }
    return ["outcome": "completed"]
  }

  private func beginRefund(_ fields: Fields) async throws(KassaError) -> JSON {
    try failIfTold(.refundRequest, "the refund could not be requested")
    let id = try read(.beginRefund) { () throws(JSONShapeError) in try fields.string("transaction_id") }
    guard let transaction = verified(id), ledger.transactions[id] != nil else {
      throw KassaError(
        .notFound, "the store has no transaction \"\(id.quoted)\"",
        reason: StoreRefusal.Reason.unknownTransaction.rawValue)
    }
    guard transaction.revocation == nil else {
      throw KassaError(.invalidArgument, "transaction \(id) was refunded before", reason: "duplicate_request")
    }
    switch try await decide(.refund(transaction)) {
    case .approve:
      try change { ledger, _ throws(StoreRefusal) in
        ((), try ledger.refund(id, isAppIssue: false, percentage: nil))
      }
      return ["outcome": "success"]
    case .cancel: return ["outcome": "cancelled"]
    // The request was made; the store has not decided, or declined.
    case .fail, .askToBuy, .interrupted: return ["outcome": "success"]
    }
  }

  // MARK: Questions

  private func document(of deliveries: [StoreDelivery]) -> JSON {
    var transactions: [JSON] = [], unverified: [JSON] = []
    for delivery in deliveries {
      switch delivery {
      case .verified(let transaction): transactions.append(transaction.document)
      case .unverified(let id, let productID, let reason, let message):
        unverified.append([
          "id": JSON(id), "product_id": JSON(productID), "reason": JSON(reason), "message": JSON(message),
        ])
      }
    }
    return ["transactions": .array(transactions), "unverified": .array(unverified)]
  }

  /// Of a group, of a product's group, or of all.
  private func subscriptionStatus(_ fields: Fields) throws(KassaError) -> JSON {
    let (group, product) = try read(.subscriptionStatus) { () throws(JSONShapeError) in
      (try fields.optionalString("group_id"), try fields.optionalString("product_id"))
    }
    let wanted = group ?? product.flatMap { shop[$0]?.subscription?.groupID }
    guard wanted != nil || product == nil else {
      throw KassaError(
        .productNotFound, "subscription_status: the store sells no subscription \"\((product ?? "").quoted)\"")
    }
    let subscriptions = ledger.subscriptions.filter { wanted ?? $0.groupID == $0.groupID }
    return ["statuses": .array(subscriptions.map { status($0) })]
  }

  /// What docs/store.md says of a status, and what only this store tells: what comes next, and for how much.
  private func status(_ subscription: LedgerSubscription) -> JSON {
    var graceEnd: Int64?
    var reason: String?
    if case .grace(let end, _) = subscription.state { graceEnd = end }
    if case .expired(let why) = subscription.state { reason = why.word }
    var doubt: String?
    if case .unverified(_, _, let why, _) = delivery(of: subscription.latestID) { doubt = why }
    let offer = ledger.nextOffer(of: subscription)?.offer
    let price = offer?.price.money ?? shop[subscription.renewalProductID].map { ledger.price(of: $0) }
    let renews = subscription.willRenew && (subscription.isActive || subscription.isRetrying)
    let winBack = shop[subscription.productID]?.subscription?.offers.filter {
      $0.kind == .winBack && ledger.mayHave($0, inGroup: subscription.groupID) == true
    }
    return [
      "state": JSON(subscription.state.word), "transaction": verified(subscription.latestID)?.document ?? .null,
      "unverified_reason": JSON(doubt), "will_renew": JSON(renews),
      "renews_product_id": JSON(renews ? subscription.renewalProductID : nil),
      "grace_period_ends_at": JSON(graceEnd), "expiration_reason": JSON(reason),
      "group_id": JSON(subscription.groupID),
      "renews_at": JSON(renews && !subscription.isRetrying ? subscription.periodEnd : nil),
      "renewal_price": renews ? price.map { formatted($0).document } ?? .null : .null,
      "renewal_offer": renews ? offer?.document ?? .null : .null,
      "price_increase": JSON(subscription.priceIncrease?.consent.word),
      "win_back_offers": .array((winBack ?? []).compactMap { $0.id.map { JSON($0) } }),
    ]
  }

  private func appTransaction() throws(KassaError) -> JSON {
    do throws(Refusal) {
      let read = try signer.appTransaction(payload.appTransaction(of: ledger, signedAt: ledger.now))
      return [
        "bundle_id": read["bundleId"] ?? .null, "environment": read["receiptType"] ?? .null,
        "application_version": read["applicationVersion"] ?? .null,
        "original_application_version": read["originalApplicationVersion"] ?? .null,
        "original_purchased_at": read["originalPurchaseDate"] ?? .null,
        "app_transaction_id": read["appTransactionId"] ?? .null,
      ]
    } catch { throw KassaError(.transactionUnverified, "app_transaction: \(error)", reason: error.reason) }
  }

  private func displayMessage(_ fields: Fields) throws(KassaError) -> JSON {
    let id = try read(.displayMessage) { () throws(JSONShapeError) in try fields.string("id") }
    try change { ledger, _ throws(StoreRefusal) in
      guard let place = ledger.messages.firstIndex(where: { $0.id == id }) else {
        throw StoreRefusal(.nothingThere, "the store has no message \"\(id.quoted)\"")
      }
      ledger.messages.remove(at: place)
      return ((), [])
    }
    return ["outcome": "completed"]
  }
}

extension StoreMethod {
  /// What a simulated store reads of the parameters.
  fileprivate var keys: [String] {
    switch self {
    case .manageSubscriptions: ["group_id", "confirm_in"]
    case .presentCodeRedemption: ["code", "product_id", "confirm_in"]
    case .beginRefund: ["transaction_id", "confirm_in"]
    case .subscriptionStatus: ["group_id", "product_id"]
    case .displayMessage: ["id", "confirm_in"]
    case .storefront, .canMakePayments, .entitlements, .appTransaction, .messages: []
    }
  }
}

extension LedgerSubscription.State {
  /// StoreKit's `Product.SubscriptionInfo.RenewalState`, in the words of docs/store.md.
  var word: String {
    switch self {
    case .subscribed: "subscribed"
    case .grace: "grace_period"
    case .retry: "billing_retry"
    case .expired: "expired"
    case .revoked: "revoked"
    }
  }
}

extension PriceIncrease.Consent {
  fileprivate var word: String {
    switch self {
    case .awaited: "awaited"
    case .given: "given"
    }
  }
}
