import KassaCore
import KassaJSON

// How a ledger is kept: one document for the account, and one for each transaction.

extension StoreLedger {
  /// Everything but the transactions.
  var document: JSON {
    let document = ObjectBuilder()
    document.add("now", now)
    document.add("next_number", nextNumber)
    document.add("app_transaction_id", appTransactionID)
    document.add("created_at", createdAt)
    document.add("storefront", storefront?.document ?? .null)
    document.add("configured_country", configuredCountry)
    document.add("policy", policy?.word)
    document.add("billing_fails", billingFails)
    document.add("grace", hasGrace)
    document.add("prices", .object(prices.sorted { $0.key < $1.key }.map { ($0, $1.kept) }))
    document.add("introduced_groups", .array(introducedGroups.sorted().map { JSON($0) }))
    document.add("subscriptions", .array(subscriptions.map(\.document)))
    document.add("pending", .array(pending.map(\.document)))
    document.add("messages", .array(messages.map(\.document)))
    return document.build()
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    self.init(
      now: try fields.integer("now"), firstNumber: try fields.integer("next_number"),
      appTransactionID: try fields.string("app_transaction_id"), createdAt: try fields.integer("created_at"),
      storefront: try Storefront(fields.optionalObject("storefront")))
    configuredCountry = try fields.optionalString("configured_country")
    policy = try fields.value("policy", "a policy") { $0.string.flatMap { SheetPolicy($0) } }
    billingFails = try fields.optionalBool("billing_fails")
    hasGrace = try fields.optionalBool("grace")
    for (id, price) in try fields.object("prices").json.members {
      prices[id] = try Money(kept: Fields(price, path: "prices"))
    }
    introducedGroups = Set(try fields.strings("introduced_groups") ?? [])
    subscriptions = try fields.objects("subscriptions").map { fields throws(JSONShapeError) in
      try LedgerSubscription(fields)
    }
    pending = try fields.objects("pending").map { fields throws(JSONShapeError) in try PendingPurchase(fields) }
    messages = try fields.objects("messages").map { fields throws(JSONShapeError) in try StoreMessage(fields) }
  }
}

extension LedgerTransaction {
  var document: JSON {
    let document = ObjectBuilder()
    document.add("id", id)
    document.add("original_id", originalID)
    document.add("web_order_line_item_id", webOrderLineItemID)
    document.add("product_id", productID)
    document.add("kind", kind.rawValue)
    document.add("group_id", groupID)
    document.add("purchased_at", purchasedAt)
    document.add("originally_purchased_at", originallyPurchasedAt)
    document.add("expires_at", expiresAt)
    document.add("quantity", quantity)
    document.add("ownership", ownership.rawValue)
    document.add("renewal", isRenewal)
    document.add("price", price.kept)
    document.add("storefront", storefront?.document ?? .null)
    document.add("offer", offer?.document ?? .null)
    document.add("token", appAccountToken)
    document.add("upgraded", isUpgraded)
    document.add("revocation", revocation?.document ?? .null)
    document.add("finished", isFinished)
    return document.build()
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    originalID = try fields.string("original_id")
    webOrderLineItemID = try fields.optionalString("web_order_line_item_id")
    productID = try fields.string("product_id")
    kind = try fields.word("kind")
    groupID = try fields.optionalString("group_id")
    purchasedAt = try fields.integer("purchased_at")
    originallyPurchasedAt = try fields.integer("originally_purchased_at")
    expiresAt = try fields.optionalInteger("expires_at")
    quantity = Int(clamping: try fields.integer("quantity"))
    ownership = try fields.word("ownership")
    isRenewal = try fields.bool("renewal")
    price = try Money(kept: fields.object("price"))
    storefront = try Storefront(fields.optionalObject("storefront"))
    offer = try fields.optionalObject("offer").map { fields throws(JSONShapeError) in try AppliedOffer(fields) }
    appAccountToken = try fields.optionalString("token")
    isUpgraded = try fields.bool("upgraded")
    revocation = try fields.optionalObject("revocation").map { fields throws(JSONShapeError) in
      try LedgerRevocation(fields)
    }
    isFinished = try fields.bool("finished")
  }
}

