import KassaJSON

/// An event that was taken. The same, sent again, is taken and does nothing.
struct VoidhashEventRecord: Record {
  static let kind = "voidhash_event"
  /// The client's uuid.
  var id: String
  var name: String
  var distinctID: VoidhashDistinctID
  var receivedAt: Int64

  init(id: String, name: String, distinctID: VoidhashDistinctID, receivedAt: Int64) {
    self.id = id
    self.name = name
    self.distinctID = distinctID
    self.receivedAt = receivedAt
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("uuid")
    name = try fields.string("event")
    distinctID = VoidhashDistinctID(try fields.string("distinct_id"))
    receivedAt = try fields.integer("received_at")
  }

  var document: JSON {
    [
      "uuid": JSON(id), "event": JSON(name), "distinct_id": JSON(distinctID.text), "received_at": JSON(receivedAt),
    ]
  }
}

/// How often a route was asked, also where a fault kept the request from being carried out.
struct VoidhashRequestCount: Record {
  static let kind = "voidhash_request"
  /// Method and path.
  var id: String
  var count: Int64

  init(id: String, count: Int64) {
    self.id = id
    self.count = count
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("route")
    count = try fields.integer("count")
  }

  var document: JSON { ["route": JSON(id), "count": JSON(count)] }
}

/// The key that signs promotional offers.
struct VoidhashOfferKeyRecord: Record {
  static let kind = "voidhash_offer_key"
  /// What Apple calls the key identifier.
  var id: String
  /// The private key: DER in base64url.
  var key: String

  init(id: String, key: String) {
    self.id = id
    self.key = key
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    key = try fields.string("key")
  }

  var document: JSON { ["id": JSON(id), "key": JSON(key)] }
}
