import KassaCore
import KassaJSON
import Testing

@testable import KassaReceipts

@Suite struct StoreTransactionTests {
  private func read(_ changes: [(String, JSON)]) throws -> StoreTransaction {
    try StoreTransaction(applePayload: transaction(changes), proof: "signed text")
  }

  @Test func everyFieldIsRead() throws {
    let found = try read([
      ("revocationDate", JSON(noon + 5)), ("revocationReason", 1), ("revocationPercentage", 50_000),
      ("isUpgraded", true),
      ("offerType", 4), ("offerIdentifier", "win"), ("offerDiscountType", "PAY_UP_FRONT"),
      ("appAccountToken", "7e3fb20b-4cdb-47cc-936d-99d65f608138"), ("transactionReason", "RENEWAL"), ("quantity", 3),
      ("inAppOwnershipType", "FAMILY_SHARED"),
    ])
    #expect(
      found
        == StoreTransaction(
          id: "2000000000000002", originalID: "2000000000000001", platform: .apple,
          productID: "com.example.app.monthly", kind: .subscription, groupID: "21000000", purchasedAt: noon,
          originallyPurchasedAt: noon, expiresAt: noon + 86_400_000, quantity: 3, ownership: .familyShared,
          environment: .production, isRenewal: true, isUpgraded: true,
          revocation: .init(at: noon + 5, reason: "1", percentage: 50_000),
          offer: .init(id: "win", kind: .winBack, paymentMode: .payUpFront),
          price: Money(minorUnits: 999, "EUR"), storefront: "DE",
          appAccountToken: "7e3fb20b-4cdb-47cc-936d-99d65f608138", signedAt: noon, bundleID: "com.example.app",
          proof: "signed text"))
  }

  @Test func whatIsOptionalMayBeMissing() throws {
    let found = try StoreTransaction(
      applePayload: [
        "transactionId": "0", "productId": "p", "type": "Consumable", "purchaseDate": JSON(1_697_679_936_049.7297),
        "environment": "Xcode",
      ], proof: "")
    #expect(found.originalID == "0")
    #expect(found.purchasedAt == 1_697_679_936_049)
    #expect(found.originallyPurchasedAt == found.purchasedAt)
    #expect((found.quantity, found.ownership, found.environment) == (1, .purchased, .xcode))
    #expect(found.offer == nil && found.revocation == nil && found.price == nil && found.signedAt == nil)
  }

  @Test func aSubscriptionEnds() throws {
    let withoutEnd = transaction().members.filter { $0.0 != "expiresDate" }
    let refusal = #expect(throws: Refusal.self) { try StoreTransaction(applePayload: .object(withoutEnd), proof: "") }
    #expect(refusal?.reason == "malformed_transaction")
    #expect(refusal?.message == "payload: expiresDate is missing")
    for type in ["Non-Consumable", "Consumable", "Non-Renewing Subscription"] {
      let payload = JSON.object(withoutEnd).merging([("type", JSON(type))])
      #expect(try StoreTransaction(applePayload: payload, proof: "").expiresAt == nil)
    }
    #expect(try read([("expiresDate", 1_215_648_000_000)]).expiresAt == 1_215_648_000_000)
  }

  @Test func wordsThatAreNotKnownAreLeftOutWhereTheyDecideNothing() throws {
    let found = try read([
      ("offerType", 9), ("offerDiscountType", "BARTER"), ("transactionReason", "GIFT"), ("storefront", "ATLANTIS"),
      ("newMember", [1, 2]),
    ])
    #expect(found.offer == StoreTransaction.Offer(id: nil, kind: nil, paymentMode: nil))
    #expect(found.isRenewal == nil && found.storefront == nil)
  }

  @Test(
    arguments: [
      ("transactionId", .null, "is missing"), ("transactionId", 1, "must be a string (got a number)"),
      ("transactionId", "", "must not be empty"), ("productId", 42, "must be a string (got a number)"),
      ("productId", .null, "is missing"), ("type", "Gift", "must be one of"), ("type", .null, "is missing"),
      ("purchaseDate", .null, "must not be null"), ("purchaseDate", "x", "must be a number of milliseconds"),
      ("expiresDate", true, "must be a number of milliseconds"),
      ("quantity", "1", "must be a whole number (got a string)"),
      ("quantity", 0, "must be 1 or more (got 0)"), ("quantity", -1, "must be 1 or more"),
      ("price", JSON(1.5), "must be a whole number"), ("inAppOwnershipType", "STOLEN", "must be one of"),
      ("environment", "production", "must be one of"), ("isUpgraded", 1, "must be true or false"),
      ("revocationDate", "x", "must be a number"), ("originalTransactionId", 1, "must be a string"),
      ("signedDate", [], "must be a number"), ("expiresDate", .null, "must not be null"),
      ("revocationDate", .null, "must not be null"), ("originalPurchaseDate", .null, "must not be null"),
      ("signedDate", .null, "must not be null"),
      ("purchaseDate", JSON(noon / 1000), "is before the App Store opened in July 2008: in seconds? (got 1796040000)"),
      ("originalPurchaseDate", JSON(noon / 1000), "is before the App Store opened"),
      ("expiresDate", JSON(noon / 1000), "is before the App Store opened"),
      ("revocationDate", JSON(noon / 1000), "is before the App Store opened"),
      ("signedDate", JSON(noon / 1000), "is before the App Store opened"),
      ("expiresDate", JSON(Double(noon) / 1000), "is before the App Store opened"),
      ("expiresDate", 0, "is before the App Store opened"), ("revocationDate", -1, "is before the App Store opened"),
      ("expiresDate", 1_215_647_999_999, "is before the App Store opened"),
    ] as [(String, JSON, String)])
  func whatDecidesMustBeRight(_ key: String, _ value: JSON, _ problem: String) throws {
    let refusal = #expect(throws: Refusal.self) { try read([(key, value)]) }
    #expect(refusal?.reason == "malformed_transaction")
    #expect(refusal?.message.hasPrefix("payload: \(key) \(problem)") == true, "\(refusal?.message ?? "")")
  }
}
