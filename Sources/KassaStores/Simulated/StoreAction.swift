import KassaCore
import KassaJSON

/// What `simulate` does to a store; `docs/simulated-store.md` lists the actions for users.
enum StoreAction: Sendable, Equatable {
  case renew(productID: String?)
  /// `hasGrace` takes the place of the file's switch.
  case setBilling(fails: Bool, hasGrace: Bool?)
  case refund(transactionID: String, isAppIssue: Bool, share: RefundShare)
  case revokeFamily(productID: String?)
  case setRenewal(on: Bool, productID: String?)
  case increasePrice(productID: String, amount: Decimal, needsConsent: Bool)
  case agreeToPrice(productID: String?)
  case decide(pendingID: String?, productID: String?, approved: Bool)
  case buyElsewhere(PurchaseRequest)
  case intent(StoreOrder)
  case message(StoreMessage.Reason, productID: String?)
  case setPolicy(SheetPolicy)
  case setStorefront(Storefront)
  case redeemCode(String, productID: String?, appAccountToken: String?)
  case clear
  case state
  case events

  enum RefundShare: Sendable, Equatable {
    case all
    /// In thousandths of a percent.
    case percentage(Int64)
    /// What is left of the period.
    case prorated
  }

  static let names = readers.map(\.name)

  private typealias Reader = @Sendable (Fields) throws(JSONShapeError) -> StoreAction
  private static let readers: [(name: String, keys: [String], read: Reader)] = [
    (
      "renew", ["product_id"],
      { fields throws(JSONShapeError) in .renew(productID: try fields.optionalString("product_id")) }
    ),
    (
      "fail_billing", ["grace"],
      { fields throws(JSONShapeError) in .setBilling(fails: true, hasGrace: try fields.optionalBool("grace")) }
    ),
    ("recover_billing", [], { _ in .setBilling(fails: false, hasGrace: nil) }),
    ("refund", ["transaction_id", "reason", "percentage", "prorated"], refund),
    (
      "revoke_family", ["product_id"],
      { fields throws(JSONShapeError) in .revokeFamily(productID: try fields.optionalString("product_id")) }
    ),
    (
      "cancel_subscription", ["product_id"],
      { fields throws(JSONShapeError) in .setRenewal(on: false, productID: try fields.optionalString("product_id")) }
    ),
    (
      "resubscribe", ["product_id"],
      { fields throws(JSONShapeError) in .setRenewal(on: true, productID: try fields.optionalString("product_id")) }
    ),
    ("price_increase", ["product_id", "price", "consent"], priceIncrease),
    (
      "agree_to_price", ["product_id"],
      { fields throws(JSONShapeError) in .agreeToPrice(productID: try fields.optionalString("product_id")) }
    ),
    (
      "approve", ["pending_id", "product_id"], { fields throws(JSONShapeError) in try decision(fields, approved: true) }
    ),
    (
      "decline", ["pending_id", "product_id"],
      { fields throws(JSONShapeError) in try decision(fields, approved: false) }
    ),
    ("buy_elsewhere", ["product_id", "quantity", "offer", "family", "app_account_token"], buyElsewhere),
    ("intent", ["product_id", "offer"], intent),
    ("message", ["reason", "product_id"], message),
    (
      "set_policy", ["policy"],
      { fields throws(JSONShapeError) in
        .setPolicy(SheetPolicy(try fields.oneOf(SheetPolicy.words, "policy", default: "approve")) ?? .always(.approve))
      }
    ),
    (
      "set_storefront", ["country"],
      { fields throws(JSONShapeError) in
        let country = try fields.required(fields.country("country"), "country")
        let storefront = Storefront(country: country, currency: Territory.currency(country))
        return .setStorefront(try fields.required(storefront, "country"))
      }
    ),
    (
      "redeem_code", ["code", "product_id", "app_account_token"],
      { fields throws(JSONShapeError) in
        .redeemCode(
          try fields.string("code"), productID: try fields.optionalString("product_id"),
          appAccountToken: try fields.optionalString("app_account_token"))
      }
    ),
    ("clear", [], { _ in .clear }),
    ("state", [], { _ in .state }),
    ("events", [], { _ in .events }),
  ]

  init(_ document: JSON) throws(JSONShapeError) {
    let fields = try Fields(document)
    let name = try fields.string("action")
    guard let reader = Self.readers.first(where: { $0.name == name }) else {
      let hint = nearest(to: name, in: Self.names).map { "; did you mean \"\($0)\"?" } ?? ""
      throw JSONShapeError(path: "action", problem: "\"\(name.quoted)\" is not known\(hint)")
    }
    try fields.allowOnly(["action"] + reader.keys)
    self = try reader.read(fields)
  }

  // MARK: Reading

  private static let refund: Reader = { fields throws(JSONShapeError) in
    let percentage = try fields.value("percentage", "a number from 0 to 100 with at most 3 decimal places") { json in
      Decimal(json: json).flatMap { percent in
        percent.fractionDigits <= 3 ? percent.micros.map { $0 / 1_000 } : nil
      }.flatMap { (0...100_000).contains($0) ? $0 : nil }
    }
    let isProrated = try fields.optionalBool("prorated") ?? false
    guard percentage == nil || !isProrated else {
      throw JSONShapeError(path: fields.place(of: "prorated"), problem: "and percentage exclude each other")
    }
    let reason = try fields.oneOf(["app_issue", "other"], "reason", default: "other")
    return .refund(
      transactionID: try fields.string("transaction_id"), isAppIssue: reason == "app_issue",
      share: percentage.map { .percentage($0) } ?? (isProrated ? .prorated : .all))
  }

