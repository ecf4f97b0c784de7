import KassaCore
import KassaPlatform
import Testing

@Suite struct NameUUIDTests {
  private static let dns = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

  @Test(
    "A name's UUID is the one that RFC 9562 and Python's uuid5 give it",
    arguments: [
      ("www.example.com", "2ed6657d-e927-568b-95e1-2665a8aea6a2"),
      ("appaccounttoken.voidhash.com", "3919eb4e-3466-593c-8c1e-84554e13a0a6"),
      ("", "4ebd0208-8328-5d69-8c44-ec50939c0967"),
    ])
  func names(_ name: String, _ uuid: String) throws {
    #expect(try #require(NameUUID(namespace: Self.dns)).uuid(of: name) == uuid)
  }

  @Test("Upper case is the same namespace, and what is no UUID is none") func namespaces() {
    #expect(NameUUID(namespace: Self.dns.uppercased())?.uuid(of: "a") == NameUUID(namespace: Self.dns)?.uuid(of: "a"))
    for text in ["", "6ba7b8109dad11d180b400c04fd430c8", Self.dns + "0", "6ba7b810-9dad-11d1-80b4-00c04fd430cg"] {
      #expect(NameUUID(namespace: text) == nil, "\(text)")
    }
  }

  @Test("Version and variant have their places, the rest stays") func text() {
    #expect(uuidText([UInt8](repeating: 0xFF, count: 16), version: 5) == "ffffffff-ffff-5fff-bfff-ffffffffffff")
    #expect(uuidText([UInt8](repeating: 0, count: 16), version: 4) == "00000000-0000-4000-8000-000000000000")
    #expect(uuidText([UInt8](repeating: 0, count: 15), version: 4) == nil)
  }
}
