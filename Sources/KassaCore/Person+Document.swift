import KassaJSON

/// The person of `docs/documents.md`, without what is derived from the clock. The storage keeps the same form.
extension Person {
  public var document: JSON {
    [
      "distinct_id": JSON(distinctID.text), "person_id": JSON(personID), "email": JSON(email), "name": JSON(name),
      "grants": .array(grants.map(\.document)),
      "subscriptions": [
        "current": currentSubscription?.document ?? .null, "history": .array(subscriptions.map(\.document)),
      ],
      "purchases": .array(purchases.map(\.document)),
    ]
  }

  public init(document: JSON) throws(JSONShapeError) {
    let fields = try Fields(document)
    let subscriptions = try fields.object("subscriptions")
    self.init(
      distinctID: DistinctID(try fields.string("distinct_id")),
      personID: try fields.optionalString("person_id"),
      email: try fields.optionalString("email"),
      name: try fields.optionalString("name"),
      grants: try fields.objects("grants").read(Grant.init),
      currentSubscription: try subscriptions.optionalObject("current").map(CurrentSubscription.init),
      subscriptions: try subscriptions.objects("history").read(Subscription.init),
      purchases: try fields.objects("purchases").read(Purchase.init))
  }
}

extension Person.Grant {
  public var document: JSON {
    [
      "perk": JSON(perk), "status": JSON(status), "source": JSON(source), "source_id": JSON(sourceID),
      "source_person_id": JSON(sourcePersonID), "expires_at": JSON(expiresAt),
    ]
  }

  init(_ row: Fields) throws(JSONShapeError) {
    self.init(
      perk: try row.string("perk"), status: try row.string("status"), source: try row.optionalString("source"),
      sourceID: try row.optionalString("source_id"), sourcePersonID: try row.optionalString("source_person_id"),
      expiresAt: try row.optionalInteger("expires_at"))
  }
}

extension Person.CurrentSubscription {
  public var document: JSON {
    [
      "status": JSON(status), "product_id": JSON(productID), "subscription_id": JSON(subscriptionID),
      "expires_at": JSON(expiresAt),
    ]
  }

  init(_ row: Fields) throws(JSONShapeError) {
    self.init(
      status: try row.string("status"), productID: try row.optionalString("product_id"),
      subscriptionID: try row.optionalString("subscription_id"), expiresAt: try row.optionalInteger("expires_at"))
  }
}

extension Person.Subscription {
  public var document: JSON {
    [
      "subscription_id": JSON(subscriptionID), "product_id": JSON(productID), "status": JSON(status),
      "starts_at": JSON(startsAt), "expires_at": JSON(expiresAt), "canceled_at": JSON(canceledAt),
      "is_trial": JSON(isTrial), "source_person_id": JSON(sourcePersonID),
    ]
  }

  init(_ row: Fields) throws(JSONShapeError) {
    self.init(
      subscriptionID: try row.string("subscription_id"), productID: try row.optionalString("product_id"),
      status: try row.string("status"), startsAt: try row.integer("starts_at"),
      expiresAt: try row.optionalInteger("expires_at"), canceledAt: try row.optionalInteger("canceled_at"),
      isTrial: try row.bool("is_trial"), sourcePersonID: try row.optionalString("source_person_id"))
  }
}

extension Person.Purchase {
  public var document: JSON {
    [
      "purchase_id": JSON(purchaseID), "product_id": JSON(productID), "provider": JSON(provider),
      "type": JSON(kind), "created_at": JSON(createdAt), "source_person_id": JSON(sourcePersonID),
    ]
  }

  init(_ row: Fields) throws(JSONShapeError) {
    self.init(
      purchaseID: try row.string("purchase_id"), productID: try row.optionalString("product_id"),
      provider: try row.string("provider"), kind: try row.string("type"), createdAt: try row.integer("created_at"),
      sourcePersonID: try row.optionalString("source_person_id"))
  }
}

extension [Fields] {
  /// A value of each; the first row that cannot be read ends it.
  public func read<Value>(_ row: (Fields) throws(JSONShapeError) -> Value) throws(JSONShapeError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(count)
    for fields in self { values.append(try row(fields)) }
    return values
  }
}
