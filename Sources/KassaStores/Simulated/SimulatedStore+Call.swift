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
      return [:]
    case .presentCodeRedemption: return try await redeem(fields)
    case .storefront: return ledger.storefront?.document ?? .null
    case .canMakePayments: return ["allowed": JSON(!shop.settings.isPaymentDisabled)]
    case .beginRefund: return try await beginRefund(fields)
    case .subscriptionStatus:
      try failIfTold(.subscriptionStatus, "the subscriptions' status could not be loaded")
      return try subscriptionStatus(fields)
    case .entitlements: return ["transactions": .array(ledger.entitled.compactMap { verified($0.id)?.document })]
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
    return ["outcome": "success"]
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

  private func subscriptionStatus(_ fields: Fields) throws(KassaError) -> JSON {
    let wanted = try read(.subscriptionStatus) { () throws(JSONShapeError) in try fields.optionalString("group_id") }
    var order: [String] = []
    for product in shop.catalogue.products {
      if let id = product.subscription?.groupID, !order.contains(id), wanted ?? id == id { order.append(id) }
    }
    return [
      "groups": .array(
        order.map { groupID in
          let statuses = ledger.subscriptions.filter { $0.groupID == groupID }.map { status($0) }
          return ["group_id": JSON(groupID), "statuses": .array(statuses)]
        })
    ]
  }

  private func status(_ subscription: LedgerSubscription) -> JSON {
    [
      "state": JSON(subscription.state.word), "transaction": verified(subscription.latestID)?.document ?? .null,
      "renewal": renewal(subscription),
    ]
  }

  private func renewal(_ subscription: LedgerSubscription) -> JSON {
    var graceEnd: Int64?
    var reason: String?
    if case .grace(let end, _) = subscription.state { graceEnd = end }
    if case .expired(let why) = subscription.state { reason = why.word }
    let offer = ledger.nextOffer(of: subscription)?.offer
    let product = shop[subscription.renewalProductID]
    let price = offer?.price.money ?? product.map { ledger.price(of: $0) }
    let winBack = shop[subscription.productID]?.subscription?.offers.filter {
      $0.kind == .winBack && ledger.mayHave($0, inGroup: subscription.groupID) == true
    }
    let consent: String? =
      switch subscription.priceIncrease?.consent {
      case .awaited?: "pending"
      case .given?: "agreed"
      case nil: nil
      }
    return [
      "will_auto_renew": JSON(subscription.willRenew), "product_id": JSON(subscription.productID),
      "renewal_product_id": JSON(subscription.willRenew ? subscription.renewalProductID : nil),
      "renews_at": JSON(subscription.willRenew && subscription.isActive ? subscription.periodEnd : nil),
      "renewal_price": price.map { formatted($0).document } ?? .null, "offer": offer?.document ?? .null,
      "in_billing_retry": JSON(subscription.isRetrying), "grace_period_expires_at": JSON(graceEnd),
      "expiration_reason": JSON(reason), "price_increase": JSON(consent),
      "eligible_win_back_offers": .array((winBack ?? []).compactMap { $0.id.map { JSON($0) } }),
    ]
  }

  private func appTransaction() throws(KassaError) -> JSON {
    do throws(Refusal) {
      let document = payload.appTransaction(of: ledger, signedAt: ledger.now)
      return [
        "bundle_id": JSON(payload.bundleID), "environment": JSON(payload.environment == .xcode ? "xcode" : "sandbox"),
        "app_transaction_id": JSON(ledger.appTransactionID), "originally_purchased_at": JSON(ledger.createdAt),
        "jws": JSON(try signer.sign(document)),
      ]
    } catch { throw KassaError(.internalError, "the app transaction could not be signed: \(error)") }
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
    return [:]
  }
}

extension StoreMethod {
  /// What a simulated store reads of the parameters.
  fileprivate var keys: [String] {
    switch self {
    case .manageSubscriptions: ["group_id"]
    case .presentCodeRedemption: ["code", "product_id"]
    case .beginRefund: ["transaction_id"]
    case .subscriptionStatus: ["group_id"]
    case .displayMessage: ["id"]
    case .storefront, .canMakePayments, .entitlements, .appTransaction, .messages: []
    }
  }
}

extension LedgerSubscription.State {
  /// StoreKit's `Product.SubscriptionInfo.RenewalState`.
  var word: String {
    switch self {
    case .subscribed: "subscribed"
    case .grace: "in_grace_period"
    case .retry: "in_billing_retry_period"
    case .expired: "expired"
    case .revoked: "revoked"
    }
  }
}