  private static let priceIncrease: Reader = { fields throws(JSONShapeError) in
    let price = try fields.value("price", "a price of 0 or more, such as \"12.99\"") { json in
      Decimal(json: json).flatMap { $0.isNegative ? nil : $0 }
    }
    return .increasePrice(
      productID: try fields.string("product_id"), amount: try fields.required(price, "price"),
      needsConsent: try fields.optionalBool("consent") ?? true)
  }

  private static func decision(_ fields: Fields, approved: Bool) throws(JSONShapeError) -> StoreAction {
    .decide(
      pendingID: try fields.optionalString("pending_id"), productID: try fields.optionalString("product_id"),
      approved: approved)
  }

  private static let buyElsewhere: Reader = { fields throws(JSONShapeError) in
    let isShared = try fields.optionalBool("family") ?? false
    return .buyElsewhere(
      PurchaseRequest(
        productID: try fields.string("product_id"),
        quantity: Int(clamping: try fields.integer("quantity", in: 1...10, default: 1)),
        offer: try offer(fields), appAccountToken: try fields.optionalString("app_account_token"),
        ownership: isShared ? .familyShared : .purchased))
  }

  private static let intent: Reader = { fields throws(JSONShapeError) in
    .intent(StoreOrder(productID: try fields.string("product_id"), offer: try offer(fields)))
  }

  /// `automatic`, `none` or the id of an offer.
  private static func offer(_ fields: Fields) throws(JSONShapeError) -> StoreOrder.Offer {
    switch try fields.optionalString("offer") {
    case nil, "automatic"?: .automatic
    case "none"?: .none
    case let id?: .id(id)
    }
  }

  private static let message: Reader = { fields throws(JSONShapeError) in
    let words = StoreMessage.Reason.allCases.map(\.rawValue)
    let word = try fields.oneOf(words, "reason", default: StoreMessage.Reason.generic.rawValue)
    return .message(StoreMessage.Reason(rawValue: word) ?? .generic, productID: try fields.optionalString("product_id"))
  }
}

extension StoreLedger {
  /// What an action does to the account. Intents, the policy's host and the storefront's prices are the store's business.
  mutating func perform(_ action: StoreAction, in shop: StoreShop) throws(StoreRefusal) -> [LedgerEvent] {
    switch action {
    case .renew(let productID): return try renewNow(productID: productID, in: shop)
    case .setBilling(let fails, let grace): return setBilling(fails: fails, hasGrace: grace, in: shop)
    case .refund(let id, let isAppIssue, let share):
      let percentage: Int64? =
        switch share {
        case .all: nil
        case .percentage(let percentage): percentage
        case .prorated: transactions[id].map { remainingPercentage(of: $0) }
        }
      return try refund(id, isAppIssue: isAppIssue, percentage: percentage)
    case .revokeFamily(let productID): return try leaveFamily(productID: productID)
    case .setRenewal(let isOn, let productID): return try setRenewal(isOn, productID: productID, in: shop)
    case .increasePrice(let productID, let amount, let needsConsent):
      return try increasePrice(of: productID, to: amount, needsConsent: needsConsent, in: shop)
    case .agreeToPrice(let productID): return try agreeToPrice(productID: productID)
    case .decide(let id, let productID, let approved):
      return try decide(id: id, productID: productID, approved: approved, in: shop)
    case .buyElsewhere(let request): return try buyElsewhere(request, in: shop)
    case .message(let reason, let productID): return show(reason, productID: productID)
    case .setPolicy(let policy):
      self.policy = policy
      return [LedgerEvent(at: now, kind: .changed, details: [.init("policy", JSON(policy.word))])]
    case .setStorefront(let storefront): return move(to: storefront)
    case .redeemCode(let code, let productID, let token):
      return try redeem(code, productID: productID, appAccountToken: token, in: shop).events
    case .clear: return clear()
    case .intent(let order):
      _ = try check(PurchaseRequest(productID: order.productID, offer: order.offer), in: shop)
      return []
    case .state, .events: return []
    }
  }

  private mutating func buyElsewhere(
    _ request: PurchaseRequest, in shop: StoreShop
  ) throws(StoreRefusal) -> [LedgerEvent] {
    if request.ownership == .familyShared, shop[request.productID]?.isFamilyShareable == false {
      throw StoreRefusal(.unknownProduct, "\"\(request.productID.quoted)\" cannot be shared with a family")
    }
    return try buy(request, in: shop).events
  }

  /// Redeems a code for the product that has it.
  mutating func redeem(
    _ code: String, productID: String?, appAccountToken: String?, in shop: StoreShop
  ) throws(StoreRefusal) -> PurchaseResult {
    let holder = shop.catalogue.products.first { product in
      (productID.map { $0 == product.id } ?? true)
        && (product.subscription?.offers ?? []).contains { $0.kind == .code && $0.id == code }
    }
    guard let holder else { throw StoreRefusal(.unknownOffer, "no product has the code \"\(code.quoted)\"") }
    return try buy(
      PurchaseRequest(productID: holder.id, offer: .none, code: code, appAccountToken: appAccountToken), in: shop)
  }
}
