import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// What Voidhash's page lists as not supported says so, and what to do instead; other words are mistakes.
@Suite struct UnsupportedTests {
  @Test("Sheets that nothing here shows", arguments: ["alternative_billing", "external_purchase_link"])
  func methods(word: String) throws {
    let booth = try Booth()
    let error = try booth.rig.error(of: booth.client.storeCall(word, [:]))
    #expect(error["code"]?.string == "unsupported")
    #expect(error["message"]?.string?.contains("kassa_report_transaction") == true)
    #expect(try booth.rig.error(of: booth.client.storeCall("\(word)s", [:]))["code"]?.string == "invalid_argument")
  }

  @Test(
    "Options that no store is asked for",
    arguments: [
      "billing_plan", "pricing_terms", "intro_offer_eligibility", "products", "add_ons", "replacement_mode",
    ])
  func options(word: String) throws {
    let booth = try Booth()
    let error = try booth.rig.error(of: booth.client.purchase("pro_monthly", [word: "x"]))
    #expect(error["code"]?.string == "unsupported")
    #expect(error["message"]?.string?.contains("options.\(word)") == true)
    let unknown = try booth.rig.error(of: booth.client.purchase("pro_monthly", ["\(word)_": "x"]))
    #expect(unknown["code"]?.string == "invalid_argument")
    #expect(!booth.store.calls.contains { $0.hasPrefix("purchase") })
  }
}
