import CJansson
import Glibc

/// A JSON value that nobody changes any more: a view of one Jansson tree, of which it holds a reference.
///
/// Values are built whole (literals, `object`, `array`) or parsed, and read-only from then on; Jansson counts
/// references atomically, so a value may be used from any thread.
public struct JSON: @unchecked Sendable {
  private final class Reference {
    let value: UnsafeMutablePointer<json_t>
    init(_ value: UnsafeMutablePointer<json_t>) { self.value = value }
    deinit { json_decref(value) }
  }

  private let reference: Reference?

  /// Takes over one reference. Jansson answers NULL when memory is short or text is not UTF-8; that reads as null.
  init(taking value: UnsafeMutablePointer<json_t>?) { reference = value.map(Reference.init) }

  /// A view of somebody else's value, which must not change while the view lives.
  public init?(viewing value: UnsafePointer<json_t>?) {
    guard let value else { return nil }
    self.init(taking: json_incref(UnsafeMutablePointer(mutating: value)))
  }

  /// A private copy of a document that a host passed in and may change later.
  public init?(copying value: UnsafePointer<json_t>?) {
    guard let value, let copy = json_deep_copy(value) else { return nil }
    self.init(taking: copy)
  }

  /// The tree itself, for whoever built all of it and drops this view: then it belongs to the caller alone. Constants
  /// such as `true` are Jansson's own and shared by all.
  public func handOver() -> UnsafeMutablePointer<json_t>? { owned() }

  private var value: UnsafeMutablePointer<json_t>? { reference?.value }
  private var type: json_type { value?.pointee.type ?? JSON_NULL }

  /// A new tree that shares nothing with this one and belongs to the caller.
  public func copy() -> UnsafeMutablePointer<json_t>? {
    guard let value else { return json_null() }
    return json_deep_copy(value)
  }
}

// MARK: - Building

extension JSON {
  public static let null = JSON(taking: nil)

  public init(_ text: String) { self.init(taking: Self.newString(text)) }
  public init(_ number: Int64) { self.init(taking: json_integer(number)) }
  public init(_ number: Int) { self.init(Int64(number)) }
  public init(_ number: Double) { self.init(taking: json_real(number)) }
  public init(_ flag: Bool) { self.init(taking: flag ? json_true() : json_false()) }

  public init(_ text: String?) { self = text.map { JSON($0) } ?? .null }
  public init(_ number: Int64?) { self = number.map { JSON($0) } ?? .null }
  public init(_ number: Int?) { self = number.map { JSON($0) } ?? .null }
  public init(_ flag: Bool?) { self = flag.map { JSON($0) } ?? .null }

  public static func array(_ elements: some Sequence<JSON>) -> JSON {
    let array = json_array()
    for element in elements { json_array_append_new(array, element.owned()) }
    return JSON(taking: array)
  }

  /// An object whose keys keep this order; of two equal keys the later one wins. A Swift string is UTF-8.
  public static func object(_ members: some Sequence<(String, JSON)>) -> JSON {
    let object = json_object()
    for (key, element) in members {
      var key = key
      key.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          _ = json_object_setn_new_nocheck(object, $0.baseAddress, $0.count, element.owned())
        }
      }
    }
    return JSON(taking: object)
  }

  /// This object with some members replaced or added.
  public func merging(_ members: [(String, JSON)]) -> JSON { .object(self.members + members) }

  /// A Swift string is UTF-8: Jansson need not look.
  static func newString(_ text: String) -> UnsafeMutablePointer<json_t>? {
    var text = text
    return text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { json_stringn_nocheck($0.baseAddress, $0.count) }
    }
  }

  private func owned() -> UnsafeMutablePointer<json_t>? { value.map { json_incref($0) } ?? json_null() }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self.init(value) }
  public init(integerLiteral value: Int64) { self.init(value) }
  public init(booleanLiteral value: Bool) { self.init(value) }
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements) }
  public init(nilLiteral: ()) { self = .null }
}

// MARK: - Reading

extension JSON {
  public var isNull: Bool { type == JSON_NULL }
  public var isObject: Bool { type == JSON_OBJECT }
  public var isArray: Bool { type == JSON_ARRAY }
  public var isString: Bool { type == JSON_STRING }

  public var string: String? { Self.string(value) }

  /// A whole number, also when it was written with a fraction of zero (`30.0`).
  public var integer: Int64? { Self.integer(value) }

  /// A number as the shortest decimal text that reads back as the same number: `9.99`, not `9.9900000000000002`.
  public var decimalText: String? {
    switch type {
    case JSON_INTEGER: String(json_integer_value(value))
    case JSON_REAL: String(json_real_value(value))
    default: nil
    }
  }

  public var double: Double? {
    type == JSON_INTEGER || type == JSON_REAL ? json_number_value(value) : nil
  }

  public var bool: Bool? { Self.bool(value) }

  /// The member of that name; nil if there is none or this is no object. A null member is `.null`.
  public subscript(key: String) -> JSON? {
    withMember(key) { JSON(viewing: $0) }
  }

  /// The elements of an array; empty for anything else.
  public var elements: [JSON] {
    guard type == JSON_ARRAY else { return [] }
    return (0..<json_array_size(value)).compactMap { JSON(viewing: json_array_get(value, $0)) }
  }

