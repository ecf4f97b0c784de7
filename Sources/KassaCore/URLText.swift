/// The pure part of handling URLs: what must work before libcurl is loaded.
public enum URLText {
  /// Percent-encodes everything but the unreserved characters (RFC 3986, section 2.3).
  public static func escape(_ text: String) -> String {
    var escaped = ""
    escaped.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if byte.isASCIILetter || byte.isASCIIDigit || byte == 0x2D || byte == 0x2E || byte == 0x5F || byte == 0x7E {
        escaped.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        escaped += "%" + hex(byte >> 4) + hex(byte & 15)
      }
    }
    return escaped
  }

  private static func hex(_ digit: UInt8) -> String { String(digit, radix: 16, uppercase: true) }

  /// `name=value&...`, escaped.
  public static func query(_ items: [(String, String)]) -> String {
    items.map { "\(escape($0.0))=\(escape($0.1))" }.joined(separator: "&")
  }

  /// The text with its percent escapes, and `+` for space, undone; bytes that are no UTF-8 become U+FFFD.
  public static func unescape(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    var rest = Substring(text).utf8[...]
    while let byte = rest.popFirst() {
      let pair = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      if byte == 0x25, pair.count == 2, let high = pair.first, let low = pair.last {
        bytes.append(UInt8(high * 16 + low))
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == 0x2B ? 0x20 : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The items of a URL's query, unescaped, in their order.
  public static func queryItems(of url: String) -> [(name: String, value: String)] {
    let withoutFragment = url.prefix { $0 != "#" }
    guard let mark = withoutFragment.firstIndex(of: "?") else { return [] }
    return withoutFragment[mark...].dropFirst().split(separator: "&").map { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (unescape(parts.first ?? ""), unescape(parts.count > 1 ? parts[1] : ""))
    }
  }

  /// `scheme://host[:port][/path]` taken apart; nil for anything else, such as one with a user name in it.
  public struct Origin: Sendable, Equatable {
    public var scheme: String
    public var host: String
    public var port: Int?
    public var path: String

    public init?(_ url: String) {
      guard let colon = url.range(of: "://") else { return nil }
      scheme = url[..<colon.lowerBound].lowercased()
      let rest = url[colon.upperBound...]
      let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
      path = String(rest[authority.endIndex...])
      guard !authority.isEmpty, !authority.contains("@"), !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
      else { return nil }
      var host = Substring(authority), port = Substring("")
      if authority.hasPrefix("[") {
        guard let end = authority.firstIndex(of: "]") else { return nil }
        host = authority[...end]
        port = authority[authority.index(after: end)...]
        guard port.isEmpty || port.hasPrefix(":") else { return nil }
        port = port.dropFirst()
      } else if let mark = authority.firstIndex(of: ":") {
        host = authority[..<mark]
        port = authority[authority.index(after: mark)...]
      }
      self.host = host.lowercased()
      if !port.isEmpty {
        guard port.utf8.allSatisfy(\.isASCIIDigit), let number = Int(port), (1...65_535).contains(number)
        else { return nil }
        self.port = number
      }
      guard !self.host.isEmpty else { return nil }
    }

    /// This machine itself, whatever a name server says: 127.0.0.0/8, ::1 and `localhost`.
    public var isLoopback: Bool {
      if host == "localhost" || host == "[::1]" { return true }
      let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map {
        $0.utf8.allSatisfy(\.isASCIIDigit) ? UInt8($0) : nil
      }
      return numbers.count == 4 && !numbers.contains(nil) && numbers.first == 127
    }
  }
}

extension String {
  fileprivate func range(of word: String) -> Range<String.Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(word) { return start..<index(start, offsetBy: word.count) }
      start = index(after: start)
    }
    return nil
  }
}
