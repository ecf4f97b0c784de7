import KassaCore
import KassaJSON

/// Reads the service's rows leniently where shapes have drifted between versions: `plan_id` or `plan.id`, prices as
/// numbers or strings, times in every form. What cannot be done without is required, and its absence is an error.
enum WhopDecoding {
  static func plan(_ row: Fields) throws(JSONShapeError) -> Plan {
    let type = try row.optionalString("plan_type")
    let period = lenientInteger(row, "billing_period")
    let money = row.json["initial_price_due"]
    let stock = lenientInteger(row, "stock")
    let visibility = try row.optionalString("visibility") ?? "visible"
    let isUnlimited = try row.optionalBool("unlimited_stock") ?? true
    // Older versions said `base_currency`.
    let currency = try row.optionalString(row.has("currency") ? "currency" : "base_currency") ?? "usd"
    let release = try row.optionalString("release_method") ?? "buy_now"
    return Plan(
      id: try row.string("id"),
      productID: try related(row, "product"),
      title: try row.optionalString("title"),
      summary: try row.optionalString("description"),
      type: type.map { PlanType(rawValue: $0) ?? .unknown } ?? .unknown,
      billingPeriodDays: period.flatMap { $0 > 0 ? Int($0) : nil },
      trialPeriodDays: lenientInteger(row, "trial_period_days").map { Int($0) },
      currency: currency,
      initialPrice: try price(row, "initial_price"),
      renewalPrice: try price(row, "renewal_price"),
      displayDigits: money?["display_decimals"]?.integer.flatMap { (0...8).contains($0) ? Int($0) : nil },
      visibility: visibility,
      isAvailable: visibility != "archived" && release == "buy_now" && (isUnlimited || (stock ?? 1) > 0))
  }

  static func membership(_ row: Fields, confirmedAt: Int64) throws(JSONShapeError) -> Membership {
    let metadata = try row.optionalObject("metadata")
    func metadataText(_ key: String) -> String? {
      metadata?.json[key]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }
    let expiresAt = try time(row, "expires_at")
    let periodEnd = try time(row, row.has("current_period_end") ? "current_period_end" : "renewal_period_end")
    let buyerID = try row.optionalString("user_id")
    return Membership(
      id: try row.string("id"),
      productID: try row.required(related(row, "product"), "product_id"),
      planID: try row.required(related(row, "plan"), "plan_id"),
      status: MembershipStatus(try row.string("status")),
      createdAt: try time(row, "created_at") ?? confirmedAt,
      expiresAt: expiresAt,
      // Of a membership that does not renew, the period's end is its expiry.
      renewalPeriodEnd: expiresAt == nil ? periodEnd : nil,
      cancelAtPeriodEnd: try row.optionalBool("cancel_at_period_end") ?? false,
      manageURL: try row.optionalString("manage_url"),
      receiptID: nil,
      deviceID: metadataText(WhopConstants.Metadata.deviceID),
      appUserID: metadataText(WhopConstants.Metadata.appUserID).map(AppUserID.init),
      nonce: metadataText(WhopConstants.Metadata.nonce),
      buyerID: buyerID ?? row.json["user"]?["id"]?.string,
      confirmedAt: confirmedAt,
      isFromNetwork: true)
  }

  /// The id of a related object: `product_id`, `product.id`, or `product` as the id itself.
  static func related(_ row: Fields, _ name: String) throws(JSONShapeError) -> String? {
    if let id = try row.optionalString("\(name)_id") { return id }
    guard let object = row.json[name], !object.isNull else { return nil }
    if let id = object.string { return id }
    return object["id"]?.string
  }

  private static func price(_ row: Fields, _ key: String) throws(JSONShapeError) -> Decimal {
    let price = try row.value(key, "a decimal number") { Decimal(json: $0) }
    return price ?? .zero
  }

  private static func lenientInteger(_ row: Fields, _ key: String) -> Int64? { row.json[key]?.integer }

  private static func time(_ row: Fields, _ key: String) throws(JSONShapeError) -> Int64? {
    try row.value(key, "a time") { Timestamp.milliseconds($0) }
  }
}
