import KassaCore
import KassaJSON

/// Purchases of development mode, which cost nothing and show in the development environment only.
extension VoidhashService {
  func buyInDevelopment(_ caller: VoidhashCaller, _ body: Fields) throws(VoidhashRefusal) -> JSON {
    guard caller.mode == .development, caller.isDebugBuild else {
      throw .invalid("Development purchases require development environment and a debug build")
    }
    let (id, slug, date, quantity) = try Self.read { () throws(JSONShapeError) in
      (
        try body.string("devTransactionId"), try body.string("productSlug"), try body.integer("purchaseDate"),
        try body.optionalInteger("quantity") ?? 1
      )
    }
    guard !id.isEmpty else { throw .invalid("devTransactionId must not be empty.") }
    guard Timestamp.range.contains(date) else { throw .invalid("purchaseDate is no time of a calendar.") }
    // What follows looks retryable, as it does in the real service.
    guard catalogue.switches.takesDevelopmentPurchases else { throw .failed("Development purchases are disabled.") }
    guard let product = catalogue.product(slug) else { throw .failed("There is no product \"\(slug)\".") }
    guard quantity >= 1, quantity == 1 || product.kind == .consumable else {
      throw .failed("The quantity must be 1; of consumables, 1 or more.")
    }
    if state.store.voidhash.developmentPurchases[id] == nil {
      state.store.voidhash.developmentPurchases.put(
        VoidhashDevelopmentRecord(
          id: id, personID: personMakingOne(caller.distinctID).id, product: product, quantity: quantity,
          purchasedAt: date))
    }
    return ["accepted": true, "warning": JSON(product.developmentWarning)]
  }
}

/// What Studio can do to a purchase of development mode: the action `development_event`.
struct VoidhashDevelopmentEvent {
  enum Kind: String, CaseIterable { case renew, expire, revoke, refund, grace, reset }

  static let keys = ["kind", "transaction_id"]
  /// How long Voidhash simulates grace.
  private static let gracePeriod: Int64 = 3 * 86_400_000

  var kind: Kind
  /// The client's `devTransactionId`; nil for the newest, and for all where they are reset.
  var transactionID: String?

  init(_ fields: Fields) throws(JSONShapeError) {
    kind = try fields.required(fields.oneOf("kind"), "kind")
    transactionID = try fields.optionalString("transaction_id")
  }

  func perform(on service: VoidhashService) throws(Refusal) -> JSON {
    if kind == .reset { return reset(service) }
    let all = service.state.store.voidhash.developmentPurchases
    guard var purchase = transactionID.map({ all[$0] }) ?? all.all.last,
      let product = service.catalogue.product(purchase.productSlug)
    else { throw .notFound("development purchase") }
    let now = service.now
    switch kind {
    case .revoke, .refund:
      purchase.endedAt = purchase.endedAt ?? now
      purchase.wasRefunded = purchase.wasRefunded || kind == .refund
    case .renew, .expire, .grace, .reset:
      guard let end = purchase.expiresAt, let period = product.period else {
        throw .invalid("kind", "\(kind.rawValue) is for subscriptions only")
      }
      switch kind {
      case .renew:
        let start = max(end, now)
        purchase.expiresAt = Timestamp.adding(period, to: start, anchoredAt: start) ?? end
        purchase.graceEndsAt = nil
      case .grace:
        purchase.expiresAt = min(end, now)
        purchase.graceEndsAt = now.adding(Self.gracePeriod)
      default:
        purchase.expiresAt = min(end, now)
        purchase.graceEndsAt = nil
      }
    }
    service.state.store.voidhash.developmentPurchases.put(purchase)
    return ["development_purchases": [purchase.document]]
  }

  private func reset(_ service: VoidhashService) -> JSON {
    for purchase in service.state.store.voidhash.developmentPurchases.all
    where transactionID == nil || purchase.id == transactionID {
      service.state.store.voidhash.developmentPurchases.remove(purchase.id)
    }
    return ["development_purchases": .array(service.state.store.voidhash.developmentPurchases.all.map(\.document))]
  }
}
