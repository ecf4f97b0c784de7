import KassaCore
import KassaJSON

/// Plans as the storage keeps them: exact prices as text, and only what this version understands.
enum StoredPlans {
  static func encode(_ plans: [Plan]) -> String { JSON.array(plans.map(document)).text() }

  /// What cannot be read is left out: the next refresh brings it back.
  static func decode(_ text: String) -> [Plan] {
    ((try? JSON.parse(text))?.elements ?? []).compactMap { row in
      guard let fields = try? Fields(row) else { return nil }
      return try? plan(fields)
    }
  }

  private static func document(_ plan: Plan) -> JSON {
    [
      "id": JSON(plan.id), "product_id": JSON(plan.productID), "title": JSON(plan.title), "summary": JSON(plan.summary),
      "type": JSON(plan.type.rawValue), "billing_period_days": JSON(plan.billingPeriodDays),
      "trial_period_days": JSON(plan.trialPeriodDays), "currency": JSON(plan.currency),
      "initial_price": JSON(plan.initialPrice.text), "renewal_price": JSON(plan.renewalPrice.text),
      "display_digits": JSON(plan.displayDigits), "visibility": JSON(plan.visibility),
      "available": JSON(plan.isAvailable), "store_display_price": JSON(plan.storeDisplayPrice),
      "listed": JSON(plan.isListed),
    ]
  }

  private static func plan(_ row: Fields) throws(JSONShapeError) -> Plan {
    var plan = Plan(
      id: try row.string("id"),
      productID: try row.optionalString("product_id"),
      title: try row.optionalString("title"),
      summary: try row.optionalString("summary"),
      type: PlanType(rawValue: try row.string("type")) ?? .unknown,
      billingPeriodDays: try row.optionalInteger("billing_period_days").map { Int($0) },
      trialPeriodDays: try row.optionalInteger("trial_period_days").map { Int($0) },
      currency: try row.string("currency"),
      initialPrice: try row.required(Decimal(row.string("initial_price")), "initial_price"),
      renewalPrice: try row.required(Decimal(row.string("renewal_price")), "renewal_price"),
      displayDigits: try row.optionalInteger("display_digits").map { Int($0) },
      visibility: try row.string("visibility"),
      isAvailable: try row.bool("available"),
      storeDisplayPrice: try row.optionalString("store_display_price"))
    plan.isListed = try row.optionalBool("listed") ?? true
    return plan
  }
}
