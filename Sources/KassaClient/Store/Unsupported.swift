import KassaCore

/// What is known and not supported, and what to do instead. A word that is not here is a mistake (Voidhash, "Make and
/// restore purchases", "Not supported").
enum Unsupported {
  static let storeMethods = [
    "alternative_billing": billing,
    "external_purchase": billing,
    "external_purchase_link": billing,
  ]

  static let purchaseOptions = [
    "add_ons": oneByOne,
    "products": oneByOne,
    "billing_plan": terms,
    "pricing_terms": terms,
    "intro_offer_eligibility":
      "the store decides who may have an introductory offer; to sell without it give {\"offer\":\"none\"}",
    "replacement_mode":
      "buy the other product, and let the store, or its adapter, replace the subscription of the same group",
  ]

  private static let billing =
    "show it with code of your own, and report what the store makes a transaction of with kassa_report_transaction"
  private static let oneByOne = "buy the products one after another, each with its own kassa_purchase"
  private static let terms = "sell each of them as a product of its own"
}
