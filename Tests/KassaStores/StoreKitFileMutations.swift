/// Changes to a JSON text that keep it JSON: each value of the text can be retyped, blown up, left out or doubled.
struct StoreKitFileMutations {
  /// A value in the text, with the place that an error message would give it.
  struct Value {
    var path: String
    /// Its bytes, and those of the whole member where it is one, its key included.
    var bytes: Range<Int>
    var member: Range<Int>
    var isMember: Bool
  }

  let text: [UInt8]
  private(set) var values: [Value] = []

  /// The text must be valid JSON.
  init(_ text: [UInt8]) {
    self.text = text
    var scanner = Scanner(text: text)
    scanner.value(path: "", start: nil)
    values = scanner.values
  }

  enum Change: CaseIterable {
    case type, missing, duplicate, huge
  }

  static let otherTypes = [
    "null", "true", "0", "-1", "1.5", #""""#, #""x""#, "[]", "{}", "[null]", #"{"x":[]}"#, "[[]]",
  ]
  static let hugeValues = [
    "9223372036854775807", "-9223372036854775808", "99999999999999999999", "1e308", "1e999",
    "\"\(String(repeating: "9", count: 5000))\"", "\"P\(String(repeating: "9", count: 30))Y\"",
    "\"P9223372036854775807Y\"",
    String(repeating: "[", count: 3000) + String(repeating: "]", count: 3000),
    "[" + Array(repeating: "{}", count: 5000).joined(separator: ",") + "]",
    "\"\(String(repeating: "\\u0000", count: 100))\"", "\"9223372036854775807.99\"", "1000000000000", "-0.0000001",
  ]

  /// A changed copy, and the value that was changed.
  func changed(_ change: Change, using random: inout Seeded) -> (text: [UInt8], value: Value)? {
    // The first value is the whole text.
    guard let value = values.dropFirst().randomElement(using: &random) else { return nil }
    let comma = UInt8(ascii: ",")
    var copy = text
    switch change {
    case .type:
      copy.replaceSubrange(value.bytes, with: Array((Self.otherTypes.randomElement(using: &random) ?? "").utf8))
    case .huge:
      copy.replaceSubrange(value.bytes, with: Array((Self.hugeValues.randomElement(using: &random) ?? "").utf8))
    case .duplicate:
      copy.insert(contentsOf: text[value.member] + [comma], at: value.member.lowerBound)
    case .missing:
      var end = value.member.upperBound
      while end < text.count, text[end] <= 32 { end += 1 }
      if end < text.count, text[end] == comma {
        copy.removeSubrange(value.member.lowerBound...end)
      } else {
        var start = value.member.lowerBound
        while start > 0, text[start - 1] <= 32 { start -= 1 }
        if start > 0, text[start - 1] == comma { start -= 1 }
        copy.removeSubrange(start..<value.member.upperBound)
      }
    }
    return (copy, value)
  }

  /// A copy with up to four bytes replaced, added, taken away or moved.
  func changedBytes(using random: inout Seeded) -> [UInt8] {
    var copy = text
    for _ in 0..<Int.random(in: 1...4, using: &random) where !copy.isEmpty {
      let at = Int.random(in: 0..<copy.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: copy[at] = UInt8.random(in: 0...255, using: &random)
      case 1: copy[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: copy.insert(Array("{}[]\",:0-e\\\0".utf8).randomElement(using: &random) ?? 0, at: at)
      case 3: copy.remove(at: at)
      case 4: copy.removeSubrange(at..<min(copy.count, at + Int.random(in: 1...200, using: &random)))
      default:
        let part = copy[at..<min(copy.count, at + Int.random(in: 1...200, using: &random))]
        copy.insert(contentsOf: part, at: Int.random(in: 0...copy.count, using: &random))
      }
    }
    return copy
  }
}

/// Finds where the values of a valid JSON text are.
private struct Scanner {
  let text: [UInt8]
  var at = 0
  var values: [StoreKitFileMutations.Value] = []

  private mutating func skipSpace() { while at < text.count, text[at] <= 32 || text[at] >= 0x80 { at += 1 } }

  private mutating func string() -> String {
    let start = at
    at += 1
    while text[at] != UInt8(ascii: "\"") { at += text[at] == UInt8(ascii: "\\") ? 2 : 1 }
    at += 1
    return String(decoding: text[(start + 1)..<(at - 1)], as: UTF8.self)
  }

  /// `start` is where the key of a member begins.
  mutating func value(path: String, start: Int?) {
    skipSpace()
    let index = values.count
    let begin = at
    values.append(.init(path: path, bytes: at..<at, member: at..<at, isMember: start != nil))
    switch text[at] {
    case UInt8(ascii: "{"):
      elements(until: UInt8(ascii: "}")) { scanner, _ in
        let key = scanner.at
        let name = scanner.string()
        scanner.skipSpace()
        scanner.at += 1
        scanner.value(path: path.isEmpty ? name : "\(path).\(name)", start: key)
      }
    case UInt8(ascii: "["):
      elements(until: UInt8(ascii: "]")) { scanner, number in scanner.value(path: "\(path)[\(number)]", start: nil) }
    case UInt8(ascii: "\""): _ = string()
    default: while at < text.count, text[at] > 32, !",]}".utf8.contains(text[at]) { at += 1 }
    }
    values[index].bytes = begin..<at
    values[index].member = (start ?? begin)..<at
  }

  private mutating func elements(until end: UInt8, _ body: (inout Scanner, Int) -> Void) {
    at += 1
    var number = 0
    skipSpace()
    while text[at] != end {
      body(&self, number)
      number += 1
      skipSpace()
      if text[at] == UInt8(ascii: ",") { at += 1 }
      skipSpace()
    }
    at += 1
  }
}
