import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

@Suite struct WhopConfigurationTests {
  /// The smallest configuration with other members; null removes one.
  private func backend(_ members: [(String, JSON)]) -> JSON {
    let base: JSON = ["kind": "whop", "company_id": "biz_1", "api_key": "key"]
    return .object(base.merging(members).members.filter { !$0.1.isNull })
  }

  private func configuration(_ key: String, _ value: JSON) throws -> WhopConfiguration {
    try WhopConfiguration(backend([(key, value)]))
  }

  private func complaint(_ members: (String, JSON)...) throws -> String {
    let error = try #require(throws: KassaError.self) { try WhopConfiguration(backend(members)) }
    #expect(error.code == .invalidConfiguration)
    #expect(error.message.hasPrefix("backend"))
    return error.message
  }

  /// The key; nil where the host gives tokens.
  private func credential(_ configuration: WhopConfiguration) -> String? {
    switch configuration.credential {
    case .key(let key): key
    case .host: nil
    }
  }

  @Test("Company and credential are enough") func defaults() throws {
    let configuration = try WhopConfiguration(backend([]))
    #expect(configuration.companyID == "biz_1")
    #expect(configuration.baseURL == "https://api.whop.com")
    #expect(configuration.apiVersionDate == "2026-10-15-1")
    #expect(configuration.productIDs == nil)
    #expect(configuration.catalogue == nil)
    #expect(!configuration.isEmbedded)
    #expect(credential(configuration) == "key")
  }

