import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

@Suite struct VoidhashConfigurationTests {
  private static let required: [(String, JSON)] = [
    ("kind", "voidhash"), ("publishable_key", "vh_pk_live_1"), ("bundle_id", "com.example.app"),
  ]

  private func read(_ members: [(String, JSON)], isDebug: Bool = false) throws(KassaError) -> VoidhashConfiguration {
    try VoidhashConfiguration(.object(Self.required + members), isDebug: isDebug)
  }

  @Test("Two keys are enough") func defaults() throws {
    let configuration = try read([])
    #expect(configuration.publishableKey == "vh_pk_live_1")
    #expect(configuration.bundleID == "com.example.app")
    #expect(configuration.baseURL == "https://api.voidhash.com")
    #expect(configuration.isService && !configuration.isEmbedded)
    #expect(configuration.sdk == "ios")
    #expect(configuration.environment == .production)
    #expect(configuration.appVersion == nil)
    #expect(configuration.catalogue == nil)
  }

  @Test("Every key is read") func everything() throws {
    let configuration = try read(
      [
        ("base_url", "http://127.0.0.1:8080//"), ("sdk", "react-native"), ("environment", "development"),
        ("app_version", "1.2.3"),
      ], isDebug: true)
    #expect(configuration.baseURL == "http://127.0.0.1:8080")
    #expect(!configuration.isService)
    #expect(configuration.sdk == "react-native")
    #expect(configuration.environment == .development)
    #expect(configuration.appVersion == "1.2.3")
    let embedded = try read([("base_url", "embedded:"), ("catalogue", ["voidhash": [:]])])
    #expect(embedded.isEmbedded && !embedded.isService)
    #expect(embedded.catalogue == ["voidhash": [:]])
  }

  @Test(
    "What is wrong is named with its place",
    arguments: [
      (["kind": "voidhash", "bundle_id": "b"], "backend.publishable_key is missing"),
      (["kind": "voidhash", "publishable_key": "vh_pk_1"], "backend.bundle_id is missing"),
      (["publishable_key": "vh_pk_"], "backend.publishable_key must be a publishable key"),
      (["publishable_key": "vh_pk_a b"], "backend.publishable_key must be a publishable key"),
      (["publishable_key": "vh_pk_a\n"], "backend.publishable_key must be a publishable key"),
      (["bundle_id": ""], "backend.bundle_id must be 1 to 255"),
      (["bundle_id": "a\r\nx-sdk: b"], "backend.bundle_id must be 1 to 255"),
      (["app_version": "1 2"], "backend.app_version must be 1 to 255"),
      (["sdk": "c"], "backend.sdk must be one of"),
      (["environment": "sandbox"], "backend.environment must be one of"),
      (["environment": "development"], #"backend.environment "development" makes purchases without charging"#),
      (["base_url": "http://api.example.com"], "backend.base_url must use https"),
      (["base_url": "https://user@example.com"], "backend.base_url must be an https URL"),
      (["base_url": "https://example.com?a"], "backend.base_url must be an https URL"),
      (["catalogue": [:]], "backend.catalogue must be an object or a file's path, and needs"),
      (["base_url": "embedded:", "catalogue": 5], "backend.catalogue must be an object or a file's path"),
      (["bundel_id": "x"], #"backend.bundel_id is not a known key; did you mean "bundle_id"?"#),
    ] as [(JSON, String)])
  func refused(_ members: JSON, _ message: String) {
    let isWhole = members["kind"] != nil
    let document = JSON.object((isWhole ? [] : Self.required) + members.members)
    let error = #expect(throws: KassaError.self) { try VoidhashConfiguration(document, isDebug: false) }
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
  }

  @Test("A secret key in the wrong place is not repeated") func secretKey() {
    let error = #expect(throws: KassaError.self) {
      try VoidhashConfiguration(["publishable_key": "vh_sk_secret", "bundle_id": "b"], isDebug: false)
    }
    #expect(error?.message.contains("vh_sk_secret") == false)
  }
}