  /// The members of an object in their order; empty for anything else.
  public var members: [(String, JSON)] {
    guard type == JSON_OBJECT else { return [] }
    var members: [(String, JSON)] = []
    members.reserveCapacity(json_object_size(value))
    var iterator = json_object_iter(value)
    while let current = iterator {
      if let key = json_object_iter_key(current), let element = JSON(viewing: json_object_iter_value(current)) {
        let bytes = UnsafeBufferPointer(start: key, count: json_object_iter_key_len(current))
        members.append(
          (bytes.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }, element))
      }
      iterator = json_object_iter_next(value, current)
    }
    return members
  }

  /// What kind of value this is, in words for an error message.
  public var kind: String {
    switch type {
    case JSON_OBJECT: "an object"
    case JSON_ARRAY: "an array"
    case JSON_STRING: "a string"
    case JSON_INTEGER, JSON_REAL: "a number"
    case JSON_TRUE, JSON_FALSE: "a boolean"
    default: "null"
    }
  }
}

// MARK: - Reading without taking references

extension JSON {
  /// Lends the member of that name; NULL if there is none or this is no object.
  func withMember<Result>(_ key: String, _ body: (UnsafeMutablePointer<json_t>?) -> Result) -> Result {
    guard type == JSON_OBJECT else { return body(nil) }
    var key = key
    return key.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { body(json_object_getn(value, $0.baseAddress, $0.count)) }
    }
  }

  static func string(_ value: UnsafeMutablePointer<json_t>?) -> String? {
    stringBytes(value).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The bytes of a string where they lie; nil for anything else.
  static func stringBytes(_ value: UnsafeMutablePointer<json_t>?) -> UnsafeRawBufferPointer? {
    guard let value, value.pointee.type == JSON_STRING, let text = json_string_value(value) else { return nil }
    return UnsafeRawBufferPointer(start: text, count: json_string_length(value))
  }

  static func integer(_ value: UnsafeMutablePointer<json_t>?) -> Int64? {
    switch value?.pointee.type {
    case JSON_INTEGER: json_integer_value(value)
    case JSON_REAL: Int64(exactly: json_real_value(value))
    default: nil
    }
  }

  /// The elements of an array of strings; nil if another kind of value is among them.
  static func strings(_ value: UnsafeMutablePointer<json_t>?) -> [String]? {
    guard let value, value.pointee.type == JSON_ARRAY else { return nil }
    let count = json_array_size(value)
    var strings: [String] = []
    strings.reserveCapacity(count)
    for index in 0..<count {
      guard let string = string(json_array_get(value, index)) else { return nil }
      strings.append(string)
    }
    return strings
  }

  static func bool(_ value: UnsafeMutablePointer<json_t>?) -> Bool? {
    switch value?.pointee.type {
    case JSON_TRUE: true
    case JSON_FALSE: false
    default: nil
    }
  }

  /// The names of an object's members in their order.
  var keys: [String] {
    guard type == JSON_OBJECT else { return [] }
    var keys: [String] = []
    var iterator = json_object_iter(value)
    while let current = iterator, let key = json_object_iter_key(current) {
      let bytes = UnsafeBufferPointer(start: key, count: json_object_iter_key_len(current))
      keys.append(bytes.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) })
      iterator = json_object_iter_next(value, current)
    }
    return keys
  }
}

extension JSON {
  /// Whether every member has one of these names.
  func hasOnly(_ names: [String]) -> Bool {
    guard type == JSON_OBJECT else { return true }
    var iterator = json_object_iter(value)
    while let current = iterator, let key = json_object_iter_key(current) {
      let count = json_object_iter_key_len(current)
      guard names.contains(where: { $0.isUTF8(key, count) }) else { return false }
      iterator = json_object_iter_next(value, current)
    }
    return true
  }
}

extension String {
  fileprivate func isUTF8(_ start: UnsafePointer<CChar>, _ count: Int) -> Bool {
    guard utf8.count == count else { return false }
    var text = self
    return text.withUTF8 { bytes in bytes.baseAddress.map { memcmp($0, start, count) == 0 } ?? true }
  }
}

extension JSON {
  /// Whether this object has the members of another and one more, of that name.
  public func equals(_ other: JSON, butFor key: String) -> Bool {
    guard type == JSON_OBJECT, json_object_size(value) == json_object_size(other.value) + 1,
      withMember(key, { $0 != nil }), other.withMember(key, { $0 == nil })
    else { return false }
    var iterator = json_object_iter(other.value)
    while let current = iterator {
      let own = json_object_getn(value, json_object_iter_key(current), json_object_iter_key_len(current))
      guard json_equal(own, json_object_iter_value(current)) == 1 else { return false }
      iterator = json_object_iter_next(other.value, current)
    }
    return true
  }

  /// Shares nothing with this object, of which it has every member but one.
  public func deepCopy(without key: String) -> JSON {
    JSON(taking: JSON.object(members.filter { $0.0 != key }).copy())
  }
}

extension JSON: Equatable {
  public static func == (left: JSON, right: JSON) -> Bool {
    if left.isNull || right.isNull { return left.isNull && right.isNull }
    return json_equal(left.value, right.value) == 1
  }
}

extension JSON {
  /// One more reference to the tree itself.
  func copyReference() -> UnsafeMutablePointer<json_t>? { owned() }
}
