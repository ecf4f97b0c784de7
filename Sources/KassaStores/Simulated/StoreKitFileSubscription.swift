import KassaCore
import KassaJSON

extension StoreKitFileReader {
  /// The group that a subscription belongs to.
  struct Group {
    var id: String
    var name: String?
  }

  mutating func readSubscriptions() throws(JSONShapeError) {
    var ids: [String: String] = [:]
    for fields in try file.objects("subscriptionGroups") {
      note(fields, StoreKitFileKeys.group)
      let id = try fields.string("id")
      if let earlier = ids.updateValue(fields.path, forKey: id) {
        throw JSONShapeError(path: fields.path, problem: "has the id \(quoted(id)), which \(earlier) has already")
      }
      let localized = try localization(fields)?.optionalString("displayName")
      let name = try fields.optionalString("name")
      let group = Group(id: id, name: [localized, name].lazy.compactMap(\.self).first { !$0.isEmpty })
      for subscription in try fields.objects("subscriptions") { try readSubscription(subscription, group: group) }
    }
    for fields in try file.objects("subscriptions") { try readSubscription(fields, group: nil) }
  }

  /// `group` is nil in lists of files that were written by hand, where the subscription itself says its group; without a
  /// word about it all are in one.
  mutating func readSubscription(_ fields: Fields, group: Group?) throws(JSONShapeError) {
    note(fields, StoreKitFileKeys.subscription)
    let kind = try self.kind(fields) ?? .subscription
    guard kind == .subscription else {
      throw JSONShapeError(path: fields.place(of: "type"), problem: "must be \"RecurringSubscription\" here")
    }
    var product = try product(fields, kind)
    let ownGroup = try fields.optionalString("subscriptionGroupID")
    let ownNumber = try fields.optionalInteger("subscriptionGroupNumber").map { String($0) }
    // Where the two differ, the group in which a subscription stands is the one that Xcode shows.
    if let group, let ownGroup, ownGroup != group.id { note(fields.place(of: "subscriptionGroupID")) }
    let group = group ?? Group(id: ownGroup ?? ownNumber ?? "subscriptions")
    try readBillingPlans(fields)
    let level = try fields.required(fields.count("groupNumber", 1...10_000), "groupNumber")
    let periodKey = "recurringSubscriptionPeriod"
    product.subscription = StoreSubscription(
      groupID: group.id, groupName: group.name, level: level,
      period: try fields.required(fields.period(periodKey), periodKey),
      offers: try offers(fields, productID: product.id))
    try add(product, at: fields)
  }

  /// Since format 5 a yearly subscription may be sold for twelve monthly payments, too. That plan is not simulated.
  private mutating func readBillingPlans(_ fields: Fields) throws(JSONShapeError) {
    for plan in try fields.objects("billingPlans") {
      note(plan, StoreKitFileKeys.billingPlan)
      let isEnabled = try plan.optionalBool("isEnabled") ?? true
      let isUpfront = try isPaidUpfront(plan)
      if isEnabled != isUpfront { note(plan.path) }
    }
  }

  /// Whether a plan, or the plan of an offer, is the one that every subscription has.
  func isPaidUpfront(_ fields: Fields) throws(JSONShapeError) -> Bool {
    try fields.optionalString("billingPlanType").map { $0 == "BILLED_UPFRONT" } ?? true
  }
}
