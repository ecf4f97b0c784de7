import KassaCore
import KassaJSON

// Products as a host describes them. Everything is read strictly, also unknown keys: a misspelt optional field would
// otherwise be a price or an offer that nobody sees.

extension StoreProduct {
  init(host fields: Fields) throws(JSONShapeError) {
    try fields.refuseUnknown(but: [
      "id", "type", "display_name", "description", "price", "family_shareable", "subscription",
    ])
    let kind = try fields.word("type", Kind.self)
    let id = try fields.name("id")
    let subscription = try fields.optionalObject("subscription")
    guard (kind == .subscription) == (subscription != nil) else {
      throw JSONShapeError(
        path: fields.place(of: "subscription"),
        problem: kind == .subscription ? "is missing" : "must be absent: the type is \"\(kind.rawValue)\"")
    }
    self.init(
      id: id, kind: kind, displayName: try fields.text("display_name"),
      description: try fields.optionalText("description") ?? "",
      price: try StorePrice(host: try fields.object("price")),
      isFamilyShareable: try fields.optionalBool("family_shareable") ?? false,
      subscription: try subscription.map { (fields) throws(JSONShapeError) in
        try StoreSubscription(host: fields, productID: id)
      })
  }
}

extension StorePrice {
  init(host fields: Fields) throws(JSONShapeError) {
    try fields.refuseUnknown(but: ["amount", "amount_micros", "currency", "formatted"])
    let currency = try fields.required(fields.optionalCurrency("currency"), "currency")
    self.init(Money(try Self.amount(fields), currency), formatted: try fields.name("formatted"))
  }

  /// As text or in millionths, or both if they agree. A JSON number is refused: most parsers have made a binary
  /// fraction of it by now.
  private static func amount(_ fields: Fields) throws(JSONShapeError) -> Decimal {
    let text = try fields.optionalString("amount")
    let micros = try fields.optionalInteger("amount_micros").map(Decimal.init(micros:))
    let amount = text.flatMap { Decimal($0) }
    guard text == nil || amount != nil else {
      throw JSONShapeError(
        path: fields.place(of: "amount"),
        problem: "must be a decimal number such as \"9.99\" (got \"\((text ?? "").quoted)\")")
    }
    guard let value = amount ?? micros else {
      throw JSONShapeError(path: fields.place(of: "amount"), problem: "is missing, and so is \"amount_micros\"")
    }
    guard micros == nil || micros == value else {
      throw JSONShapeError(path: fields.place(of: "amount_micros"), problem: "is another amount than \"amount\"")
    }
    guard !value.isNegative else {
      throw JSONShapeError(path: fields.place(of: "amount"), problem: "must not be negative (got \(value.text))")
    }
    return value
  }
}

extension StoreSubscription {
  init(host fields: Fields, productID: String) throws(JSONShapeError) {
    try fields.refuseUnknown(but: ["group_id", "group_name", "level", "period", "offers"])
    let offers = try fields.has("offers") ? fields.list("offers") : []
    var read: [StoreOffer] = []
    for fields in offers {
      let offer = try StoreOffer(host: fields)
      guard !read.contains(where: { $0.id == offer.id && (offer.id != nil || $0.kind == offer.kind) }) else {
        throw JSONShapeError(path: fields.place(of: "id"), problem: "occurs twice")
      }
      read.append(offer)
    }
    self.init(
      // Google Play has no groups: each subscription is then a group of its own.
      groupID: try fields.optionalName("group_id") ?? productID,
      groupName: try fields.optionalText("group_name"),
      level: Int(try fields.optionalNumber("level", in: HostLimits.count) ?? 1),
      period: try fields.period("period"), offers: read)
  }
}

extension StoreOffer {
  init(host fields: Fields) throws(JSONShapeError) {
    try fields.refuseUnknown(but: ["id", "kind", "payment_mode", "price", "period", "period_count", "eligible"])
    let kind = try fields.word("kind", Kind.self)
    let id = try fields.optionalName("id")
    guard id != nil || kind == .introductory else {
      throw JSONShapeError(path: fields.place(of: "id"), problem: "is missing")
    }
    let mode = try fields.word("payment_mode", PaymentMode.self)
    let price = try StorePrice(host: try fields.object("price"))
    guard mode != .freeTrial || price.money.amount == .zero else {
      throw JSONShapeError(path: fields.place(of: "price"), problem: "must be 0: the payment mode is \"free_trial\"")
    }
    self.init(
      id: id, kind: kind, paymentMode: mode, price: price, period: try fields.period("period"),
      periodCount: Int(try fields.optionalNumber("period_count", in: HostLimits.count) ?? 1),
      isEligible: try fields.optionalBool("eligible"))
  }
}

extension Fields {
  /// `{"unit":"month","count":1}`, or the text of ISO 8601: `"P1M"`.
  func period(_ key: String) throws(JSONShapeError) -> Period {
    guard let text = json[key]?.string else {
      let fields = try object(key)
      try fields.refuseUnknown(but: ["unit", "count"])
      let count = try fields.required(fields.optionalNumber("count", in: HostLimits.count), "count")
      guard let period = Period(Int(count), try fields.word("unit", Period.Unit.self)) else {
        throw JSONShapeError(path: fields.place(of: "count"), problem: "must be 1 or more")
      }
      return period
    }
    guard let period = Period(iso8601: text), HostLimits.count.contains(Int64(period.count)) else {
      throw JSONShapeError(
        path: place(of: key), problem: "must be a period such as \"P1M\" (got \"\(text.quoted)\")")
    }
    return period
  }
}
