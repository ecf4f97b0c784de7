import KassaCore
import KassaJSON

/// What the sandbox sells, who may ask, and how it behaves. `docs/sandbox.md` describes the document.
struct Catalogue {
  struct Account {
    var id: String
    var title: String
    /// Names its page.
    var route: String
  }

  struct Key {
    var secret: String
    var permissions: Permissions
  }

  var account: Account
  var products: [ProductRecord]
  var plans: [PlanRecord]
  var keys: [Key]
  var users: [BuyerRecord]
  var switches: Switches
  /// Where the clock stands until an action moves it; nil: it is the machine's.
  var startsAt: Int64?
  /// Voidhash's half of the sandbox; nil: there is none.
  var voidhash: VoidhashCatalogue?

  /// 2026-01-01T00:00:00Z: when what has no `created_at` was created.
  static let beginning: Int64 = 1_767_225_600_000

  /// 2009-01-01T00:00:00Z: the App Store had opened by then.
  private static let earliestStart: Int64 = 1_230_768_000_000

  init(_ document: JSON) throws(JSONShapeError) {
    let fields = try Fields(document)
    try fields.allowOnly(["account", "products", "plans", "api_keys", "users", "switches", "starts_at", "voidhash"])
    startsAt = try fields.number("starts_at", Self.earliestStart...Timestamp.range.upperBound)
    voidhash = try fields.optionalObject("voidhash").map { (fields) throws(JSONShapeError) in
      try VoidhashCatalogue(fields)
    }
    // Who sells by Voidhash alone has no account.
    let hasAccount = voidhash == nil || fields.has("account")
    account = hasAccount ? try Account(fields.object("account")) : .nobody
    keys = []
    for key in try fields.objects("api_keys") { keys.append(try Key(key)) }
    switches = try Switches(fields.optionalObject("switches"))
    products = []
    plans = []
    users = []
    let productFields = try fields.objects("products")
    for (index, product) in productFields.enumerated() {
      var record = try ProductRecord(product)
      record.createdAt = Self.created(record.createdAt, index)
      products.append(record)
    }
    for (index, plan) in try fields.objects("plans").enumerated() {
      var record = try PlanRecord(plan)
      guard products.contains(where: { $0.id == record.productID }) else {
        throw plan.problem("product_id", "names no product of this catalogue")
      }
      record.createdAt = Self.created(record.createdAt, index)
      plans.append(record)
    }
    for user in try fields.objects("users") { users.append(try BuyerRecord(user)) }
    try Self.refuseRepeated(products.map(\.id), in: "products")
    try Self.refuseRepeated(plans.map(\.id), in: "plans")
    try Self.refuseRepeated(keys.map(\.secret), in: "api_keys")
    try Self.refuseRepeated(users.map(\.id), in: "users")
  }

  /// Lists come newest first. What the catalogue names first is a little newer, so lists keep its order.
  private static func created(_ moment: Int64, _ index: Int) -> Int64 { moment - Int64(index) }

  private static func refuseRepeated(_ ids: [String], in place: String) throws(JSONShapeError) {
    var seen: Set<String> = []
    for (index, id) in ids.enumerated() where !seen.insert(id).inserted {
      throw JSONShapeError(path: "\(place)[\(index)]", problem: "has the id of an earlier one")
    }
  }
}

extension Catalogue.Account {
  fileprivate static let nobody = Catalogue.Account(id: "biz_none", title: "", route: "none")

  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly(["id", "title", "route"])
    id = try fields.string("id")
    title = try fields.string("title")
    route = try fields.optionalString("route") ?? id
  }
}

extension Catalogue.Key {
  fileprivate init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly(["key", "permissions"])
    secret = try fields.string("key")
    permissions = Permissions(try fields.required(fields.strings("permissions"), "permissions"))
  }
}

/// Where Whop's documentation is silent, or real services differ: the sandbox can be either.
struct Switches {
  enum MetadataFilters: String, CaseIterable { case off, on, refuse }
  enum ReturnVocabulary: String, CaseIterable { case hosted, embedded, elements }

  /// `metadata[key]=value` when memberships are listed: ignored, honoured, or refused with 400.
  var metadataFilters = MetadataFilters.off
  /// Whether a `redirect_url` may be `http:` on this machine itself.
  var loopbackRedirects = true
  /// The words in which a checkout tells the `redirect_url` how it went.
  var returnVocabulary = ReturnVocabulary.hosted
  /// Whether there is `POST /store_receipts`.
  var takesStoreReceipts = false

  init(_ fields: Fields?) throws(JSONShapeError) {
    guard let fields else { return }
    try fields.allowOnly(["metadata_filters", "loopback_redirects", "return_vocabulary", "store_receipts"])
    if let word = try fields.word("metadata_filters", among: MetadataFilters.allCases.map(\.rawValue)) {
      metadataFilters = MetadataFilters(rawValue: word) ?? .off
    }
    loopbackRedirects = try fields.optionalBool("loopback_redirects") ?? true
    if let word = try fields.word("return_vocabulary", among: ReturnVocabulary.allCases.map(\.rawValue)) {
      returnVocabulary = ReturnVocabulary(rawValue: word) ?? .hosted
    }
    takesStoreReceipts = try fields.optionalBool("store_receipts") ?? false
  }
}
