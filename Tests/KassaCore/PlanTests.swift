import KassaCore
import KassaJSON
import Testing

@Suite struct PlanTests {
  private func plan(
    type: PlanType = .renewal, period: Int? = 30, currency: String = "usd", initial: String = "5",
    renewal: String = "9.99",
    digits: Int? = nil
  ) throws -> Plan {
    Plan(
      id: "plan_1", productID: "prod_1", title: "Pro", summary: nil, type: type, billingPeriodDays: period,
      trialPeriodDays: 7,
      currency: currency, initialPrice: try #require(Decimal(initial)), renewalPrice: try #require(Decimal(renewal)),
      displayDigits: digits, visibility: "visible", isAvailable: true)
  }

  private func document(_ plan: Plan) -> JSON {
    plan.document { amount, currency, digits in "\(amount.text) \(currency) \(digits.map(String.init) ?? "-")" }
  }

  @Test(
    "A billing period has WhopCheckout's words",
    arguments: [
      (7, "weekly", "Weekly"), (30, "monthly", "Monthly"), (90, "quarterly", "Quarterly"),
      (180, "semi_annual", "Semi-annual"),
      (365, "yearly", "Yearly"), (1, "custom", "Every day"), (14, "custom", "Every 14 days"),
      (31, "custom", "Every 31 days"),
      (360, "custom", "Every 360 days"), (.max, "custom", "Every \(Int.max) days"),
    ])
  func renewalPeriods(days: Int, kind: String, description: String) throws {
    let period = document(try plan(period: days))["renewal_period"]
    #expect(period == ["kind": JSON(kind), "days": JSON(days), "description": JSON(description)])
  }

  @Test("A plan without a period has none") func noPeriod() throws {
    let document = document(try plan(type: .oneTime, period: nil))
    #expect(document["renewal_period"] == .null)
    #expect(document["billing_period_days"] == .null)
    #expect(document["plan_type"] == "one_time")
  }

  @Test(
    "The display price is what the plan costs in the long run",
    arguments: [(PlanType.renewal, "9.99 usd 2"), (.oneTime, "5 usd 2"), (.unknown, "5 usd 2")])
  func displayPrice(type: PlanType, expected: String) throws {
    #expect(document(try plan(type: type, digits: 2))["whop_display_price"]?.string == expected)
  }

  @Test("S039 prices are exact as money, and as near as a number can be") func prices() throws {
    let document = document(try plan(initial: "114.99", renewal: "39.99"))
    #expect(document["initial_price"]?.decimalText == "114.99")
    #expect(
      document["renewal_price_money"]
        == ["amount": "39.99", "amount_micros": 39_990_000, "currency": "USD", "formatted": "39.99 usd -"])
    #expect(document["base_currency"] == "usd")
  }

  @Test(
    "S037 S038 an amount has the digits of its currency",
    arguments: [("jpy", "500"), ("kwd", "500.000"), ("btc", "500")])
  func digits(currency: String, amount: String) throws {
    #expect(document(try plan(currency: currency, initial: "500"))["initial_price_money"]?["amount"]?.string == amount)
  }

  @Test("Every other member is passed on as it is") func members() throws {
    let document = document(try plan())
    #expect(document["id"] == "plan_1")
    #expect(document["product_id"] == "prod_1")
    #expect(document["title"] == "Pro")
    #expect(document["description"] == .null)
    #expect(document["trial_period_days"] == 7)
    #expect(document["visibility"] == "visible")
    #expect(document["available"] == true)
    #expect(document["apple_display_price"] == .null)
  }
}
