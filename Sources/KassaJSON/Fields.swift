import CJansson

/// A value of the wrong kind at a place in a document: `plans[2].currency must be a string (got a number)`.
public struct JSONShapeError: Error, Equatable, CustomStringConvertible {
  public let path: String
  public let problem: String
  public init(path: String, problem: String) {
    self.path = path
    self.problem = problem
  }
  public var description: String { path.isEmpty ? "the document \(problem)" : "\(path) \(problem)" }
}

/// A reader that knows where in the document it stands, so that every mistake is reported with its place.
///
/// An absent member and a null one read the same: services leave out what they also send as null.
public struct Fields: Sendable {
  public let json: JSON
  public let path: String

  /// The document must be an object.
  public init(_ json: JSON, path: String = "") throws(JSONShapeError) {
    guard json.isObject else { throw JSONShapeError(path: path, problem: "must be an object (got \(json.kind))") }
    self.json = json
    self.path = path
  }

  public func place(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  public func has(_ key: String) -> Bool {
    json.withMember(key) { ($0?.pointee.type ?? JSON_NULL) != JSON_NULL }
  }

  public func value<Value>(
    _ key: String, _ expected: String, _ read: (JSON) -> Value?
  ) throws(JSONShapeError) -> Value? {
    guard let json = json[key], !json.isNull else { return nil }
    guard let value = read(json) else {
      throw JSONShapeError(path: place(of: key), problem: "must be \(expected) (got \(json.kind))")
    }
    return value
  }

  public func required<Value>(_ value: Value?, _ key: String) throws(JSONShapeError) -> Value {
    guard let value else { throw JSONShapeError(path: place(of: key), problem: "is missing") }
    return value
  }

  public func string(_ key: String) throws(JSONShapeError) -> String { try required(optionalString(key), key) }
  public func integer(_ key: String) throws(JSONShapeError) -> Int64 { try required(optionalInteger(key), key) }
  public func bool(_ key: String) throws(JSONShapeError) -> Bool { try required(optionalBool(key), key) }
  public func object(_ key: String) throws(JSONShapeError) -> Fields { try required(optionalObject(key), key) }
  public func array(_ key: String) throws(JSONShapeError) -> [JSON] { try required(optionalArray(key), key) }

  /// The same as `value`, without a reference to the member: most members are plain.
  private func plain<Value>(
    _ key: String, _ expected: String, _ read: (UnsafeMutablePointer<json_t>?) -> Value?
  ) throws(JSONShapeError) -> Value? {
    let (value, isAbsent) = json.withMember(key) { (read($0), ($0?.pointee.type ?? JSON_NULL) == JSON_NULL) }
    guard value == nil, !isAbsent else { return value }
    return try self.value(key, expected) { _ in nil }
  }

  public func optionalString(_ key: String) throws(JSONShapeError) -> String? {
    try plain(key, "a string", JSON.string)
  }
  public func optionalInteger(_ key: String) throws(JSONShapeError) -> Int64? {
    try plain(key, "a whole number", JSON.integer)
  }
  public func optionalBool(_ key: String) throws(JSONShapeError) -> Bool? {
    try plain(key, "true or false", JSON.bool)
  }
  /// A whole number that `read` makes of a number: of a whole one, and else of one with a fraction.
  public func optionalInteger(
    _ key: String, _ expected: String, _ read: (_ whole: Int64?, _ number: Double) -> Int64?
  ) throws(JSONShapeError) -> Int64? {
    try plain(key, expected) { value in
      guard let value, value.pointee.type == JSON_INTEGER || value.pointee.type == JSON_REAL else { return nil }
      return read(JSON.integer(value), json_number_value(value))
    }
  }
  /// The member itself, which is read where it lies.
  public func optionalValue(
    _ key: String, _ expected: String, where isRight: (JSON) -> Bool
  ) throws(JSONShapeError) -> JSON? {
    guard let json = json[key], !json.isNull else { return nil }
    guard isRight(json) else {
      throw JSONShapeError(path: place(of: key), problem: "must be \(expected) (got \(json.kind))")
    }
    return json
  }
  /// The bytes of a string, which must be there: UTF-8, where they lie in the document, and valid as long as it is.
  public func stringBytes(_ key: String) throws(JSONShapeError) -> UnsafeRawBufferPointer {
    guard let bytes = json.withMember(key, JSON.stringBytes) else {
      throw JSONShapeError(
        path: place(of: key), problem: has(key) ? "must be a string (got \((json[key] ?? .null).kind))" : "is missing")
    }
    return bytes
  }
  public func optionalObject(_ key: String) throws(JSONShapeError) -> Fields? {
    guard let json = json[key], !json.isNull else { return nil }
    return try Fields(json, path: place(of: key))
  }
  public func optionalArray(_ key: String) throws(JSONShapeError) -> [JSON]? {
    try optionalValue(key, "an array", where: \.isArray)?.elements
  }
  public func objects(_ key: String) throws(JSONShapeError) -> [Fields] {
    var objects: [Fields] = []
    for (index, element) in try (optionalArray(key) ?? []).enumerated() {
      objects.append(try Fields(element, path: "\(place(of: key))[\(index)]"))
    }
    return objects
  }
  public func strings(_ key: String) throws(JSONShapeError) -> [String]? {
    if let strings = json.withMember(key, JSON.strings) { return strings }
    guard let elements = try optionalArray(key) else { return nil }
    var strings: [String] = []
    for (index, element) in elements.enumerated() {
      guard let string = element.string else {
        throw JSONShapeError(path: "\(place(of: key))[\(index)]", problem: "must be a string (got \(element.kind))")
      }
      strings.append(string)
    }
    return strings
  }

  /// Refuses members that nobody reads, and names the known one that was probably meant.
  public func allowOnly(_ known: [String]) throws(JSONShapeError) {
    guard !json.hasOnly(known) else { return }
    for key in json.keys where !known.contains(key) {
      let hint = nearest(to: key, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
      throw JSONShapeError(path: place(of: key), problem: "is not a known key\(hint)")
    }
  }
}

/// The known word with the smallest edit distance, if it is near enough to be what was meant.
public func nearest(to word: String, in known: [String]) -> String? {
  let near = known.map { ($0, editDistance(word, $0)) }.min { $0.1 < $1.1 }
  guard let near, near.1 <= max(2, near.0.count / 3) else { return nil }
  return near.0
}

private func editDistance(_ left: String, _ right: String) -> Int {
  let left = Array(left.unicodeScalars.prefix(64)), right = Array(right.unicodeScalars.prefix(64))
  var row = Array(0...right.count)
  for (i, a) in left.enumerated() {
    var diagonal = i
    var next = [i + 1]
    next.reserveCapacity(right.count + 1)
    for (b, above) in zip(right, row.dropFirst()) {
      next.append(min(above + 1, (next.last ?? 0) + 1, diagonal + (a == b ? 0 : 1)))
      diagonal = above
    }
    row = next
  }
  return row.last ?? 0
}