extension LedgerRevocation {
  fileprivate var document: JSON {
    [
      "at": JSON(at), "kind": JSON(kind.rawValue), "app_issue": JSON(isAppIssue), "percentage": JSON(percentage),
    ]
  }
  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    at = try fields.integer("at")
    kind = try fields.word("kind")
    isAppIssue = try fields.bool("app_issue")
    percentage = try fields.integer("percentage")
  }
}

extension AppliedOffer {
  fileprivate var document: JSON {
    [
      "kind": JSON(kind.rawValue), "id": JSON(id), "mode": JSON(paymentMode.rawValue), "period": JSON(period),
    ]
  }
  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    kind = try fields.word("kind")
    id = try fields.optionalString("id")
    paymentMode = try fields.word("mode")
    period = try fields.string("period")
  }
}

extension LedgerSubscription {
  fileprivate var document: JSON {
    let document = ObjectBuilder()
    document.add("group_id", groupID)
    document.add("ownership", ownership.rawValue)
    document.add("original_id", originalID)
    document.add("originally_purchased_at", originallyPurchasedAt)
    document.add("product_id", productID)
    document.add("latest_id", latestID)
    document.add("started_at", startedAt)
    document.add("anchor", anchor)
    document.add("period_start", periodStart)
    document.add("period_end", periodEnd)
    document.add("state", state.document)
    document.add("will_renew", willRenew)
    document.add("next_product_id", nextProductID)
    document.add("offer", offer?.document ?? .null)
    document.add("next_offer", nextOffer?.document ?? .null)
    document.add("consent", priceIncrease?.consent.rawValue)
    document.add("token", appAccountToken)
    return document.build()
  }

  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    groupID = try fields.string("group_id")
    ownership = try fields.word("ownership")
    originalID = try fields.string("original_id")
    originallyPurchasedAt = try fields.integer("originally_purchased_at")
    productID = try fields.string("product_id")
    latestID = try fields.string("latest_id")
    startedAt = try fields.integer("started_at")
    anchor = try fields.integer("anchor")
    periodStart = try fields.integer("period_start")
    periodEnd = try fields.integer("period_end")
    state = try State(fields.object("state"))
    willRenew = try fields.bool("will_renew")
    nextProductID = try fields.optionalString("next_product_id")
    offer = try fields.optionalObject("offer").map { fields throws(JSONShapeError) in try RunningOffer(fields) }
    nextOffer = try fields.optionalObject("next_offer").map { fields throws(JSONShapeError) in
      try RunningOffer(fields)
    }
    let consent = try fields.value("consent", "a consent") {
      $0.integer.flatMap { PriceIncrease.Consent(rawValue: $0) }
    }
    priceIncrease = consent.map { PriceIncrease(consent: $0) }
    appAccountToken = try fields.optionalString("token")
  }
}

extension LedgerSubscription.State {
  fileprivate var document: JSON {
    switch self {
    case .subscribed: ["is": "subscribed"]
    case .grace(let end, let retryEnd): ["is": "grace", "until": JSON(end), "retry_until": JSON(retryEnd)]
    case .retry(let end): ["is": "retry", "until": JSON(end)]
    case .expired(let reason): ["is": "expired", "reason": JSON(reason.rawValue)]
    case .revoked: ["is": "revoked"]
    }
  }

  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    switch try fields.oneOf(["subscribed", "grace", "retry", "expired", "revoked"], "is", default: "") {
    case "subscribed": self = .subscribed
    case "grace": self = .grace(until: try fields.integer("until"), retryUntil: try fields.integer("retry_until"))
    case "retry": self = .retry(until: try fields.integer("until"))
    case "revoked": self = .revoked
    default:
      let reason = try fields.value("reason", "a reason") { json in
        json.integer.flatMap { LedgerSubscription.ExpirationReason(rawValue: $0) }
      }
      self = .expired(try fields.required(reason, "reason"))
    }
  }
}

