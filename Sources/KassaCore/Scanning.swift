/// What the parsers of this module share: reading ASCII from the front of a text.
extension Substring.UTF8View {
  /// Removes one character from the front, if it is that one.
  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard let first, UInt32(first) == character.value else { return false }
    removeFirst()
    return true
  }

  /// Removes and gives the ASCII digits at the front.
  mutating func takeDigits() -> Substring.UTF8View {
    let digits = prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    removeFirst(digits.count)
    return digits
  }
}
