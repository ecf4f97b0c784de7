import KassaCore

/// Until when what is granted: all that `kassa_has_access` and `kassa_has_perk` have to know. It is kept beside the memberships it was derived
/// from, so that the first answer after a start waits for nothing else to be read.
struct AnswerList: Equatable {
  struct Grant: Equatable {
    var id: String
    /// By the trusted clock; the largest number stands for never.
    var endsAt: Int64
  }

  /// Of products.
  var grants: [Grant] = []
  var perks: [Grant] = []
  /// Whether there is a membership to show, be it one that grants nothing any more.
  var isAnythingVisible = false

  init() {}

  init(_ entitlements: [Entitlement], _ catalogue: Catalogue? = nil) {
    for entitlement in entitlements where entitlement.counts {
      let endsAt = entitlement.endsAt ?? .max
      switch entitlement.subject {
      case .product(let id): grants.append(Grant(id: id, endsAt: endsAt))
      case .perk(let slug): perks.append(Grant(id: slug, endsAt: endsAt))
      }
    }
    if let catalogue, !perks.isEmpty { grants += Self.products(of: catalogue, perks) }
    isAnythingVisible = entitlements.contains(where: \.isVisible)
  }

  /// Whoever has all perks of a product has the product, under its slug and its id.
  private static func products(of catalogue: Catalogue, _ perks: [Grant]) -> [Grant] {
    let ends = Dictionary(perks.map { ($0.id, $0.endsAt) }, uniquingKeysWith: max)
    return catalogue.products.flatMap { product -> [Grant] in
      let own = product.perks.map { ends[$0] ?? .min }
      guard let endsAt = own.min(), endsAt != .min else { return [] }
      return Set([product.slug, product.id]).sorted().map { Grant(id: $0, endsAt: endsAt) }
    }
  }

  /// Until when anything at all is granted.
  var lastEnd: Int64? { (grants + perks).map(\.endsAt).max() }

  /// Whether a product, or a perk, of that name is granted.
  func isGranted(_ id: String, at now: Int64) -> Bool { (grants + perks).contains { $0.id == id && now < $0.endsAt } }

  // MARK: As bytes

  /// Two lists, each with its length; for each grant its end and the length of its id, as little-endian numbers, and the
  /// id.
  var bytes: [UInt8] {
    var bytes: [UInt8] = [isAnythingVisible ? 1 : 0]
    for list in [grants, perks] {
      bytes.append(littleEndian: Int64(list.count))
      for grant in list {
        bytes.append(littleEndian: grant.endsAt)
        bytes.append(littleEndian: Int64(grant.id.utf8.count))
        bytes.append(contentsOf: grant.id.utf8)
      }
    }
    return bytes
  }

  /// nil if they are not such a list.
  init?(bytes: [UInt8]) {
    guard let first = bytes.first else { return nil }
    isAnythingVisible = first != 0
    var rest = bytes.dropFirst()
    guard let grants = Self.list(&rest), let perks = Self.list(&rest), rest.isEmpty else { return nil }
    (self.grants, self.perks) = (grants, perks)
  }

  private static func list(_ rest: inout ArraySlice<UInt8>) -> [Grant]? {
    guard let count = rest.popLittleEndian(), (0...Int64(rest.count)).contains(count) else { return nil }
    var list: [Grant] = []
    for _ in 0..<count {
      guard let endsAt = rest.popLittleEndian(), let length = rest.popLittleEndian(),
        (0...Int64(rest.count)).contains(length)
      else { return nil }
      list.append(Grant(id: String(decoding: rest.prefix(Int(length)), as: UTF8.self), endsAt: endsAt))
      rest = rest.dropFirst(Int(length))
    }
    return list
  }
}

extension [UInt8] {
  fileprivate mutating func append(littleEndian number: Int64) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func popLittleEndian() -> Int64? {
    let size = MemoryLayout<Int64>.size
    guard count >= size else { return nil }
    let number = withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    self = dropFirst(size)
    return Int64(littleEndian: number)
  }
}
