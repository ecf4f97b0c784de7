import CCurl

enum HTTPDate {
  /// Milliseconds since 1970 UTC. libcurl reads many more forms than HTTP has, so the form is checked first.
  static func milliseconds(_ text: String, _ curl: kassa_curl) -> Int64? {
    guard hasForm(text) else { return nil }
    let seconds = Int64(curl.getdate(text, nil))
    return seconds < 0 ? nil : seconds.multiplied(by: 1_000)
  }

  /// The three forms of RFC 9110, section 5.6.7, with `a` for a letter and `0` for a digit.
  static func hasForm(_ text: String) -> Bool {
    let shape = String(
      decoding: text.utf8.map { byte -> UInt8 in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt8(ascii: "a")
        default: byte
        }
      }, as: UTF8.self)
    switch shape {
    case "aaa, 00 aaa 0000 00:00:00 aaa": return text.hasSuffix(" GMT")
    case "aaa aaa 00 00:00:00 0000", "aaa aaa  0 00:00:00 0000": return true
    default:
      return text.hasSuffix(" GMT") && 6...9 ~= shape.prefix { $0 == "a" }.count
        && shape.drop { $0 == "a" } == ", 00-aaa-00 00:00:00 aaa"
    }
  }
}
