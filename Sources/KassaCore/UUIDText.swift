/// A UUID in lower case of 16 bytes, most of which stay as they are: version and variant have places of their own
/// (RFC 9562, section 4). Nil for any other number of bytes.
public func uuidText(_ bytes: some Collection<UInt8>, version: UInt8) -> String? {
  var bytes = Array(bytes)
  guard bytes.count == 16 else { return nil }
  bytes[6] = bytes[6] & 0x0F | version << 4
  bytes[8] = bytes[8] & 0x3F | 0x80
  func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
  var text: [UInt8] = []
  text.reserveCapacity(36)
  for (index, byte) in bytes.enumerated() {
    if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
    text.append(digit(byte >> 4))
    text.append(digit(byte & 15))
  }
  return String(decoding: text, as: UTF8.self)
}

/// The 16 bytes of a UUID; nil for what is no UUID.
public func uuidBytes(_ text: String) -> [UInt8]? {
  let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
  guard parts.map(\.count) == [8, 4, 4, 4, 12] else { return nil }
  let digits = parts.joined().compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
  guard digits.count == 32 else { return nil }
  return (0..<16).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] }
}
