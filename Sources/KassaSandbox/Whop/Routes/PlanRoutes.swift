import KassaCore
import KassaJSON

extension WhopService {
  func listPlans(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let query = request.query
    let products = query.values("product_ids")
    // By product anybody sees what is on sale; by account a seller sees everything.
    let isPublic = products != nil && query.value("account_id") == nil
    if !isPublic { try request.require(anyOf: Permission.readPlans) }
    let types = try query.words("plan_types", among: ["renewal", "one_time"])
    let releases = try query.words("release_methods", among: PlanRecord.releaseMethods)
    let visibilities = try query.words(
      "visibilities", among: PlanRecord.visibilities + ["all", "not_quick_link", "not_archived"])
    let created = try CreationFilter(query)
    let account = query.value("account_id")
    return try Page.cut(
      plans, query,
      where: { plan in
        (account == nil || account == catalogue.account.id)
          && (products?.contains(plan.productID) ?? true) && (types?.contains(plan.type) ?? true)
          && (releases?.contains(plan.releaseMethod) ?? true)
          && (visibilities?.contains { Self.matches($0, plan.visibility) } ?? true)
          && (!isPublic || plan.visibility == "visible") && created.matches(plan.createdAt)
      }, by: try planOrder(query)
    ) { document($0, for: request, isComplete: false) }
  }

  private static func matches(_ filter: String, _ visibility: String) -> Bool {
    switch filter {
    case "all": true
    case "not_quick_link": visibility != "quick_link"
    case "not_archived": visibility != "archived"
    default: filter == visibility
    }
  }

  private func planOrder(_ query: Query) throws(Refusal) -> (PlanRecord) -> SortKey {
    let orders = ["created_at", "id", "active_members_count", "internal_notes", "expiration_days"]
    switch try query.word("order", among: orders) {
    case "id": return { SortKey($0.id) }
    case "active_members_count":
      let memberships = state.store.memberships.all.filter(\.isActive)
      return { plan in SortKey(Int64(memberships.count { $0.planID == plan.id })) }
    case "internal_notes": return { SortKey($0.internalNotes) }
    case "expiration_days": return { SortKey($0.expirationDays) }
    default: return { SortKey($0.createdAt) }
    }
  }

  /// Every plan is reachable by its id, also a hidden one.
  func showPlan(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    guard let plan = plan(request.id) else { throw .notFound("plan") }
    return APIAnswer(document(plan, for: request, isComplete: true))
  }

  func listProducts(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let account = request.query.value("account_id")
    // Without an account this is the search in the public marketplace.
    if account != nil { try request.require(anyOf: Permission.readProducts) }
    let created = try CreationFilter(request.query)
    return try Page.cut(
      catalogue.products, request.query,
      where: { product in
        (account == nil ? product.visibility == "visible" : account == catalogue.account.id)
          && created.matches(product.createdAt)
      }, by: { SortKey($0.createdAt) }
    ) { document($0, for: request, isComplete: false) }
  }

  func showProduct(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    guard let product = product(request.id) else { throw .notFound("product") }
    return APIAnswer(document(product, for: request, isComplete: true))
  }
}

/// `created_after` and `created_before`, which many lists take.
struct CreationFilter {
  private let after: Int64?
  private let before: Int64?

  init(_ query: Query) throws(Refusal) {
    after = try query.time("created_after")
    before = try query.time("created_before")
  }

  func matches(_ moment: Int64) -> Bool {
    (after.map { moment > $0 } ?? true) && (before.map { moment < $0 } ?? true)
  }
}
