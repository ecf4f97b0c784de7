import KassaCore
import KassaJSON
import KassaPlatform
import KassaReceipts
import Testing

@testable import KassaStores

@Suite struct HostStoreConfigurationTests {
  private func read(_ document: JSON) throws -> HostStoreConfiguration {
    try HostStoreConfiguration(try Fields(document, path: "store"))
  }

  @Test func onlyProductionCountsByDefault() throws {
    let configuration = try read(HostShop.apple)
    #expect(configuration.platform == .known(.apple))
    #expect(configuration.environments == [.production])
    #expect(configuration.bundleID == "com.example.app")
    #expect(configuration.roots.isEmpty)
    #expect(configuration.googleKey == nil)
  }

  @Test func everythingIsRead() throws {
    let authority = try SigningAuthority(at: 1_790_000_000_000)
    let root = Base64.encode(authority.rootDER)
    let configuration = try read(
      HostShop.apple.merging([
        ("app_apple_id", 1_234), ("environments", ["sandbox", "xcode"]), ("roots", [JSON(root)]),
      ]))
    #expect(configuration.appAppleID == 1_234)
    #expect(configuration.environments == [.sandbox, .xcode])
    #expect(configuration.roots.map(\.der) == [authority.rootDER])
    let signer = try #require(GoogleSigner.shared)
    #expect(try read(HostShop.google.merging([("google_public_key", JSON(signer.publicKey))])).googleKey != nil)
  }

  @Test("Only Google's purchases may have nothing that proves them") func provable() throws {
    let signer = try #require(GoogleSigner.shared)
    #expect(try read(HostShop.google).isOnTheHostsWord)
    #expect(try !read(HostShop.google.merging([("google_public_key", JSON(signer.publicKey))])).isOnTheHostsWord)
    #expect(try !read(HostShop.apple).isOnTheHostsWord)
    #expect(try !read(["kind": "host", "platform": "steam"]).isOnTheHostsWord)
  }

  @Test("Other stores are named, so that their purchases can be refused") func otherStores() throws {
    #expect(try read(["kind": "host", "platform": "steam"]).platform == .other("steam"))
  }

  @Test(
    "A wrong configuration is refused with its place",
    arguments: [
      (["kind": "host"], "store.platform is missing"),
      (["platform": 1], "store.platform must be a string"),
      (["platform": "aple"], "store.platform is \"aple\"; did you mean \"apple\"?"),
      (["platform": "Google"], "store.platform is \"Google\"; did you mean \"google\"?"),
      (["platform": "apple"], "store.bundle_id is missing"),
      (["platform": "apple", "bundle_id": ""], "store.bundle_id must be text"),
      (["platform": "apple", "bundle_id": "b", "app_apple_id": 0], "store.app_apple_id must be 1 to"),
      (["platform": "apple", "bundle_id": "b", "app_apple_id": "1"], "store.app_apple_id must be a whole number"),
      (["platform": "apple", "bundle_id": "b", "environments": []], "store.environments must name at least one"),
      (["platform": "apple", "bundle_id": "b", "environments": ["prod"]], "store.environments[0] must be one of"),
      (["platform": "apple", "bundle_id": "b", "environments": "all"], "store.environments must be an array"),
      (["platform": "apple", "bundle_id": "b", "roots": ["-----BEGIN"]], "store.roots[0] must be a certificate"),
      (
        ["platform": "apple", "bundle_id": "b", "roots": ["AQI="]], "store.roots[0] must be a root certificate"
      ),
      (["platform": "apple", "bundle_id": "b", "roots": [""]], "store.roots[0] must be a certificate"),
      (["platform": "apple", "bundle_id": "b", "roots": [1]], "store.roots[0] must be a string"),
      (
        ["platform": "apple", "bundle_id": "b", "roots": .array(Array(repeating: "AQI=", count: 17))],
        "store.roots must have at most 16 elements"
      ),
      (
        ["platform": "google", "bundle_id": "b", "google_public_key": "AQI="],
        "store.google_public_key must be the app's RSA public key"
      ),
      (["platform": "google", "roots": ["AQI="]], "store.roots needs \"platform\":\"apple\""),
      (["platform": "google", "app_apple_id": 1], "store.app_apple_id needs \"platform\":\"apple\""),
      (
        ["platform": "google", "bundle": "b"], "store.bundle is not a known key; did you mean \"bundle_id\"?"
      ),
    ] as [(JSON, String)])
  func wrong(_ document: JSON, _ complaint: String) throws {
    let error = try #require(throws: JSONShapeError.self) { try read(document) }
    #expect(error.description.hasPrefix(complaint), "\(error)")
  }

  @Test func keysOfTheOtherPlatformAreRefused() throws {
    let signer = try #require(GoogleSigner.shared)
    let withKey = ("google_public_key", JSON(signer.publicKey))
    let onApple = try #require(throws: JSONShapeError.self) { try read(HostShop.apple.merging([withKey])) }
    #expect(onApple.description == "store.google_public_key needs \"platform\":\"google\"")
    let nameless = try #require(throws: JSONShapeError.self) {
      try read(JSON.object([("platform", "google"), withKey]))
    }
    #expect(nameless.description.hasPrefix("store.bundle_id is missing"))
  }
}
