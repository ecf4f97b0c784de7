import COpenSSL

/// Base64, of which only the canonical form is read: every text that is accepted is the only text for its bytes.
///
/// Lenient readers skip spaces, take missing or extra padding and ignore the last unused bits; then one signed text has
/// many spellings, and two readers may disagree on what was signed. libcrypto reads so, and only one of the alphabets,
/// so the reading is our own; it writes.
public enum Base64 {
  public enum Alphabet {
    /// RFC 4648, section 5, without padding: the parts of a JWS (RFC 7515, section 2).
    case url
    /// RFC 4648, section 4, padded: certificates in `x5c` (RFC 7515, section 4.1.6).
    case standard
  }

  /// Encodes with padding (RFC 4648, section 4).
  public static func encode(_ bytes: [UInt8]) -> String { String(decoding: encoded(bytes), as: UTF8.self) }

  /// Encodes as base64url without padding.
  public static func encodeURL(_ bytes: [UInt8]) -> String {
    var text = encoded(bytes)
    while text.last == 0x3D { text.removeLast() }
    for index in text.indices {
      if text[index] == 0x2B { text[index] = 0x2D } else if text[index] == 0x2F { text[index] = 0x5F }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func encoded(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count <= 1 << 24 else { return [] }
    // libcrypto writes a NUL behind it.
    return [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text, count in
      count = max(0, Int(EVP_EncodeBlock(text.baseAddress, bytes, Int32(bytes.count))))
    }
  }
}

// MARK: - Decoding

extension Base64 {
  /// nil for anything but the canonical text.
  public static func decode(_ text: String, _ alphabet: Alphabet) -> [UInt8]? {
    Array(text.utf8).withUnsafeBytes { text in
      var isCanonical = true
      let bytes = [UInt8](unsafeUninitializedCapacity: room(for: text)) { bytes, count in
        let decoded = decode(text, alphabet, into: UnsafeMutableRawBufferPointer(bytes))
        isCanonical = decoded != nil
        count = decoded ?? 0
      }
      return isCanonical ? bytes : nil
    }
  }

  /// How many bytes `decode` may write, which are a few more than it answers.
  public static func room(for text: UnsafeRawBufferPointer) -> Int { text.count / 4 * 3 + 3 }

  /// Writes the decoded bytes, for which there must be room, and answers how many they are.
  public static func decode(
    _ text: UnsafeRawBufferPointer, _ alphabet: Alphabet, into bytes: UnsafeMutableRawBufferPointer
  ) -> Int? {
    var end = text.count
    if alphabet == .standard {
      guard text.count % 4 == 0 else { return nil }
      while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
    }
    // What is over after groups of four is 0, 2 or 3 characters; padding is what fills them up.
    let whole = end / 4, over = end % 4
    guard over != 1, alphabet == .url || text.count - end == (4 - over) % 4 else { return nil }
    return (alphabet == .url ? urlValues : standardValues).withUnsafeBufferPointer { values in
      var seen: UInt64 = 0
      func value(_ position: Int) -> UInt64 { values[Int(text[position])] }
      for group in 0..<whole {
        let from = 4 &* group
        let bits = value(from) << 18 | value(from &+ 1) << 12 | value(from &+ 2) << 6 | value(from &+ 3)
        seen |= bits
        // The fourth byte is where the next group begins.
        let written = UInt32(truncatingIfNeeded: bits << 8).bigEndian
        bytes.storeBytes(of: written, toByteOffset: 3 &* group, as: UInt32.self)
      }
      var count = 3 * whole
      if over >= 2 {
        let from = 4 * whole
        let bits = value(from) << 18 | value(from + 1) << 12 | (over == 3 ? value(from + 2) << 6 : 0)
        seen |= bits
        guard bits & (over == 2 ? 0xFFFF : 0xFF) == 0 else { return nil }
        for byte in 1..<over {
          bytes[count] = UInt8(truncatingIfNeeded: bits >> UInt64(24 - 8 * byte))
          count += 1
        }
      }
      return seen < outsideAlphabet ? count : nil
    }
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
