import KassaCore
import KassaJSON

extension WhopService {
  // MARK: Reading

  func listMemberships(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let caller = try request.caller()
    let filter = try MembershipFilter(request, switches: catalogue.switches) { self.buyer($0)?.memberID }
    _ = try request.query.word("order", among: ["created_at"])
    // Whop's way of saying "you may not": an empty list.
    let rows = request.may(Permission.readMembers) ? visibleMemberships(to: caller) : []
    let isOtherAccount = request.query.value("account_id").map { $0 != catalogue.account.id } ?? false
    return try Page.cut(
      rows, request.query, where: { !isOtherAccount && filter.matches($0) }, by: { SortKey($0.createdAt) }
    ) { document($0, for: request) }
  }

  func showMembership(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let membership = try membership(request, anyOf: Permission.readMembers)
    return APIAnswer(document(membership, for: request))
  }

  /// The membership with that id or license key, if the caller may see it.
  private func membership(_ request: APIRequest, anyOf permissions: String...) throws(Refusal) -> MembershipRecord {
    let caller = try request.caller()
    guard permissions.contains(where: caller.permissions.allow) else {
      throw Refusal(403, "The credential is not authorized for the \(permissions.joined(separator: " or ")) scope.")
    }
    let found = visibleMemberships(to: caller).first { $0.id == request.id || $0.licenseKey == request.id }
    guard let found else { throw .notFound("membership") }
    return found
  }

  private func save(_ membership: MembershipRecord, _ request: APIRequest) -> APIAnswer {
    var membership = membership
    membership.updatedAt = now
    state.store.memberships.put(membership)
    return APIAnswer(document(membership, for: request))
  }

  // MARK: Changing

  func changeMembership(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let keys = ["metadata", "cancel_at_period_end", "payment_method_id", "billing_period_days"]
    let change = try request.read { (body) throws(JSONShapeError) in
      try body.allowOnly(keys)
      return (
        metadata: try body.optionalObject("metadata")?.json, cancels: try body.optionalBool("cancel_at_period_end"),
        paymentMethod: try body.optionalString("payment_method_id"),
        period: try body.days("billing_period_days", upTo: 365)
      )
    }
    var membership = try membership(request, for: change.cancels != nil, change.paymentMethod != nil)
    if change.metadata != nil || change.period != nil { try request.require(anyOf: Permission.manageMembers) }
    if let metadata = change.metadata {
      membership.metadata = metadata.members.isEmpty ? [:] : membership.metadata.merging(metadata.members)
      try Self.checkMetadata(membership.metadata)
    }
    if let cancels = change.cancels {
      guard membership.renews else { throw .invalid("cancel_at_period_end", "is for memberships that renew") }
      membership.setCancelAtPeriodEnd(cancels, at: now)
    }
    if let id = change.paymentMethod {
      guard state.store.paymentMethods[id]?.buyerID == membership.buyerID else {
        throw .invalid("payment_method_id", "is no payment method of this buyer")
      }
      membership.paymentMethodID = id
    }
    if let days = change.period {
      guard membership.renews, request.body.json.members.count == 1 else {
        throw .invalid("billing_period_days", "is for memberships that renew, and comes alone")
      }
      membership.billingPeriod = days
    }
    return save(membership, request)
  }

  /// What may be changed with less than `member:manage`.
  private func membership(
    _ request: APIRequest, for cancels: Bool, _ changesPayment: Bool
  ) throws(Refusal) -> MembershipRecord {
    let lesser = cancels ? Permission.cancelMemberships : changesPayment ? Permission.changePaymentMethods : nil
    return try membership(request, anyOf: Permission.manageMembers, lesser ?? Permission.manageMembers)
  }

  func cancel(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let (atPeriodEnd, reason) = try request.read { (body) throws(JSONShapeError) in
      try body.allowOnly(["cancel_at_period_end", "reason", "feedback_option_id"])
      return (try body.optionalBool("cancel_at_period_end") ?? false, try body.optionalString("reason"))
    }
    var membership = try membership(request, anyOf: Permission.cancelMemberships, Permission.manageMembers)
    guard !membership.hasEnded else { throw Refusal(409, "The membership has already ended.") }
    membership.cancellationReason = reason
    if atPeriodEnd {
      guard membership.renews else { throw Refusal(409, "Only a membership that renews has a period end.") }
      membership.setCancelAtPeriodEnd(true, at: now)
    } else {
      Billing.end(&membership, at: now)
    }
    return save(membership, request)
  }

  func pause(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let until = try request.read { (body) throws(JSONShapeError) in
      try body.allowOnly(["until"])
      return try body.time("until")
    }
    var membership = try membership(request, anyOf: Permission.manageMembers)
    guard membership.renews, !membership.hasEnded, !membership.isPaused else {
      throw Refusal(409, "Only a running membership that renews can be paused.")
    }
    if let until, until <= now { throw .invalid("until", "must lie in the future") }
    membership.pausedAt = now
    membership.pausedUntil = until
    return save(membership, request)
  }

