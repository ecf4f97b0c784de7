import KassaCore
import KassaJSON

/// How the service shows products and plans (which it also calls variants).
extension WhopService {
  var accountSummary: JSON { ["id": JSON(catalogue.account.id), "title": JSON(catalogue.account.title)] }

  /// - Parameter isComplete: with the fields that lists leave out.
  func document(_ plan: PlanRecord, for request: APIRequest, isComplete: Bool) -> JSON {
    let isSeller = request.may(Permission.readPlans)
    let buyerID = request.credential?.buyerID
    let hasTrial = plan.trialDays != nil && !hasHadTrial(of: plan, buyerID)
    func sellerOnly(_ value: JSON) -> JSON { isSeller ? value : .null }
    var members: [(String, JSON)] = [
      ("id", JSON(plan.id)),
      ("account", accountSummary),
      ("product", product(plan.productID).map { ["id": JSON($0.id), "title": JSON($0.title)] } ?? .null),
      ("title", JSON(plan.title)),
      ("description", JSON(plan.summary)),
      ("plan_type", JSON(plan.type)),
      ("billing_period", JSON(plan.billingPeriod)),
      ("initial_price", MoneyDocument.number(plan.initialPrice)),
      ("renewal_price", MoneyDocument.number(plan.renewalPrice)),
      ("initial_price_due", MoneyDocument.money(plan.due(withTrial: hasTrial))),
      ("formatted_price", JSON(MoneyDocument.text(plan))),
      ("currency", JSON(plan.currency)),
      ("trial_period_days", hasTrial ? JSON(plan.trialDays) : .null),
      ("expiration_days", JSON(plan.expirationDays)),
      ("stock", sellerOnly(JSON(plan.stock))),
      ("unlimited_stock", JSON(plan.stock == nil || plan.releaseMethod == "waitlist")),
      ("visibility", JSON(plan.visibility)),
      ("release_method", JSON(plan.releaseMethod)),
      ("purchase_url", JSON("\(state.baseURL)/checkout/\(plan.id)")),
      ("metadata", plan.metadata),
      ("member_count", sellerOnly(JSON(state.store.memberships.all.count { $0.planID == plan.id && $0.isActive }))),
      ("internal_notes", sellerOnly(JSON(plan.internalNotes))),
      ("created_at", JSON(Timestamp.iso8601(plan.createdAt))),
      ("updated_at", JSON(Timestamp.iso8601(plan.createdAt))),
    ]
    members += Self.unusedPlanFields
    if isComplete {
      members += [
        ("collect_tax", false), ("tax_type", "unspecified"), ("deletable", sellerOnly(false)),
        ("effective_payment_method_configuration", Self.paymentMethodConfiguration),
      ]
    }
    return .object(members)
  }

  /// What plans of this sandbox never use, as the service shows it then.
  private static let unusedPlanFields: [(String, JSON)] = [
    ("adaptive_pricing_enabled", false), ("attributes", .null), ("sku", .null), ("image", .null),
    ("invoice", .null), ("checkout_styling", .null), ("custom_fields", []),
    ("payment_method_configuration", .null), ("split_pay_required_payments", .null),
    ("strike_through_initial_price", .null), ("strike_through_renewal_price", .null), ("three_ds_level", .null),
    ("cancel_discount_intervals", .null), ("cancel_discount_percentage", .null), ("offer_cancel_discount", .null),
  ]

  /// The methods that this sandbox's checkout offers.
  static let paymentMethodConfiguration: JSON = [
    "enabled": ["card", "us_bank_account"], "disabled": [], "include_platform_defaults": false,
  ]

  /// - Parameter isComplete: with the fields that lists leave out.
  func document(_ product: ProductRecord, for request: APIRequest, isComplete: Bool) -> JSON {
    let plans = plans.filter { $0.productID == product.id && $0.visibility == "visible" }
    let members = Set(state.store.memberships.all.filter { $0.productID == product.id && $0.isActive }.map(\.buyerID))
    var fields: [(String, JSON)] = [
      ("id", JSON(product.id)), ("account", accountSummary), ("title", JSON(product.title)),
      ("headline", JSON(product.headline)), ("description", JSON(product.summary)), ("route", JSON(product.route)),
      ("visibility", JSON(product.visibility)), ("metadata", product.metadata), ("labels", []),
      ("default_plan", plans.first.map(publicPlan) ?? .null), ("member_count", JSON(members.count)),
      ("average_review_rating", 0), ("published_reviews_count", 0), ("gallery_images", []), ("verified", false),
      ("external_identifier", .null), ("variant_attributes", .null),
      ("created_at", JSON(Timestamp.iso8601(product.createdAt))),
      ("updated_at", JSON(Timestamp.iso8601(product.createdAt))),
    ]
    if isComplete {
      fields += [
        ("variants", .array(plans.map { document($0, for: request, isComplete: false) })),
        ("marketplace_status", "not_available"), ("custom_cta", .null), ("custom_cta_url", .null),
        ("custom_statement_descriptor", .null), ("global_affiliate_percentage", .null),
        ("global_affiliate_status", "disabled"), ("member_affiliate_percentage", .null),
        ("member_affiliate_status", "disabled"), ("owner_user", .null), ("product_tax_code", .null),
      ]
    }
    return .object(fields)
  }

  private func publicPlan(_ plan: PlanRecord) -> JSON {
    [
      "id": JSON(plan.id), "title": JSON(plan.title), "plan_type": JSON(plan.type),
      "billing_period": JSON(plan.billingPeriod), "expiration_days": JSON(plan.expirationDays),
      "initial_price": MoneyDocument.money(Money(plan.initialPrice, plan.currency)),
      "renewal_price": MoneyDocument.money(Money(plan.renewalPrice, plan.currency)),
      "unlimited_stock": JSON(plan.stock == nil), "visibility": JSON(plan.visibility),
    ]
  }
}
