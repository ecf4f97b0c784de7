import KassaCore

/// Until when what is granted: all that `kassa_has_access` has to know. It is kept beside the memberships it was derived
/// from, so that the first answer after a start waits for nothing else to be read.
struct AnswerList: Equatable {
  struct Grant: Equatable {
    var product: String
    /// By the trusted clock; the largest number stands for never.
    var endsAt: Int64
  }

  var grants: [Grant] = []
  /// Whether there is a membership to show, be it one that grants nothing any more.
  var isAnythingVisible = false

  init() {}

  init(_ entitlements: [Entitlement]) {
    grants = entitlements.filter(\.counts).map {
      Grant(product: $0.productID, endsAt: $0.endsAt ?? .max)
    }
    isAnythingVisible = entitlements.contains(where: \.isVisible)
  }

  // MARK: As bytes

  /// For each grant its end and the length of its product, as little-endian numbers, and the product.
  var bytes: [UInt8] {
    var bytes: [UInt8] = [isAnythingVisible ? 1 : 0]
    for grant in grants {
      bytes.append(littleEndian: grant.endsAt)
      bytes.append(littleEndian: Int64(grant.product.utf8.count))
      bytes.append(contentsOf: grant.product.utf8)
    }
    return bytes
  }

  /// nil if they are not such a list.
  init?(bytes: [UInt8]) {
    guard let first = bytes.first else { return nil }
    isAnythingVisible = first != 0
    var rest = bytes.dropFirst()
    while !rest.isEmpty {
      guard let endsAt = rest.popLittleEndian(), let length = rest.popLittleEndian(),
        (0...Int64(rest.count)).contains(length)
      else { return nil }
      grants.append(Grant(product: String(decoding: rest.prefix(Int(length)), as: UTF8.self), endsAt: endsAt))
      rest = rest.dropFirst(Int(length))
    }
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
