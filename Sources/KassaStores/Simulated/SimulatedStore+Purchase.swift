import KassaCore
import KassaJSON
import KassaPlatform

extension SimulatedStore {
  public func products(_ ids: [String]) async throws(KassaError) -> [StoreProduct] {
    try refresh()
    try failIfTold(.loadProducts, "the products could not be loaded")
    var asked: Set<String> = []
    return ids.compactMap { id in asked.insert(id).inserted ? shop[id].map { offered($0) } : nil }
  }

  /// A product as this account sees it now.
  private func offered(_ product: StoreProduct) -> StoreProduct {
    var product = product
    product.price = formatted(ledger.price(of: product), like: product.price)
    guard var terms = product.subscription else { return product }
    // Without a subscription's status nothing is known of eligibility; a purchase with the automatic offer still works.
    let isUnknown = shop.settings.failures[.subscriptionStatus] != nil
    for place in terms.offers.indices {
      terms.offers[place].isEligible = isUnknown ? nil : ledger.mayHave(terms.offers[place], inGroup: terms.groupID)
    }
    product.subscription = terms
    return product
  }

  private func formatted(_ money: Money, like price: StorePrice) -> StorePrice {
    money == price.money ? price : formatted(money)
  }

  /// A price that is not in the file, in the file's language.
  func formatted(_ money: Money) -> StorePrice {
    let text = PriceText.format(
      money.amount, currency: money.currency, locale: shop.settings.locale ?? "en-US", fractionDigits: nil)
    return StorePrice(money, formatted: text)
  }

  public func purchase(_ order: StoreOrder) async throws(KassaError) -> StoreOutcome {
    try refresh()
    guard !shop.settings.isPaymentDisabled else {
      throw KassaError(
        .storeFailed, "this account may not buy: the .storekit file switches payments off",
        reason: "purchase_not_allowed")
    }
    let request = PurchaseRequest(
      productID: order.productID, quantity: order.quantity, offer: order.offer, appAccountToken: order.appAccountToken)
    let decision = try await decide(try sheet(for: order, request))
    switch order.simulatesAskToBuy && decision == .approve ? .askToBuy : adapted(decision) {
    case .approve: return try charge(request)
    case .cancel: return .cancelled
    case .fail:
      throw KassaError(
        .paymentFailed, "the simulated store declined the payment; nothing was charged", reason: "declined")
    case .askToBuy:
      try change { ledger, _ in ((), ledger.postpone(request, .askToBuy)) }
      return .pending
    case .interrupted:
      // The sheet has closed, which looks like a cancel; what comes of it later is an update.
      try change { ledger, _ in ((), ledger.postpone(request, .interrupted)) }
      return .cancelled
    }
  }

  private func sheet(for order: StoreOrder, _ request: PurchaseRequest) throws(KassaError) -> StoreSheet {
    do throws(StoreRefusal) {
      let product = try ledger.check(request, in: shop)
      let offer = try ledger.offer(for: request, of: product, in: shop)
      var price = formatted(ledger.price(of: product), like: product.price)
      if let offer {
        price = offer.price
      } else if order.quantity > 1, let total = price.money.amount.multiplied(by: Int64(order.quantity)) {
        price = formatted(Money(total, price.money.currency), like: price)
      }
      return .purchase(order, product: offered(product), price: price, offer: offer)
    } catch { throw error.kassaError }
  }

  /// The switches of the file change what an approved sheet does.
  private func adapted(_ decision: SheetDecision) -> SheetDecision {
    guard decision == .approve else { return decision }
    let settings = shop.settings
    if settings.failsTransactions { return .fail }
    if settings.asksToBuy { return .askToBuy }
    return settings.interruptsPurchases ? .interrupted : .approve
  }

  func decide(_ sheet: StoreSheet) async throws(KassaError) -> SheetDecision {
    switch policy {
    case .always(let decision): return decision
    case .host:
      guard let presenter else {
        throw KassaError(.unsupported, "the simulated store's sheets are the host's, and nobody shows them")
      }
      return try await presenter.decide(sheet)
    }
  }

  private func charge(_ request: PurchaseRequest) throws(KassaError) -> StoreOutcome {
    let failure = shop.settings.failures[.purchase]
    let outcome = try change { (outcome: PurchaseResult.Outcome) -> String? in
      outcome.transactionID
    } _: { ledger, shop throws(StoreRefusal) in
      let result = try ledger.buy(request, in: shop)
      return (result.outcome, result.events)
    }
    if let failure {
      throw KassaError(
        .storeFailed,
        "the store failed (\(failure)) after its sheet was confirmed: whether the purchase went through shows in the "
          + "store's unfinished transactions", reason: "store_error")
    }
    switch outcome {
    case .transaction(let id): return .purchased(delivery(of: id))
    case .atNextRenewal: return .pending
    }
  }

  public func finish(_ transaction: StoreTransaction) async throws(KassaError) {
    try change { ledger, _ throws(StoreRefusal) in ((), ledger.finish(transaction.id)) }
  }

  public func restore() async throws(KassaError) -> Bool {
    try refresh()
    try failIfTold(.sync, "the account could not be looked up")
    return true
  }

  public func unfinished() async throws(KassaError) -> [StoreDelivery] {
    try refresh()
    registerNews()
    return ledger.transactions.all.filter { !$0.isFinished }.map { delivery(of: $0.id) }
  }

  public func entitlements() async throws(KassaError) -> [StoreDelivery] {
    try refresh()
    registerNews()
    return ledger.entitled.map { delivery(of: $0.id) }
  }

  public func storefront() async throws(KassaError) -> Storefront? {
    try refresh()
    return ledger.storefront
  }

  func failIfTold(_ call: StoreSettings.FailingCall, _ what: String) throws(KassaError) {
    guard let failure = shop.settings.failures[call] else { return }
    throw KassaError(
      .storeFailed, "\(what): the .storekit file makes it fail (\(failure))", reason: "store_error",
      retryable: true)
  }
}

extension PurchaseResult.Outcome {
  fileprivate var transactionID: String? {
    if case .transaction(let id) = self { id } else { nil }
  }
}
