import KassaCore
import KassaJSON

/// How the service shows a checkout configuration.
extension WhopService {
  func document(_ checkout: CheckoutRecord, for request: APIRequest) -> JSON {
    let offered = checkout.paymentMethodConfiguration
    return [
      "id": JSON(checkout.id),
      "account_id": JSON(catalogue.account.id),
      "mode": JSON(checkout.mode),
      "plan": checkout.planID.flatMap { plan($0) }.map(Self.shortPlan) ?? .null,
      "purchase_url": JSON(purchaseURL(of: checkout)),
      "redirect_url": JSON(checkout.redirectURL),
      // Anybody may read a configuration, so that its page can be shown, but not who buys.
      "metadata": request.may(Permission.readCheckouts) ? checkout.metadata : .null,
      "payment_method_configuration": offered,
      "effective_payment_method_configuration": offered.isNull ? Self.paymentMethodConfiguration : offered,
      "affiliate_code": JSON(checkout.affiliateCode),
      "currency": JSON(checkout.currency),
      "three_ds_level": JSON(checkout.threeDSLevel),
      "created_at": time(checkout.createdAt),
      "updated_at": time(checkout.createdAt),
    ]
  }

  func purchaseURL(of checkout: CheckoutRecord) -> String? {
    checkout.planID.map { "\(state.baseURL)/checkout/\($0)/?session=\(checkout.id)" }
  }

  private static func shortPlan(_ plan: PlanRecord) -> JSON {
    [
      "id": JSON(plan.id), "plan_type": JSON(plan.type), "currency": JSON(plan.currency),
      "initial_price": MoneyDocument.number(plan.initialPrice),
      "renewal_price": MoneyDocument.number(plan.renewalPrice), "billing_period": JSON(plan.billingPeriod),
      "trial_period_days": JSON(plan.trialDays), "expiration_days": JSON(plan.expirationDays),
      "release_method": JSON(plan.releaseMethod), "visibility": JSON(plan.visibility),
      "adaptive_pricing_enabled": false, "three_ds_level": .null,
    ]
  }
}
