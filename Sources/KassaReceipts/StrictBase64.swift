/// Base64 in its one canonical form: every text that is accepted is the only text for its bytes.
///
/// Lenient readers skip spaces, take missing or extra padding and ignore the last unused bits; then one signed text has
/// many spellings, and two readers may disagree on what was signed.
enum StrictBase64 {
  enum Alphabet {
    /// RFC 4648, section 5, without padding: the parts of a JWS (RFC 7515, section 2).
    case url
    /// RFC 4648, section 4, padded: certificates in `x5c` (RFC 7515, section 4.1.6).
    case standard
  }

  /// nil for anything but the canonical text.
  static func decode(_ text: UnsafeRawBufferPointer, _ alphabet: Alphabet) -> [UInt8]? {
    var end = text.count
    if alphabet == .standard {
      guard text.count % 4 == 0 else { return nil }
      while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
    }
    // What is over after groups of four is 0, 2 or 3 characters; padding is what fills them up.
    let whole = end / 4, over = end % 4
    guard over != 1, alphabet == .url || text.count - end == (4 - over) % 4 else { return nil }
    let values = alphabet == .url ? urlValues : standardValues
    var isCanonical = true
    let decoded = [UInt8](unsafeUninitializedCapacity: whole * 3 + max(0, over - 1)) { bytes, count in
      values.withUnsafeBufferPointer { values in
        var seen: UInt64 = 0
        func value(_ position: Int) -> UInt64 { values[Int(text[position])] }
        for group in 0..<whole {
          let (from, to) = (4 &* group, 3 &* group)
          let bits = value(from) << 18 | value(from &+ 1) << 12 | value(from &+ 2) << 6 | value(from &+ 3)
          seen |= bits
          bytes[to] = UInt8(truncatingIfNeeded: bits >> 16)
          bytes[to &+ 1] = UInt8(truncatingIfNeeded: bits >> 8)
          bytes[to &+ 2] = UInt8(truncatingIfNeeded: bits)
        }
        count = 3 * whole
        if over >= 2 {
          let from = 4 * whole
          let bits = value(from) << 18 | value(from + 1) << 12 | (over == 3 ? value(from + 2) << 6 : 0)
          seen |= bits
          for byte in 1..<over {
            bytes[count] = UInt8(truncatingIfNeeded: bits >> UInt64(24 - 8 * byte))
            count += 1
          }
          isCanonical = bits & (over == 2 ? 0xFFFF : 0xFF) == 0
        }
        isCanonical = isCanonical && seen < outsideAlphabet
      }
    }
    return isCanonical ? decoded : nil
  }

  static func decode(_ text: String, _ alphabet: Alphabet) -> [UInt8]? {
    Array(text.utf8).withUnsafeBytes { decode($0, alphabet) }
  }

  /// In place of the value of what is no character of the alphabet: more than four values together, wherever it stands.
  private static let outsideAlphabet: UInt64 = 1 << 32
  /// The value of each character.
  private static let urlValues = values(of: characters(last: "-_"))
  private static let standardValues = values(of: characters(last: "+/"))

  private static func characters(last: String) -> [UInt8] {
    Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8)
  }

  private static func values(of characters: [UInt8]) -> [UInt64] {
    var values = [UInt64](repeating: outsideAlphabet, count: 256)
    for (value, character) in characters.enumerated() { values[Int(character)] = UInt64(value) }
    return values
  }
}
