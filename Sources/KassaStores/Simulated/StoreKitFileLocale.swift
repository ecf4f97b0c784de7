import KassaCore
import KassaJSON

/// The locale in which a `.storekit` file is read.
struct StoreKitFileLocale {
  /// As it was given: for prices.
  let name: String
  private let tag: Tag

  init(_ name: String) {
    self.name = name
    tag = Tag(name)
  }

  /// The object of a list that is for this locale: the one of the same locale, else of the same language in the same
  /// script, else of the same language, else `en_US`, else the first.
  func choose(from list: [Fields]) throws(JSONShapeError) -> Fields? {
    var tags: [Tag] = []
    for fields in list { tags.append(Tag(try fields.optionalString("locale") ?? "")) }
    let english = Tag("en_US")
    let tests: [(Tag) -> Bool] = [
      { $0 == tag }, { $0.language == tag.language && $0.script == tag.script }, { $0.language == tag.language },
      { $0 == english },
    ]
    for test in tests {
      if let match = zip(list, tags).first(where: { test($0.1) }) { return match.0 }
    }
    return list.first
  }

  /// A name such as `zh_Hant_TW`, `pt-BR`, `de_DE.UTF-8`.
  private struct Tag: Equatable {
    var language = ""
    var script = ""
    var region = ""

    init(_ name: String) {
      let parts = name.prefix { $0 != "." && $0 != "@" }.split { $0 == "_" || $0 == "-" }.map { $0.lowercased() }
      language = parts.first ?? ""
      script = parts.dropFirst().first { $0.count == 4 } ?? ""
      region = parts.dropFirst().first { 2...3 ~= $0.count } ?? ""
      // Chinese is the language whose script files name by the country.
      if language == "zh", script.isEmpty { script = ["tw", "hk", "mo"].contains(region) ? "hant" : "hans" }
    }
  }
}
