import KassaCore
import KassaJSON
import KassaPlatform

/// What a list is ordered by. Records without the value come first.
enum SortKey: Comparable {
  case none
  case number(Int64)
  case text(String)

  init(_ number: Int64?) { self = number.map { .number($0) } ?? .none }
  init(_ text: String?) { self = text.map { .text($0) } ?? .none }
}

/// Cuts one page out of a list.
///
/// A cursor names the place of a row in the order, not the row: a row that changed or vanished meanwhile neither hides
/// others nor brings them twice.
struct Page {
  static let usualSize = 20
  /// Whop documents no maximum.
  static let largestSize = 100

  private struct Place: Comparable {
    var key: SortKey
    /// Among equal keys the order of arrival decides.
    var arrival: Int

    static func < (left: Place, right: Place) -> Bool {
      left.key == right.key ? left.arrival < right.arrival : left.key < right.key
    }
  }

  /// - Parameters:
  ///   - rows: all rows that the caller may see, in the order of their arrival.
  ///   - isWanted: the list's own filters.
  static func cut<Row>(
    _ rows: [Row], _ query: Query, where isWanted: (Row) -> Bool, by key: (Row) -> SortKey, _ document: (Row) -> JSON
  ) throws(Refusal) -> APIAnswer {
    let isAscending = try query.word("direction", among: ["asc", "desc"]) == "asc"
    var ordered = rows.enumerated().filter { isWanted($0.element) }
      .map { (place: Place(key: key($0.element), arrival: $0.offset), row: $0.element) }
    ordered.sort { isAscending ? $0.place < $1.place : $1.place < $0.place }

    let after = try place(query, "after"), before = try place(query, "before")
    func isBeyond(_ place: Place, _ limit: Place?) -> Bool {
      limit.map { isAscending ? $0 < place : place < $0 } ?? true
    }
    func isShort(of limit: Place?, _ place: Place) -> Bool {
      limit.map { isAscending ? place < $0 : $0 < place } ?? true
    }
    let between = ordered.filter { isBeyond($0.place, after) && isShort(of: before, $0.place) }
    let last = try query.count("last")
    let size = min(try query.count("first") ?? last ?? usualSize, largestSize)
    let page = last != nil || before != nil ? between.suffix(size) : between.prefix(size)
    let pageInfo: JSON = [
      "start_cursor": JSON(page.first.map { cursor($0.place) }),
      "end_cursor": JSON(page.last.map { cursor($0.place) }),
      "has_next_page": JSON(page.last?.place != ordered.last?.place && !page.isEmpty),
      "has_previous_page": JSON(page.first?.place != ordered.first?.place && !page.isEmpty),
    ]
    return APIAnswer(["data": .array(page.map { document($0.row) }), "page_info": pageInfo])
  }

  private static func cursor(_ place: Place) -> String {
    let key: JSON =
      switch place.key {
      case .none: .null
      case .number(let number): JSON(number)
      case .text(let text): JSON(text)
      }
    return Base64.encodeURL(JSON.array([key, JSON(place.arrival)]).bytes())
  }

  private static func place(_ query: Query, _ name: String) throws(Refusal) -> Place? {
    guard let text = query.value(name) else { return nil }
    guard let bytes = Base64.decode(text, .url), let json = try? JSON.parse(bytes), json.elements.count == 2,
      let key = json.elements.first, let arrival = json.elements.last?.integer
    else { throw .invalid(name, "is not a cursor of this list") }
    return Place(key: key.integer.map { .number($0) } ?? SortKey(key.string), arrival: Int(arrival))
  }
}
