import CJansson

/// Reads plain JSON in a third of Jansson's time, which goes through its text byte by byte.
///
/// It gives the same values as Jansson or gives up: on escapes, fractions, exponents, numbers of more than 18 digits,
/// repeated keys, deep nesting, and everything that is wrong. Jansson then reads the text from the start, so what is
/// accepted and how an error reads is its word alone.
struct QuickReader {
  private let text: UnsafeRawBufferPointer
  private var position = 0
  private static let maximumDepth = 32

  /// A new reference; nil to have Jansson read the text.
  static func read(_ text: UnsafeRawBufferPointer) -> UnsafeMutablePointer<json_t>? {
    var reader = QuickReader(text: text)
    guard let value = reader.value(depth: 0) else { return nil }
    reader.skipSpace()
    guard reader.position == text.count else {
      json_decref(value)
      return nil
    }
    return value
  }

  private init(text: UnsafeRawBufferPointer) { self.text = text }

  /// The byte here; 0, which is no part of JSON, at the end.
  private var current: UInt8 { position < text.count ? text[position] : 0 }

  private mutating func skipSpace() {
    while current == 0x20 || current == 0x0A || current == 0x0D || current == 0x09 { position += 1 }
  }

  private mutating func skip(_ byte: UInt8) -> Bool {
    skipSpace()
    guard current == byte else { return false }
    position += 1
    return true
  }

  private mutating func value(depth: Int) -> UnsafeMutablePointer<json_t>? {
    skipSpace()
    switch current {
    case UInt8(ascii: "{"): return depth < Self.maximumDepth ? object(depth: depth + 1) : nil
    case UInt8(ascii: "["): return depth < Self.maximumDepth ? array(depth: depth + 1) : nil
    case UInt8(ascii: "\""): return string().flatMap { json_stringn($0.start, $0.count) }
    case UInt8(ascii: "t"): return skip(word: "true") ? json_true() : nil
    case UInt8(ascii: "f"): return skip(word: "false") ? json_false() : nil
    case UInt8(ascii: "n"): return skip(word: "null") ? json_null() : nil
    default: return integer()
    }
  }

  private mutating func skip(word: StaticString) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= text.count else { return false }
    for (index, byte) in UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount).enumerated()
    where text[position + index] != byte {
      return false
    }
    position = end
    return true
  }

  private mutating func object(depth: Int) -> UnsafeMutablePointer<json_t>? {
    position += 1
    guard let object = json_object() else { return nil }
    var count = 0
    if skip(UInt8(ascii: "}")) { return object }
    repeat {
      skipSpace()
      // Jansson takes over what it is given, also when it fails, as for a key that is not UTF-8.
      guard let key = string(), skip(UInt8(ascii: ":")), let value = value(depth: depth),
        json_object_setn_new(object, key.start, key.count, value) == 0
      else { return abandon(object) }
      count += 1
    } while skip(UInt8(ascii: ","))
    guard skip(UInt8(ascii: "}")), json_object_size(object) == count else { return abandon(object) }
    return object
  }

  private mutating func array(depth: Int) -> UnsafeMutablePointer<json_t>? {
    position += 1
    guard let array = json_array() else { return nil }
    if skip(UInt8(ascii: "]")) { return array }
    repeat {
      guard let value = value(depth: depth), json_array_append_new(array, value) == 0 else { return abandon(array) }
    } while skip(UInt8(ascii: ","))
    return skip(UInt8(ascii: "]")) ? array : abandon(array)
  }

  private func abandon(_ value: UnsafeMutablePointer<json_t>) -> UnsafeMutablePointer<json_t>? {
    json_decref(value)
    return nil
  }

  /// A string without escapes, where it lies.
  private mutating func string() -> (start: UnsafePointer<CChar>, count: Int)? {
    guard current == UInt8(ascii: "\""), let base = text.baseAddress else { return nil }
    let start = position + 1
    var end = start
    while end < text.count, text[end] != UInt8(ascii: "\"") {
      guard text[end] >= 0x20, text[end] != UInt8(ascii: "\\") else { return nil }
      end += 1
    }
    guard end < text.count else { return nil }
    position = end + 1
    return (base.advanced(by: start).assumingMemoryBound(to: CChar.self), end - start)
  }

  private mutating func integer() -> UnsafeMutablePointer<json_t>? {
    let isNegative = current == UInt8(ascii: "-")
    if isNegative { position += 1 }
    let start = position
    var number: Int64 = 0
    while UInt8(ascii: "0")...UInt8(ascii: "9") ~= current, position - start < 19 {
      number = number &* 10 &+ Int64(current &- UInt8(ascii: "0"))
      position += 1
    }
    let count = position - start
    guard 1...18 ~= count, text[start] != UInt8(ascii: "0") || count == 1 && !isNegative else { return nil }
    switch current {
    case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): return nil
    default: return json_integer(isNegative ? -number : number)
    }
  }
}
