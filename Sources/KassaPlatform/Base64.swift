import COpenSSL

public enum Base64 {
  /// Decodes base64url without padding (RFC 4648, section 5); nil for anything else.
  public static func decodeURL(_ text: some StringProtocol) -> [UInt8]? {
    var standard: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x2D: standard.append(0x2B)
      case 0x5F: standard.append(0x2F)
      case 0x2B, 0x2F, 0x3D: return nil
      default: standard.append(byte)
      }
    }
    let padding = (4 - standard.count % 4) % 4
    guard padding < 3, standard.count <= 1 << 24 else { return nil }
    standard += Array(repeating: 0x3D, count: padding)
    var decoded = [UInt8](repeating: 0, count: standard.count / 4 * 3)
    let count = Int(EVP_DecodeBlock(&decoded, standard, Int32(standard.count)))
    guard count >= padding else { return standard.isEmpty ? [] : nil }
    return Array(decoded.prefix(count - padding))
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
