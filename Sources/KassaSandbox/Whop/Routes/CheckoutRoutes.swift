import KassaCore
import KassaJSON

extension WhopService {
  func createCheckout(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    try request.require(anyOf: Permission.createCheckouts)
    var checkout = try request.read { (body) throws(JSONShapeError) in
      try CheckoutRecord(asked: body, createdAt: now)
    }
    try checkAccount(request.body)
    try Self.checkMetadata(checkout.metadata)
    if let url = checkout.redirectURL { try checkRedirect(url) }
    let inlinePlan = request.body.json["plan"].flatMap { $0.isNull ? nil : $0 }
    switch (checkout.mode, checkout.planID, inlinePlan) {
    case ("setup", nil, nil): break
    case ("setup", _, _): throw .invalid("mode", "is payment where a plan is sold")
    case (_, let planID?, nil):
      guard plan(planID) != nil else { throw .notFound("plan") }
    case (_, nil, let asked?):
      try request.require(anyOf: Permission.createPlans)
      checkout.planID = try findOrCreate(asked).id
    case (_, nil, nil): throw .missing("plan_id")
    case (_, _?, _?): throw .invalid("plan", "cannot be given together with plan_id")
    }
    checkout.id = state.makeID("ch") { state.store.checkouts[$0] != nil }
    state.store.checkouts.put(checkout)
    return APIAnswer(document(checkout, for: request))
  }

  private func checkAccount(_ body: Fields) throws(Refusal) {
    guard let account = body.json["account_id"]?.string, account != catalogue.account.id else { return }
    throw Refusal(403, "The credential cannot act for the account \(account).")
  }

  /// A plan like that, or a new one that only its checkouts know.
  private func findOrCreate(_ asked: JSON) throws(Refusal) -> PlanRecord {
    let visibility: JSON = asked["visibility"] ?? "quick_link"
    let type: JSON = asked["plan_type"] ?? (asked["billing_period"].map { !$0.isNull } == true ? "renewal" : "one_time")
    let isNew = asked["force_create_new_plan"]?.bool ?? false
    let members = asked.members.filter { $0.0 != "force_create_new_plan" }
    let id = state.makeID("plan") { id in plans.contains { $0.id == id } }
    let created = Timestamp.iso8601(now)
    let plan: PlanRecord
    do throws(JSONShapeError) {
      let document = JSON.object(members).merging([
        ("id", JSON(id)), ("visibility", visibility), ("plan_type", type), ("created_at", JSON(created)),
      ])
      plan = try PlanRecord(Fields(document, path: "plan"))
    } catch {
      throw Refusal(error)
    }
    guard product(plan.productID) != nil else { throw .notFound("product") }
    if !isNew, let known = plans.first(where: { $0.sells(likewise: plan) }) { return known }
    state.store.plans.put(plan)
    return plan
  }

  /// Whop allows https; what else it allows is not documented.
  private func checkRedirect(_ url: String) throws(Refusal) {
    let problem = "must be an absolute https URL of at most 2048 characters without credentials"
    guard url.utf8.count <= 2_048, let origin = URLText.Origin(url) else { throw .invalid("redirect_url", problem) }
    let isLoopback = origin.scheme == "http" && origin.isLoopback && catalogue.switches.loopbackRedirects
    guard origin.scheme == "https" || isLoopback else { throw .invalid("redirect_url", problem) }
  }

  func listCheckouts(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    try request.require(anyOf: Permission.readCheckouts)
    guard let account = request.query.value("account_id") else { throw .missing("account_id") }
    let planID = request.query.value("plan_id")
    let created = try CreationFilter(request.query)
    return try Page.cut(
      state.store.checkouts.all, request.query,
      where: {
        account == catalogue.account.id && (planID == nil || planID == $0.planID) && created.matches($0.createdAt)
      }, by: { SortKey($0.createdAt) }
    ) { document($0, for: request) }
  }

  func showCheckout(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    APIAnswer(document(try checkout(request), for: request))
  }

  /// Its page stops working.
  func deleteCheckout(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    try request.require(anyOf: Permission.deleteCheckouts)
    let checkout = try checkout(request)
    state.store.checkouts.remove(checkout.id)
    return APIAnswer(["id": JSON(checkout.id), "deleted": true])
  }

  private func checkout(_ request: APIRequest) throws(Refusal) -> CheckoutRecord {
    guard let checkout = state.store.checkouts[request.id] else { throw .notFound("checkout configuration") }
    return checkout
  }
}

extension CheckoutRecord {
  /// What the body of `POST /checkout_configurations` asks for; id and an inline plan come later.
  fileprivate init(asked body: Fields, createdAt: Int64) throws(JSONShapeError) {
    try body.allowOnly([
      "account_id", "plan_id", "plan", "metadata", "mode", "redirect_url", "affiliate_code", "currency",
      "payment_method_configuration", "three_ds_level",
    ])
    id = ""
    planID = try body.optionalString("plan_id")
    mode = try body.word("mode", among: ["payment", "setup"]) ?? "payment"
    redirectURL = try body.optionalString("redirect_url")
    metadata = try body.optionalObject("metadata")?.json ?? [:]
    affiliateCode = try body.optionalString("affiliate_code")
    currency = try body.optionalString("currency")
    threeDSLevel = try body.word(
      "three_ds_level", among: ["mandate_challenge", "mandate_if_required", "frictionless_if_required"])
    let methods = try body.optionalObject("payment_method_configuration")
    paymentMethodConfiguration =
      methods == nil
      ? .null
      : [
        "enabled": .array((try methods?.strings("enabled") ?? []).map { JSON($0) }),
        "disabled": .array((try methods?.strings("disabled") ?? []).map { JSON($0) }),
        "include_platform_defaults": JSON(try methods?.optionalBool("include_platform_defaults") ?? true),
      ]
    self.createdAt = createdAt
  }
}

extension PlanRecord {
  /// The same but for id, age and notes.
  fileprivate func sells(likewise other: PlanRecord) -> Bool {
    var other = other
    (other.id, other.createdAt, other.internalNotes) = (id, createdAt, internalNotes)
    return document == other.document
  }
}