  func resume(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    var membership = try membership(request, anyOf: Permission.manageMembers)
    guard membership.isPaused else { throw Refusal(409, "The membership is not paused.") }
    Billing.resume(&membership, at: now)
    return save(membership, request)
  }

  func extend(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let days = try request.read { (body) throws(JSONShapeError) in
      try body.allowOnly(["days"])
      return try body.required(body.days("days", upTo: 1_095), "days")
    }
    var membership = try membership(request, anyOf: Permission.manageMembers)
    guard !membership.hasEnded else { throw Refusal(409, "The membership has ended.") }
    membership.periodEnd = membership.periodEnd.map { $0 + days * Billing.day }
    membership.expiresAt = membership.expiresAt.map { $0 + days * Billing.day }
    return save(membership, request)
  }

  func reactivate(_ request: APIRequest) throws(Refusal) -> APIAnswer {
    let days = try request.read { (body) throws(JSONShapeError) in
      try body.allowOnly(["days"])
      return try body.days("days", upTo: 1_095)
    }
    var membership = try membership(request, anyOf: Permission.manageMembers)
    guard !membership.renews, membership.hasEnded else {
      throw Refusal(409, "Only a one-time membership that has ended can be reactivated.")
    }
    membership.status = "completed"
    membership.canceledAt = nil
    membership.cancellationReason = nil
    membership.expiresAt = days.map { now + $0 * Billing.day }
    return save(membership, request)
  }

  /// Whop documents these limits for plans; it gives none for memberships.
  static func checkMetadata(_ metadata: JSON) throws(Refusal) {
    let members = metadata.members
    guard members.count <= 50 else { throw .invalid("metadata", "may have at most 50 keys") }
    for (key, value) in members {
      guard key.unicodeScalars.count <= 100 else { throw .invalid("metadata", "has a key of more than 100 characters") }
      guard (value.string ?? value.text()).unicodeScalars.count <= 500 else {
        throw .invalid("metadata.\(key)", "may have at most 500 characters")
      }
    }
  }
}

extension MembershipRecord {
  mutating func setCancelAtPeriodEnd(_ cancels: Bool, at moment: Int64) {
    cancelAtPeriodEnd = cancels
    canceledAt = cancels ? canceledAt ?? moment : nil
    updatedAt = moment
  }
}

/// The filters of `GET /memberships`. They only narrow: what is out of reach gives fewer rows, not an error.
struct MembershipFilter {
  private static let statuses = [
    "trialing", "active", "past_due", "completed", "canceled", "expired", "canceling", "paused", "expiring", "one_time",
    "unclaimed", "banned",
  ]

  private let buyer: String??
  private let member: String?
  private let statuses: [String]?
  private let products: [String]?
  private let plans: [String]?
  private let hasPromoCodes: Bool
  private let created: CreationFilter
  private let metadata: [(key: String, value: String)]
  private let memberID: (String) -> String?

  /// - Parameter memberID: of a buyer.
  init(_ request: APIRequest, switches: Switches, memberID: @escaping (String) -> String?) throws(Refusal) {
    let query = request.query
    self.memberID = memberID
    buyer = query.value("user_id").map { $0 == "me" ? request.credential?.buyerID : $0 }
    member = query.value("member_id")
    let status = try query.word("status", among: Self.statuses)
    let several = try query.words("statuses", among: Self.statuses)
    statuses = status.map { [$0] } ?? several
    products = query.value("product_id").map { [$0] } ?? query.values("product_ids")
    plans = query.value("plan_id").map { [$0] } ?? query.values("plan_ids")
    hasPromoCodes = query.values("promo_code_ids") != nil
    created = try CreationFilter(query)
    let members = query.members("metadata")
    switch switches.metadataFilters {
    case .off: metadata = []
    case .on: metadata = members
    case .refuse:
      guard members.isEmpty else { throw .invalid("metadata", "is not a filter of this list") }
      metadata = []
    }
  }

  func matches(_ membership: MembershipRecord) -> Bool {
    (buyer.map { $0 == membership.buyerID } ?? true)
      && (member.map { $0 == memberID(membership.buyerID) } ?? true)
      && (statuses?.contains { Self.bucket($0, holds: membership) } ?? true)
      && (products?.contains(membership.productID) ?? true) && (plans?.contains(membership.planID) ?? true)
      // No membership of this sandbox has a promo code.
      && !hasPromoCodes && created.matches(membership.createdAt)
      && metadata.allSatisfy { membership.metadata[$0.key]?.string == $0.value }
  }

  /// A status, or one of the derived groups that no membership has as its status.
  private static func bucket(_ name: String, holds membership: MembershipRecord) -> Bool {
    switch name {
    case "trialing", "active", "past_due": membership.status == name && !membership.cancelAtPeriodEnd
    case "canceling": membership.cancelAtPeriodEnd && !membership.hasEnded
    case "paused": membership.isPaused
    case "expiring": membership.status == "completed" && membership.expiresAt != nil
    case "one_time": membership.status == "completed" && membership.expiresAt == nil
    // Every buyer of this sandbox has an account, and none is banned.
    case "unclaimed", "banned": false
    default: membership.status == name
    }
  }
}