extension RunningOffer {
  fileprivate var document: JSON {
    offer.kept.merging([("charges_left", JSON(chargesLeft)), ("followed_by", followedBy?.kept ?? .null)])
  }

  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    self.init(
      try StoreOffer(kept: fields), chargesLeft: Int(clamping: try fields.integer("charges_left")),
      followedBy: try fields.optionalObject("followed_by").map { fields throws(JSONShapeError) in
        try StoreOffer(kept: fields)
      })
  }
}

extension StoreOffer {
  fileprivate var kept: JSON {
    [
      "id": JSON(id), "kind": JSON(kind.rawValue), "mode": JSON(paymentMode.rawValue), "price": price.money.kept,
      "formatted": JSON(price.formatted), "period": period.document, "count": JSON(periodCount),
    ]
  }

  fileprivate init(kept fields: Fields) throws(JSONShapeError) {
    let period = try fields.object("period")
    let unit: Period.Unit = try period.word("unit")
    let length = Period(Int(clamping: try period.integer("count")), unit)
    self.init(
      id: try fields.optionalString("id"), kind: try fields.word("kind"), paymentMode: try fields.word("mode"),
      price: StorePrice(try Money(kept: fields.object("price")), formatted: try fields.string("formatted")),
      period: try period.required(length, "count"), periodCount: Int(clamping: try fields.integer("count")))
  }
}

extension PendingPurchase {
  var document: JSON {
    [
      "id": JSON(id), "kind": JSON(kind.rawValue), "since": JSON(since), "product_id": JSON(request.productID),
      "quantity": JSON(request.quantity), "offer": request.offer.kept, "code": JSON(request.code),
      "token": JSON(request.appAccountToken), "ownership": JSON(request.ownership.rawValue),
    ]
  }

  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    kind = try fields.word("kind")
    since = try fields.integer("since")
    request = PurchaseRequest(
      productID: try fields.string("product_id"), quantity: Int(clamping: try fields.integer("quantity")),
      offer: try StoreOrder.Offer(kept: fields.object("offer")), code: try fields.optionalString("code"),
      appAccountToken: try fields.optionalString("token"), ownership: try fields.word("ownership"))
  }
}

extension StoreOrder.Offer {
  fileprivate var kept: JSON {
    switch self {
    case .automatic: ["is": "automatic"]
    case .none: ["is": "none"]
    case .id(let id): ["is": "id", "id": JSON(id)]
    }
  }

  fileprivate init(kept fields: Fields) throws(JSONShapeError) {
    switch try fields.oneOf(["automatic", "none", "id"], "is", default: "automatic") {
    case "none": self = .none
    case "id": self = .id(try fields.string("id"))
    default: self = .automatic
    }
  }
}

extension StoreMessage {
  var document: JSON {
    ["id": JSON(id), "reason": JSON(reason.rawValue), "product_id": JSON(productID)]
  }

  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    reason = try fields.word("reason")
    productID = try fields.optionalString("product_id")
  }
}

extension Money {
  fileprivate var kept: JSON { ["amount": JSON(amount.text), "currency": JSON(currency)] }

  fileprivate init(kept fields: Fields) throws(JSONShapeError) {
    let amount = try fields.value("amount", "an amount") { Decimal(json: $0) }
    self.init(try fields.required(amount, "amount"), try fields.string("currency"))
  }
}

extension Storefront {
  fileprivate init?(_ fields: Fields?) throws(JSONShapeError) {
    guard let fields else { return nil }
    self.init(country: try fields.string("country_code"), currency: try fields.optionalString("currency"))
  }
}

extension Fields {
  /// The case that a word names.
  fileprivate func word<Word: RawRepresentable<String>>(_ key: String) throws(JSONShapeError) -> Word {
    let word = try value(key, "a known word") { $0.string.flatMap { Word(rawValue: $0) } }
    return try required(word, key)
  }
}
