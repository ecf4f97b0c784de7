import CJansson

/// An object that grows member by member, for what is built often: a literal makes each value by itself first.
public struct ObjectBuilder: ~Copyable {
  private let tree: UnsafeMutablePointer<json_t>?

  public init() { tree = json_object() }

  deinit { json_decref(tree) }

  /// The object. Its members have the order in which they were added.
  public consuming func build() -> JSON {
    let tree = tree
    discard self
    return JSON(taking: tree)
  }

  public func add(_ key: StaticString, _ text: String?) { set(key, text.map(JSON.newString) ?? json_null()) }
  public func add(_ key: StaticString, _ number: Int64?) { set(key, number.map { json_integer($0) } ?? json_null()) }
  public func add(_ key: StaticString, _ number: Int) { set(key, json_integer(Int64(number))) }
  public func add(_ key: StaticString, _ flag: Bool?) {
    set(key, flag.map { $0 ? json_true() : json_false() } ?? json_null())
  }
  public func add(_ key: StaticString, _ value: JSON) { set(key, value.copyReference()) }

  /// Takes over one reference to the value. What is written in source code is UTF-8.
  private func set(_ key: StaticString, _ value: UnsafeMutablePointer<json_t>?) {
    key.utf8Start.withMemoryRebound(to: CChar.self, capacity: key.utf8CodeUnitCount) { start in
      _ = json_object_setn_new_nocheck(tree, start, key.utf8CodeUnitCount, value)
    }
  }
}
