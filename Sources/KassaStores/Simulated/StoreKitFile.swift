import KassaCore
import KassaJSON

/// Reads Xcode's `.storekit` files: what a simulated store sells, and how it behaves. `docs/storekit.md` is its manual.
///
/// Apple does not document the format. What is read here was learnt from published files of the versions 1.0 to 6.3, and
/// from the documentation of StoreKit Test, whose `SKTestSession` has the same switches.
package enum StoreKitFile {
  /// The largest file that is read; the largest known ones have some ten thousand bytes.
  static let maximumBytes = 4 << 20
  static let maximumProducts = 10_000
  /// Of one subscription.
  static let maximumOffers = 1_000

  /// - Parameters:
  ///   - storefront: Two or three letters; takes the place of the file's own. Prices are in its currency.
  ///   - locale: Takes the place of the file's own: in which language names are, and how prices are written.
  ///
  /// A file that is not understood is refused whole, with the place in it.
  package static func read(
    _ bytes: [UInt8], storefront: String? = nil, locale: String? = nil
  ) throws(JSONShapeError) -> StoreCatalogue {
    let document = try parse(bytes)
    var reader = try StoreKitFileReader(document, storefront: storefront, locale: locale)
    return try reader.catalogue()
  }

  private static func parse(_ bytes: [UInt8]) throws(JSONShapeError) -> JSON {
    guard bytes.count <= maximumBytes else {
      throw JSONShapeError(
        path: "", problem: "has \(bytes.count) bytes; a .storekit file has at most \(maximumBytes)")
    }
    do throws(JSONSyntaxError) {
      return try JSON.parse(bytes)
    } catch {
      // Xcode knows other files of this ending, and some people's are empty.
      let start = String(decoding: bytes.prefix(256), as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
      guard !start.isEmpty else {
        throw JSONShapeError(path: "", problem: "is empty: a .storekit file is a JSON object")
      }
      let problem =
        if start.hasPrefix("<") || start.hasPrefix("bplist") {
          "is a property list, not JSON: save the StoreKit configuration with Xcode 12 or newer"
        } else {
          "is not valid JSON: \(error.message)"
        }
      throw JSONShapeError(
        path: error.line > 0 ? "line \(error.line), column \(error.column)" : "", problem: problem)
    }
  }
}
