extension Catalogue {
  /// What the sandbox sells when nobody says otherwise.
  static let defaultText = """
    {
      "account": {"id": "biz_sandbox", "title": "Kassa Sandbox", "route": "kassa-sandbox"},
      "products": [
        {"id": "prod_pro", "title": "Pro", "headline": "Everything, on every device",
         "description": "All features for as long as the membership lasts."},
        {"id": "prod_desktop", "title": "Desktop", "headline": "The program for one computer",
         "description": "Unlocked with a license key.", "software_licensing": true}
      ],
      "plans": [
        {"id": "plan_monthly", "product_id": "prod_pro", "title": "Monthly", "plan_type": "renewal",
         "description": "Renews every month.", "billing_period": 30, "renewal_price": 9.99},
        {"id": "plan_yearly", "product_id": "prod_pro", "title": "Yearly", "plan_type": "renewal",
         "description": "Two months free.", "billing_period": 365, "renewal_price": 99.9},
        {"id": "plan_weekly", "product_id": "prod_pro", "title": "Weekly", "plan_type": "renewal",
         "description": "The first week is free.", "billing_period": 7, "renewal_price": 3.49, "trial_period_days": 7},
        {"id": "plan_lifetime", "product_id": "prod_pro", "title": "Lifetime", "plan_type": "one_time",
         "description": "Pay once.", "initial_price": 249},
        {"id": "plan_yen", "product_id": "prod_pro", "title": "Monthly in yen", "plan_type": "renewal",
         "billing_period": 30, "renewal_price": 1500, "currency": "jpy"},
        {"id": "plan_hidden", "product_id": "prod_pro", "title": "Friends", "plan_type": "renewal",
         "billing_period": 30, "renewal_price": 4.99, "visibility": "hidden",
         "internal_notes": "For those who have the link."},
        {"id": "plan_desktop", "product_id": "prod_desktop", "title": "License", "plan_type": "one_time",
         "description": "For one year.", "initial_price": 59.5, "currency": "eur", "expiration_days": 365},
        {"id": "plan_free", "product_id": "prod_desktop", "title": "Evaluation", "plan_type": "one_time",
         "description": "Free for two weeks.", "expiration_days": 14}
      ],
      "api_keys": [
        {"key": "sandbox_key", "permissions": ["*"]},
        {"key": "sandbox_iap_key", "permissions": ["iap:read"]},
        {"key": "sandbox_read_key", "permissions": [
          "plan:basic:read", "access_pass:basic:read", "member:basic:read", "checkout_configuration:basic:read",
          "payment:basic:read"]}
      ],
      "users": [
        {"id": "user_owner", "member_id": "mber_owner", "email": "owner@example.com", "username": "owner",
         "name": "Owner", "is_team_member": true}
      ],
      "voidhash": {
        "publishable_keys": ["vh_pk_sandbox"],
        "bundle_ids": {"com.example.app": ["app_store", "google_play"]},
        "perks": {"premium": {"name": "Premium"}},
        "locations": {"onboarding": {"name": "Onboarding"}},
        "products": {
          "pro_monthly": {
            "id": "prod_vh_monthly", "type": "subscription", "duration": "monthly", "name": "Pro, monthly",
            "perks": ["premium"],
            "providers": {
              "appleAppStore": {"productId": "com.example.app.pro.monthly",
                                "offers": [{"id": "welcome_back", "storeOfferId": "com.example.app.back"}]},
              "googlePlay": {"productId": "pro", "basePlanId": "monthly"}}},
          "pro_annual": {
            "id": "prod_vh_annual", "type": "subscription", "duration": "annual", "name": "Pro, annual",
            "perks": ["premium"], "providers": {"appleAppStore": {"productId": "com.example.app.pro.annual"}}},
          "pro_lifetime": {
            "id": "prod_vh_lifetime", "type": "one-time", "name": "Pro, for ever", "perks": ["premium"],
            "providers": {"appleAppStore": {"productId": "com.example.app.pro.lifetime"}}},
          "coins_100": {
            "id": "prod_vh_coins", "type": "one-time-consumable", "name": "100 coins",
            "providers": {"appleAppStore": {"productId": "com.example.app.coins.100"},
                          "googlePlay": {"productId": "coins_100"}}}
        },
        "switches": {"sign_offers": true}
      }
    }
    """
}
