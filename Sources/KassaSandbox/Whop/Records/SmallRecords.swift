import KassaCore
import KassaJSON

/// How far the sandbox's clock is ahead of its time source.
struct ClockRecord: Record {
  static let kind = "clock"
  let id = "clock"
  var offset: Int64

  init(offset: Int64) { self.offset = offset }

  init(_ fields: Fields) throws(JSONShapeError) { offset = try fields.integer("offset") }
  var document: JSON { ["offset": JSON(offset)] }
}

/// An access token that `POST /access_tokens` gave out.
struct TokenRecord: Record {
  static let kind = "token"
  /// The token itself.
  var id: String
  /// The key or token that asked for it: one that was revoked takes its tokens along.
  var parent: String
  var buyerID: String?
  var permissions: Permissions
  var expiresAt: Int64

  init(id: String, parent: String, buyerID: String?, permissions: Permissions, expiresAt: Int64) {
    self.id = id
    self.parent = parent
    self.buyerID = buyerID
    self.permissions = permissions
    self.expiresAt = expiresAt
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    parent = try fields.string("parent")
    buyerID = try fields.optionalString("buyer_id")
    permissions = Permissions(try fields.strings("permissions") ?? [])
    expiresAt = try fields.integer("expires_at")
  }

  var document: JSON {
    [
      "id": JSON(id), "parent": JSON(parent), "buyer_id": JSON(buyerID), "permissions": permissions.document,
      "expires_at": JSON(expiresAt),
    ]
  }
}

/// An API key that an action revoked.
struct RevokedKeyRecord: Record {
  static let kind = "revoked_key"
  /// The key itself.
  var id: String

  init(id: String) { self.id = id }

  init(_ fields: Fields) throws(JSONShapeError) { id = try fields.string("id") }
  var document: JSON { ["id": JSON(id)] }
}

/// The answer that an idempotency key stands for.
struct ReplayRecord: Record {
  static let kind = "replay"
  /// The caller and the key.
  var id: String
  /// What was asked: the same key may not stand for anything else.
  var request: String
  var status: Int64
  var body: JSON
  var createdAt: Int64

  init(id: String, request: String, status: Int, body: JSON, createdAt: Int64) {
    self.id = id
    self.request = request
    self.status = Int64(status)
    self.body = body
    self.createdAt = createdAt
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    request = try fields.string("request")
    status = try fields.integer("status")
    body = fields.json["body"] ?? .null
    createdAt = try fields.integer("created_at")
  }

  var document: JSON {
    [
      "id": JSON(id), "request": JSON(request), "status": JSON(status), "body": body,
      "created_at": JSON(createdAt),
    ]
  }
}
