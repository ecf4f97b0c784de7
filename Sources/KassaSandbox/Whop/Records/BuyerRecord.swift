import KassaCore
import KassaJSON

/// A user of the service: somebody who bought, known by the e-mail address, or one of the seller's team.
struct BuyerRecord: Record {
  static let kind = "buyer"

  var id: String
  /// The user's member record on the account.
  var memberID: String
  var email: String
  var username: String
  var name: String?
  var isTeamMember: Bool
  var createdAt: Int64

  init(id: String, memberID: String, email: String, username: String, createdAt: Int64) {
    self.id = id
    self.memberID = memberID
    self.email = email
    self.username = username
    isTeamMember = false
    self.createdAt = createdAt
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly(["id", "member_id", "email", "username", "name", "is_team_member", "created_at"])
    id = try fields.string("id")
    memberID = try fields.string("member_id")
    email = try fields.string("email")
    username = try fields.string("username")
    name = try fields.optionalString("name")
    isTeamMember = try fields.optionalBool("is_team_member") ?? false
    createdAt = try fields.time("created_at") ?? Catalogue.beginning
  }

  var document: JSON {
    [
      "id": JSON(id), "member_id": JSON(memberID), "email": JSON(email), "username": JSON(username),
      "name": JSON(name), "is_team_member": JSON(isTeamMember), "created_at": JSON(Timestamp.iso8601(createdAt)),
    ]
  }
}

/// A card or account that a buyer saved by paying with it.
struct PaymentMethodRecord: Record {
  static let kind = "payment_method"

  var id: String
  var buyerID: String
  var instrument: Instrument

  init(id: String, buyerID: String, instrument: Instrument) {
    self.id = id
    self.buyerID = buyerID
    self.instrument = instrument
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    buyerID = try fields.string("buyer_id")
    guard let instrument = Instrument(rawValue: try fields.string("instrument")) else {
      throw fields.problem("instrument", "is not known")
    }
    self.instrument = instrument
  }

  var document: JSON {
    ["id": JSON(id), "buyer_id": JSON(buyerID), "instrument": JSON(instrument.rawValue)]
  }
}
