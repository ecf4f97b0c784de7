import Foundation
import KassaCore
import Testing

@testable import KassaStores

private let folder = URL(filePath: #filePath).deletingLastPathComponent()

func fixture(_ name: String) throws -> [UInt8] {
  try [UInt8](Data(contentsOf: folder.appending(path: "Fixtures/\(name)")))
}

/// The published `.storekit` files beside the repository, and what their INDEX.md states of each.
enum Corpus {
  static let url = folder.appending(path: "../../../shared/data/storekit").standardized
  static let isPresent = FileManager.default.fileExists(atPath: url.appending(path: "INDEX.md").path)

  static func bytes(_ name: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: url.appending(path: name))) }

  static let rows: [Row] = {
    guard let index = try? String(contentsOf: url.appending(path: "INDEX.md"), encoding: .utf8) else { return [] }
    return index.split(separator: "\n").compactMap(Row.init)
  }()

  static let readable = rows.filter(\.isReadable)

  /// One line of the table.
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let isReadable: Bool
    /// C, NC, NR, S and groups.
    let counts: [StoreProduct.Kind: Int]
    let groups: Int
    /// Such as `intro free` and `code payAsYouGo`.
    let offers: [String: Int]
    let storefront: String?
    let locale: String?
    let timeRate: Int64?
    let periods: Set<String>
    let offerPeriods: Set<String>
    var testDescription: String { name }

    init?(_ line: Substring) {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 9, let number = cells.first?.prefix(2), Int(number) != nil else { return nil }
      name = cells[0]
      isReadable = cells[4] != "unparseable"
      var counts: [StoreProduct.Kind: Int] = [:]
      let kinds: [(String, StoreProduct.Kind)] = [
        ("NC", .nonConsumable), ("NR", .nonRenewingSubscription), ("C", .consumable), ("S", .subscription),
      ]
      for word in cells[4].split(separator: " ") {
        guard let (prefix, kind) = kinds.first(where: { word.hasPrefix($0.0) }) else { continue }
        counts[kind] = Int(word.dropFirst(prefix.count))
      }
      self.counts = counts
      groups = cells[4].split(separator: " ").compactMap { Int($0) }.first ?? 0
      var offers: [String: Int] = [:]
      for offer in cells[5].split(separator: ",") {
        let parts = offer.split(separator: "×")
        if parts.count == 2 { offers[parts[0].trimmingCharacters(in: .whitespaces)] = Int(parts[1]) }
      }
      self.offers = offers
      let settings = cells[6].split(separator: ";")[0].split(separator: "/").map(String.init)
      storefront = settings[0] == "–" ? nil : settings[0]
      locale = settings[1] == "–" ? nil : settings[1]
      timeRate = cells[6].range(of: " rate ").flatMap { Int64(cells[6][$0.upperBound...]) }
      func words(_ start: String) -> Set<String> {
        let notes = cells[7].components(separatedBy: "; ")
        return Set(
          notes.filter { $0.hasPrefix(start) }.flatMap { $0.dropFirst(start.count).split(separator: "/") }.map(
            String.init))
      }
      periods = words("periods ")
      offerPeriods = words("offer periods ")
    }
  }
}

/// Numbers that are the same for the same seed (SplitMix64).
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
