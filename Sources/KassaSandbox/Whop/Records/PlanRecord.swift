import KassaCore
import KassaJSON

/// What a product costs, as the catalogue says or a checkout configuration made it.
struct PlanRecord: Record {
  static let kind = "plan"
  static let visibilities = ["visible", "hidden", "archived", "quick_link"]
  static let releaseMethods = ["buy_now", "waitlist"]

  var id: String
  var productID: String
  var title: String?
  var summary: String?
  var isRenewal: Bool
  /// Days between charges.
  var billingPeriod: Int64?
  var initialPrice: Decimal
  var renewalPrice: Decimal
  /// In lower case, as the service writes it.
  var currency: String
  var trialDays: Int64?
  /// How long the access of a plan lasts that does not renew.
  var expirationDays: Int64?
  /// Nil: unlimited.
  var stock: Int64?
  var visibility: String
  var releaseMethod: String
  var metadata: JSON
  var internalNotes: String?
  var createdAt: Int64

  init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly([
      "id", "product_id", "title", "description", "plan_type", "billing_period", "initial_price", "renewal_price",
      "currency", "trial_period_days", "expiration_days", "stock", "visibility", "release_method", "metadata",
      "internal_notes", "created_at",
    ])
    id = try fields.string("id")
    productID = try fields.string("product_id")
    title = try fields.optionalString("title")
    summary = try fields.optionalString("description")
    isRenewal = try fields.word("plan_type", among: ["renewal", "one_time"]) == "renewal"
    billingPeriod = try fields.days("billing_period", upTo: 3_650)
    initialPrice = try fields.price("initial_price")
    renewalPrice = try fields.price("renewal_price")
    currency = try fields.optionalString("currency")?.lowercased() ?? "usd"
    trialDays = try fields.days("trial_period_days", upTo: 1_095)
    expirationDays = try fields.days("expiration_days", upTo: 36_500)
    stock = try fields.optionalInteger("stock")
    visibility = try fields.word("visibility", among: Self.visibilities) ?? "visible"
    releaseMethod = try fields.word("release_method", among: Self.releaseMethods) ?? "buy_now"
    metadata = try fields.optionalObject("metadata")?.json ?? [:]
    internalNotes = try fields.optionalString("internal_notes")
    createdAt = try fields.time("created_at") ?? Catalogue.beginning
    guard isRenewal == (billingPeriod != nil) else {
      throw fields.problem("billing_period", "is what a plan with plan_type renewal has, and only that")
    }
  }

  var document: JSON {
    [
      "id": JSON(id), "product_id": JSON(productID), "title": JSON(title), "description": JSON(summary),
      "plan_type": JSON(type), "billing_period": JSON(billingPeriod), "initial_price": JSON(initialPrice.text),
      "renewal_price": JSON(renewalPrice.text), "currency": JSON(currency), "trial_period_days": JSON(trialDays),
      "expiration_days": JSON(expirationDays), "stock": JSON(stock), "visibility": JSON(visibility),
      "release_method": JSON(releaseMethod), "metadata": metadata, "internal_notes": JSON(internalNotes),
      "created_at": JSON(Timestamp.iso8601(createdAt)),
    ]
  }

  var type: String { isRenewal ? "renewal" : "one_time" }

  /// What a buyer pays at checkout for one of it: a trial puts the first renewal off.
  func due(withTrial: Bool) -> Money {
    let first = isRenewal && !withTrial ? initialPrice.adding(renewalPrice) : initialPrice
    return Money(first ?? initialPrice, currency)
  }
}

extension Fields {
  func problem(_ key: String, _ text: String) -> JSONShapeError { JSONShapeError(path: place(of: key), problem: text) }

  func word(_ key: String, among words: [String]) throws(JSONShapeError) -> String? {
    try value(key, "one of \(words.joined(separator: ", "))") { json in
      json.string.flatMap { words.contains($0) ? $0 : nil }
    }
  }

  func days(_ key: String, upTo most: Int64) throws(JSONShapeError) -> Int64? {
    try value(key, "a whole number from 1 to \(most)") { json in
      json.integer.flatMap { (1...most).contains($0) ? $0 : nil }
    }
  }

  /// 0 if it is absent.
  func price(_ key: String) throws(JSONShapeError) -> Decimal {
    let price = try value(key, "a price in the currency's main unit, 0 or more") { json in
      Decimal(json: json).flatMap { $0.isNegative ? nil : $0 }
    }
    return price ?? .zero
  }

  func time(_ key: String) throws(JSONShapeError) -> Int64? {
    try value(key, "a time") { Timestamp.milliseconds($0) }
  }
}
