import KassaCore
import Testing

@Suite struct URLTextTests {
  @Test(
    "Everything but the unreserved characters is escaped",
    arguments: [
      ("", ""), ("AZaz09-._~", "AZaz09-._~"), ("a b", "a%20b"), ("a/b?c#d", "a%2Fb%3Fc%23d"), ("%2F", "%252F"),
      ("+&=", "%2B%26%3D"), ("..", ".."), ("é", "%C3%A9"), ("e\u{301}", "e%CC%81"), ("😀", "%F0%9F%98%80"),
      ("\0\n", "%00%0A"),
      ("[]", "%5B%5D"),
    ])
  func escaping(_ text: String, _ escaped: String) {
    #expect(URLText.escape(text) == escaped)
    #expect(URLText.unescape(escaped).utf8.elementsEqual(text.utf8))
  }

  @Test(
    "What is no escape stays as it is, and + is a space",
    arguments: [
      ("a+b", "a b"), ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%2", "%2"), ("100%25", "100%"), ("%c3%A9", "é"),
      ("%%41", "%A"),
      ("%FF", "\u{FFFD}"), ("%ED%A0%80", "\u{FFFD}\u{FFFD}\u{FFFD}"),
    ])
  func unescaping(_ text: String, _ expected: String) {
    #expect(URLText.unescape(text) == expected)
  }

  @Test("Any text survives escaping, byte for byte", arguments: 0..<10 as Range<UInt64>)
  func roundTrip(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<100 {
      let scalars = (0..<20).compactMap { _ in Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random)) }
      let text = String(String.UnicodeScalarView(scalars))
      #expect(URLText.unescape(URLText.escape(text)).utf8.elementsEqual(text.utf8))
      let items = URLText.queryItems(of: "https://a/?" + URLText.query([("k", text), (text, "v")]))
      #expect(items.count == 2)
      #expect(items.first?.value.utf8.elementsEqual(text.utf8) ?? false)
      #expect(items.last?.name.utf8.elementsEqual(text.utf8) ?? false)
    }
  }

  @Test(
    "The items of a query come in their order, up to the fragment",
    arguments: [
      ("https://a/b", []), ("https://a/b?", []), ("https://a/?x=1", ["x=1"]),
      ("https://a/?x=1&y=&z&=w", ["x=1", "y=", "z=", "=w"]),
      ("https://a/?x=1&&x=2", ["x=1", "x=2"]), ("https://a/?x=a%26b=c", ["x=a&b=c"]), ("https://a/?x=1#y?z=2", ["x=1"]),
      ("https://a/#?x=1", []), ("app://back?x=a?b", ["x=a?b"]), ("", []), ("?a+b=c+d", ["a b=c d"]),
    ] as [(String, [String])])
  func queryItems(_ url: String, _ expected: [String]) {
    #expect(URLText.queryItems(of: url).map { "\($0.name)=\($0.value)" } == expected)
  }

  private func origin(_ url: String) -> String? {
    URLText.Origin(url).map { "\($0.scheme) \($0.host) \($0.port.map(String.init) ?? "-") \($0.path)" }
  }

  @Test(
    "An address is taken apart",
    arguments: [
      ("https://api.whop.com", "https api.whop.com - "),
      ("HTTPS://API.Whop.COM:8443/v1/", "https api.whop.com 8443 /v1/"),
      ("http://127.0.0.1:80", "http 127.0.0.1 80 "), ("http://[::1]:8080/x", "http [::1] 8080 /x"),
      ("http://[::1]", "http [::1] - "),
      ("https://a:/x", "https a - /x"), ("https://a?q", "https a - ?q"), ("https://a#f", "https a - #f"),
      ("https://bücher.example/", "https bücher.example - /"), ("https://a/@b", "https a - /@b"),
      ("https://a:1", "https a 1 "),
      ("https://a:65535", "https a 65535 "),
    ])
  func origins(_ url: String, _ expected: String) {
    #expect(origin(url) == expected)
  }

  @Test(
    "What is no plain address, or hides where it leads, is refused",
    arguments: [
      "", "https", "https:", "https:/a", "//a", "api.whop.com", "https://", "https:///x", "https://?q",
      "https://user@a",
      "https://user:key@a/", "https://127.0.0.1:80@evil.com", "https://whop.com\\@evil.com", "https://a b",
      "https://a\n", "https://a\0",
      "https://a/\u{7F}", "https://a:0", "https://a:65536", "https://a:+80", "https://a:-1", "https://a:8o",
      "https://a:1:2",
      "https://:80", "https://[::1", "https://[::1]x", "https://::1/", "https://a:99999999999999999999",
    ])
  func refused(_ url: String) {
    #expect(origin(url) == nil)
  }

  @Test(
    "Loopback is this machine itself, and nothing that only begins like it",
    arguments: [
      ("localhost", true), ("LOCALHOST", true), ("127.0.0.1", true), ("127.255.255.254", true), ("[::1]", true),
      ("127.0.0.1.evil.com", false), ("localhost.evil.com", false), ("evil-localhost", false), ("128.0.0.1", false),
      ("127.0.0", false),
      ("127.1", false), ("127.0.0.256", false), ("127.0.0.+1", false), ("127.-0.0.1", false), ("127.0.0.1.", false),
      ("127..0.1", false),
      ("0.0.0.0", false), ("10.0.0.1", false), ("[::]", false), ("[::ffff:127.0.0.1]", false), ("2130706433", false),
      ("localhost.", false),
    ])
  func loopback(_ host: String, _ expected: Bool) throws {
    #expect(try #require(URLText.Origin("http://\(host)/")).isLoopback == expected)
  }
}