  @Test("One credential, in one of two forms") func credentials() throws {
    let host = try WhopConfiguration(backend([("api_key", nil), ("access_token", "host")]))
    #expect(credential(host) == nil)
    #expect(try complaint(("api_key", nil)).contains("needs"))
    #expect(try complaint(("access_token", "host")).contains("not both"))
    #expect(
      try complaint(("api_key", nil), ("access_token", "token")).hasPrefix("backend.access_token must be \"host\""))
  }

  @Test(
    "S087 a key that cannot stand in a header is refused, and never quoted",
    arguments: [
      "", " ", "a b", "secret\r\nX: y", "sécret", "secret\0", "secret😀", "\u{7F}secret",
      String(repeating: "secret", count: 1_000),
    ])
  func keys(_ key: String) throws {
    let message = try complaint(("api_key", JSON(key)))
    #expect(message.hasPrefix("backend.api_key "))
    #expect(!message.contains("secret"))
  }

  @Test(
    "S087 company and products are ids with their prefixes",
    arguments: [
      "", "1", "company", "biz_", "prod_", "biz", "prod_a/b", "biz_a/b", "biz_😀", "prod_😀", "biz_a\0", "prod_a\0",
      "biz_" + String(repeating: "x", count: 10_240), "prod_" + String(repeating: "x", count: 10_240), "pass_1",
    ])
  func identifiers(_ id: String) throws {
    #expect(try complaint(("company_id", JSON(id))).hasPrefix("backend.company_id must"))
    #expect(try complaint(("product_ids", ["prod_1", JSON(id)])).hasPrefix("backend.product_ids[1] must"))
  }

  @Test("Members of the wrong kind, and keys that nobody knows") func shape() throws {
    #expect(throws: KassaError.self) { try WhopConfiguration([]) }
    #expect(try complaint(("company_id", nil)) == "backend.company_id is missing")
    #expect(try complaint(("company_id", 5)) == "backend.company_id must be a string (got a number)")
    #expect(try complaint(("product_ids", "prod_1")) == "backend.product_ids must be an array (got a string)")
    #expect(try complaint(("product_ids", [1])) == "backend.product_ids[0] must be a string (got a number)")
    #expect(
      try complaint(("comapny_id", "biz_2")) == #"backend.comapny_id is not a known key; did you mean "company_id"?"#)
  }

  @Test("product_ids limit the products; an empty list limits nothing") func productIDs() throws {
    #expect(try configuration("product_ids", ["prod_1", "prod_2"]).productIDs == ["prod_1", "prod_2"])
    #expect(try configuration("product_ids", []).productIDs == nil)
  }

  @Test(
    "base_url is https, or http on this machine; slashes at its end and the path of the interface are left out",
    arguments: [
      ("https://api.whop.com", "https://api.whop.com"), ("https://api.whop.com/", "https://api.whop.com"),
      ("https://api.whop.com/api/v1/", "https://api.whop.com"),
      ("https://broker.example/kassa//", "https://broker.example/kassa"),
      ("https://broker.example/kassa/api/v1", "https://broker.example/kassa"),
      ("http://localhost:8080", "http://localhost:8080"),
      ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"), ("http://[::1]:8080", "http://[::1]:8080"),
    ])
  func baseURLs(_ url: String, _ expected: String) throws {
    #expect(try configuration("base_url", JSON(url)).baseURL == expected)
  }

  @Test(
    "An address that is not secure, or not an address, is refused",
    arguments: [
      "", "api.whop.com", "http://api.whop.com", "http://127.0.0.1.evil.com", "http://localhost.evil.com",
      "http://127.1",
      "http://0.0.0.0", "ftp://localhost", "file:///etc/passwd", "https://user:secret@api.whop.com",
      "https://api.whop.com?a=b",
      "https://api.whop.com#f", "https://api.whop.com/\0", "https://api.whop.com/\r\n", "embedded", "embedded:x",
      "EMBEDDED:",
      "https://a/" + String(repeating: "x", count: 2_048),
    ])
  func wrongURLs(_ url: String) throws {
    let message = try complaint(("base_url", JSON(url)))
    #expect(message.hasPrefix("backend.base_url must"))
    #expect(message.utf8.count < 400)
  }

  @Test(
    "api_version is a date, with a number where a day had several versions",
    arguments: [
      ("2026-10-15", true), ("2026-10-15-1", true), ("2026-10-15-12", true), ("", false), ("latest", false),
      ("20261015", false),
      ("2026-10", false), ("2026-10-15-", false), ("--20261015", false), ("2026-10-15-1-1", false), ("26-10-15", false),
      ("2026-10-15-1234", false), ("2026-1-15", false), ("2026-10-15\r\n", false), ("٢٠٢٦-10-15", false),
      ("2026/10/15", false),
    ])
  func versions(_ version: String, _ isAllowed: Bool) throws {
    if isAllowed {
      #expect(try configuration("api_version", JSON(version)).apiVersionDate == version)
    } else {
      #expect(try complaint(("api_version", JSON(version))).hasPrefix("backend.api_version must be a date"))
    }
  }

  @Test("A catalogue is an object or a path, for the embedded sandbox only") func catalogue() throws {
    let embedded = backend([("base_url", "embedded:"), ("catalogue", ["plans": []])])
    #expect(try WhopConfiguration(embedded).catalogue == ["plans": []])
    #expect(try WhopConfiguration(embedded).isEmbedded)
    #expect(try WhopConfiguration(backend([("base_url", "embedded:"), ("catalogue", "a.json")])).catalogue == "a.json")
    #expect(try complaint(("catalogue", ["plans": []])).contains("embedded:"))
    #expect(try complaint(("base_url", "embedded:"), ("catalogue", 5)).contains("(got a number)"))
  }

  @Test("Plan mappings are checked, although nothing sells by them yet") func planMappings() throws {
    _ = try configuration("plan_mappings", [["whop_id": "plan_1", "apple_id": "com.app.monthly"]])
    #expect(
      try complaint(("plan_mappings", [["whop_id": "prod_1", "apple_id": "x"]])).hasPrefix(
        "backend.plan_mappings[0].whop_id must"))
    #expect(try complaint(("plan_mappings", [["whop_id": "plan_1"]])) == "backend.plan_mappings[0].apple_id is missing")
    #expect(try complaint(("plan_mappings", [["whop_id": "plan_1", "apple_id": ""]])).hasSuffix("must not be empty"))
    #expect(
      try complaint(("plan_mappings", [["whop_id": "plan_1", "apple_id": "x", "google": "y"]]))
        == "backend.plan_mappings[0].google is not a known key")
  }
}
