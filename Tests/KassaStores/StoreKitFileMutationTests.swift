import Foundation
import KassaCore
import KassaJSON
import Testing

@testable import KassaStores

/// Every file with changes made to it is read or refused with a place, and what was read is sound.
///
/// How many changes each file gets: 50 of each sort, or what the environment's `KASSA_MUTATIONS` says. `make fuzz` makes
/// 500 of each.
@Suite struct StoreKitFileMutationTests {
  static let count = ProcessInfo.processInfo.environment["KASSA_MUTATIONS"].flatMap(Int.init) ?? 50

  struct Sample: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: @Sendable () throws -> [UInt8]
    var testDescription: String { name }
  }

  static let samples =
    ["everything", "first_format", "written_by_hand"].map { name in
      Sample(name: name) { try fixture("\(name).storekit") }
    }
    + Corpus.readable.map { row in Sample(name: row.name) { try Corpus.bytes(row.name) } }

  @Test("S135 files with values retyped, huge, missing or doubled are read or refused there", arguments: samples)
  func changedStructures(_ sample: Sample) throws {
    let mutations = StoreKitFileMutations(try sample.bytes())
    var refused = 0
    let changes = StoreKitFileMutations.Change.allCases
    for number in 0..<Self.count {
      let change = changes[number % changes.count]
      var random = Seeded(UInt64(number))
      guard let (text, value) = mutations.changed(change, using: &random) else { continue }
      do throws(JSONShapeError) {
        expectSound(try StoreKitFile.read(text))
      } catch {
        refused += 1
        expectPlace(error, text, change, value)
      }
    }
    #expect(refused > 0)
  }

  @Test("S135 files with changed bytes are read or refused with a place", arguments: samples)
  func changedBytes(_ sample: Sample) throws {
    let mutations = StoreKitFileMutations(try sample.bytes())
    var refused = 0
    for number in 0..<Self.count {
      var random = Seeded(UInt64(number))
      let text = mutations.changedBytes(using: &random)
      do throws(JSONShapeError) {
        expectSound(try StoreKitFile.read(text))
      } catch {
        refused += 1
        #expect(!error.path.isEmpty || text.isEmpty || error.problem.hasPrefix("is no .storekit file"), "\(error)")
        #expect(error.description.utf8.count < 1000)
      }
    }
    #expect(refused > 0)
  }

  /// The error is at the value that was changed, in it, or at what contains it.
  private func expectPlace(
    _ error: JSONShapeError, _ text: [UInt8], _ change: StoreKitFileMutations.Change,
    _ value: StoreKitFileMutations.Value
  ) {
    #expect(error.description.utf8.count < 1000)
    if error.path.hasPrefix("line ") {
      // What Jansson refuses: a doubled key, a number beyond its range, too many levels.
      let line = error.path.dropFirst(5).split(separator: ",").first.flatMap { Int($0) } ?? 0
      #expect(1...(text.count { $0 == UInt8(ascii: "\n") } + 1) ~= line)
      #expect(change == .duplicate && value.isMember || change == .huge, "\(error): \(value.path)")
    } else if change == .duplicate {
      // A doubled product or offer: the second one is refused.
      #expect(error.problem.contains("already") || error.problem.contains("earlier"), "\(error): \(value.path)")
    } else if error.path.isEmpty {
      #expect(error.problem.hasPrefix("is no .storekit file"))
    } else {
      let isNear = value.path.hasPrefix(error.path) || error.path.hasPrefix(value.path)
      // A key of two spellings is missing under the first.
      let isBeside = parent(error.path) == parent(value.path) && error.problem == "is missing"
      #expect(isNear || isBeside, "\(error): \(value.path)")
    }
  }

  private func parent(_ path: String) -> Substring { path[..<(path.lastIndex(of: ".") ?? path.startIndex)] }

  private func expectSound(_ catalogue: StoreCatalogue) {
    #expect(Set(catalogue.products.map(\.id)).count == catalogue.products.count)
    for product in catalogue.products {
      #expect(!product.id.isEmpty)
      #expect(isSound(product.price))
      #expect((product.kind == .subscription) == (product.subscription != nil))
      guard let subscription = product.subscription else { continue }
      #expect(subscription.level > 0)
      #expect(subscription.period.count <= 36_500)
      for offer in subscription.offers {
        #expect(isSound(offer.price))
        #expect(1...999 ~= offer.periodCount)
        #expect(offer.period.count <= 36_500)
        #expect(offer.paymentMode != .freeTrial || offer.price.money.amount == .zero)
      }
    }
  }

  private func isSound(_ price: StorePrice) -> Bool {
    !price.money.amount.isNegative && price.money.amount.micros != nil && !price.formatted.isEmpty
  }
}
