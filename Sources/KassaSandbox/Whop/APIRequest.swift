import KassaCore
import KassaJSON

/// A request to the REST interface, taken apart.
struct APIRequest {
  var method: String
  /// The path below `/api/v1`, with its query.
  var target: String
  var query: Query
  var body: Fields
  /// Nil: nobody in particular.
  var credential: Credential?
  /// What stood in the place of the route's `{...}`.
  var id = ""
  var secondID = ""

  /// The caller, of whom 401 says that it is missing.
  func caller() throws(Refusal) -> Credential {
    guard let credential else {
      throw Refusal(401, "A valid API key or access token is required in the Authorization header.")
    }
    return credential
  }

  func may(_ permission: String) -> Bool { credential?.permissions.allow(permission) ?? false }

  @discardableResult
  func require(anyOf permissions: String...) throws(Refusal) -> Credential {
    let caller = try caller()
    guard permissions.contains(where: caller.permissions.allow) else {
      throw Refusal(403, "The credential is not authorized for the \(permissions.joined(separator: " or ")) scope.")
    }
    return caller
  }

  /// Reads the body; what has a wrong shape is refused with its place.
  func read<Value>(_ read: (Fields) throws(JSONShapeError) -> Value) throws(Refusal) -> Value {
    do throws(JSONShapeError) { return try read(body) } catch { throw Refusal(error) }
  }
}

/// The items of a URL's query. A list is a name that comes several times, with or without `[]` after it.
struct Query {
  private let items: [(name: String, value: String)]

  init(_ url: String) { items = URLText.queryItems(of: url) }

  func value(_ name: String) -> String? { items.last { $0.name == name && !$0.value.isEmpty }?.value }

  /// Nil if there is none.
  func values(_ name: String) -> [String]? {
    let values = items.filter { ($0.name == name || $0.name == name + "[]") && !$0.value.isEmpty }.map(\.value)
    return values.isEmpty ? nil : values
  }

  /// The items `name[key]=value`.
  func members(_ name: String) -> [(key: String, value: String)] {
    items.compactMap { item in
      guard item.name.hasPrefix(name + "["), item.name.hasSuffix("]") else { return nil }
      return (String(item.name.dropFirst(name.count + 1).dropLast()), item.value)
    }
  }

  func word(_ name: String, among words: [String]) throws(Refusal) -> String? {
    guard let value = value(name) else { return nil }
    guard words.contains(value) else { throw .invalid(name, "must be one of \(words.joined(separator: ", "))") }
    return value
  }

  func words(_ name: String, among words: [String]) throws(Refusal) -> [String]? {
    guard let values = values(name) else { return nil }
    guard values.allSatisfy(words.contains) else {
      throw .invalid(name, "must be among \(words.joined(separator: ", "))")
    }
    return values
  }

  func count(_ name: String) throws(Refusal) -> Int? {
    guard let value = value(name) else { return nil }
    guard let count = Int(value), count >= 1 else { throw .invalid(name, "must be a whole number of 1 or more") }
    return count
  }

  /// Native versions take ISO 8601 only.
  func time(_ name: String) throws(Refusal) -> Int64? {
    guard let value = value(name) else { return nil }
    guard let moment = Timestamp.milliseconds(iso8601: value) else {
      throw .invalid(name, "must be an ISO 8601 timestamp")
    }
    return moment
  }
}

/// An answer of the REST interface.
struct APIAnswer {
  var status = 200
  var document: JSON
  var headers: [HTTPHeader] = []

  init(_ document: JSON) { self.document = document }
}
