import CJansson
import Glibc

/// Why a text is not JSON, and where.
public struct JSONSyntaxError: Error, Equatable {
  public let message: String
  public let line: Int
  public let column: Int
}

extension JSON {
  /// The largest text that is parsed. Whoever reads from a network stops earlier.
  public static let maximumBytes = 64 << 20

  /// Parses a whole text. Refused, with the place: invalid UTF-8, a repeated key, more than 2,048 levels, integers
  /// beyond 64 bits, and anything after the value. A byte order mark at the start is skipped.
  public static func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) -> JSON {
    guard bytes.count <= maximumBytes else {
      throw JSONSyntaxError(message: "text of \(bytes.count) bytes is longer than \(maximumBytes)", line: 0, column: 0)
    }
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = bytes.starts(with: mark) ? UnsafeRawBufferPointer(rebasing: bytes.dropFirst(mark.count)) : bytes
    var error = json_error_t()
    let flags = Int(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL)
    let start = text.baseAddress?.assumingMemoryBound(to: CChar.self)
    guard let start, let value = json_loadb(start, text.count, flags, &error) else {
      guard start != nil else { throw JSONSyntaxError(message: "the text is empty", line: 0, column: 0) }
      let message = withUnsafeBytes(of: &error.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      throw JSONSyntaxError(message: message, line: Int(error.line), column: Int(error.column))
    }
    defer { json_decref(value) }
    // Jansson takes a NUL behind the value for the end, whatever follows.
    guard memchr(start, 0, text.count) == nil else {
      throw JSONSyntaxError(message: "a NUL byte after the value", line: 0, column: 0)
    }
    return JSON(viewing: value) ?? .null
  }

  public static func parse(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSON {
    let result: Result<JSON, JSONSyntaxError> = bytes.withUnsafeBytes { buffer in
      do throws(JSONSyntaxError) { return .success(try parse(buffer)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  public static func parse(_ text: String) throws(JSONSyntaxError) -> JSON { try parse(Array(text.utf8)) }

  /// Compact text; the keys in their order, or sorted so that equal documents have equal text.
  public func text(sortingKeys: Bool = false) -> String {
    guard let text = cText(sortingKeys: sortingKeys) else { return "null" }
    defer { free(text) }
    return String(cString: text)
  }

  public func bytes() -> [UInt8] {
    guard let text = cText() else { return Array("null".utf8) }
    defer { free(text) }
    return Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }

  /// The compact text as C memory that `free` releases.
  public func cText(sortingKeys: Bool = false) -> UnsafeMutablePointer<CChar>? {
    // Jansson's own 17 digits would write 9.99 as 9.9900000000000002. Prices have fewer than 15 digits, and there is no
    // other fraction in a document.
    let realPrecision = 15 << 11
    let flags = Int(JSON_COMPACT | JSON_ENCODE_ANY) | realPrecision | (sortingKeys ? Int(JSON_SORT_KEYS) : 0)
    return withPointer { json_dumps($0, flags) }
  }

  /// Lends the tree for reading.
  public func withPointer<Result>(_ body: (UnsafeMutablePointer<json_t>?) -> Result) -> Result {
    let tree = copyReference()
    defer { json_decref(tree) }
    return body(tree)
  }
}
