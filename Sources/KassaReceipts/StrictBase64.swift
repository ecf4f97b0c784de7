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
  static func decode(_ text: some Collection<UInt8>, _ alphabet: Alphabet) -> [UInt8]? {
    let decoded = text.withContiguousStorageIfAvailable { decode(buffer: $0, alphabet) }
    return decoded ?? Array(text).withUnsafeBufferPointer { decode(buffer: $0, alphabet) }
  }

  private static func decode(buffer: UnsafeBufferPointer<UInt8>, _ alphabet: Alphabet) -> [UInt8]? {
    var text = buffer[...]
    if alphabet == .standard {
      guard text.count % 4 == 0 else { return nil }
      for _ in 0..<2 where text.last == UInt8(ascii: "=") { text = text.dropLast() }
      // What is left has 0, 2 or 3 characters over; the padding is what fills them up to four.
      guard buffer.count - text.count == (4 - text.count % 4) % 4 else { return nil }
    }
    let over = text.count % 4
    guard over != 1 else { return nil }
    let values = alphabet == .url ? urlValues : standardValues
    var isClean = true
    let count = text.count / 4 * 3 + max(0, over - 1)
    let decoded = [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
      values.withUnsafeBufferPointer { values in
        var invalid: UInt8 = 0
        var bits: UInt32 = 0
        var held = 0
        for character in text {
          let value = values[Int(character)]
          invalid |= value
          bits = bits << 6 | UInt32(value & 0x3F)
          held += 6
          if held >= 8 {
            held -= 8
            bytes[initialized] = UInt8(truncatingIfNeeded: bits >> UInt32(held))
            initialized += 1
          }
        }
        isClean = invalid & 0x80 == 0 && bits & ((1 << UInt32(held)) - 1) == 0
      }
    }
    return isClean ? decoded : nil
  }

  static func encode(_ bytes: some Collection<UInt8>, _ alphabet: Alphabet) -> [UInt8] {
    let characters = alphabet == .url ? urlCharacters : standardCharacters
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var bits: UInt32 = 0
    var held = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      held += 8
      while held >= 6 {
        held -= 6
        text.append(characters[Int(bits >> UInt32(held) & 0x3F)])
      }
    }
    if held > 0 { text.append(characters[Int(bits << UInt32(6 - held) & 0x3F)]) }
    if alphabet == .standard {
      while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
    }
    return text
  }

  private static let urlCharacters = characters(last: "-_")
  private static let standardCharacters = characters(last: "+/")
  /// The value of each character; 0x80 for those outside the alphabet.
  private static let urlValues = values(of: urlCharacters)
  private static let standardValues = values(of: standardCharacters)

  private static func characters(last: String) -> [UInt8] {
    Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8)
  }

  private static func values(of characters: [UInt8]) -> [UInt8] {
    var values = [UInt8](repeating: 0x80, count: 256)
    for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }
}
