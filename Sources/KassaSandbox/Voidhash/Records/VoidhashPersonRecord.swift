import KassaJSON

/// A person: everything that is known of one or more distinct ids.
struct VoidhashPersonRecord: Record {
  static let kind = "voidhash_person"
  /// How many writes are remembered, to know one that comes again.
  private static let mostEventIDs = 200

  var id: String
  /// In the order in which they came.
  var distinctIDs: [VoidhashDistinctID]
  var email: String?
  var name: String?
  /// What was set; the newest write counts.
  private(set) var traits: JSON
  /// What was set once; the earliest write counts, and what was set counts more.
  private(set) var traitsOnce: JSON
  /// Perks that were given by hand.
  var perks: [String]
  private var eventIDs: [String]

  init(id: String, distinctIDs: [VoidhashDistinctID]) {
    self.id = id
    self.distinctIDs = distinctIDs
    traits = [:]
    traitsOnce = [:]
    perks = []
    eventIDs = []
  }

  /// The id of the signed-in user, if somebody ever signed in.
  var identifiedID: VoidhashDistinctID? { distinctIDs.first { !$0.isAnonymous } }

  mutating func apply(_ write: VoidhashTraits) {
    if let event = write.clientEventID {
      guard !eventIDs.contains(event) else { return }
      eventIDs = Array((eventIDs + [event]).suffix(Self.mostEventIDs))
    }
    email = write.email ?? email
    name = write.name ?? name
    traits = traits.merging(write.set.members)
    traitsOnce = write.setOnce.merging(traitsOnce.members)
  }

  /// Takes over what was known of somebody who turned out to be this person. What this person has counts more.
  mutating func absorb(_ other: VoidhashPersonRecord) {
    distinctIDs += other.distinctIDs
    email = email ?? other.email
    name = name ?? other.name
    traits = other.traits.merging(traits.members)
    traitsOnce = other.traitsOnce.merging(traitsOnce.members)
    perks += other.perks.filter { !perks.contains($0) }
    eventIDs = Array((other.eventIDs + eventIDs).suffix(Self.mostEventIDs))
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    distinctIDs = (try fields.strings("distinct_ids") ?? []).map { VoidhashDistinctID($0) }
    email = try fields.optionalString("email")
    name = try fields.optionalString("name")
    traits = try fields.object("traits").json
    traitsOnce = try fields.object("traits_once").json
    perks = try fields.strings("perks") ?? []
    eventIDs = try fields.strings("event_ids") ?? []
  }

  var document: JSON { summary.merging([("event_ids", .array(eventIDs.map { JSON($0) }))]) }

  /// What the state tells.
  var summary: JSON {
    [
      "id": JSON(id), "distinct_ids": .array(distinctIDs.map { JSON($0.text) }), "email": JSON(email),
      "name": JSON(name), "traits": traits, "traits_once": traitsOnce, "perks": .array(perks.map { JSON($0) }),
    ]
  }
}

/// A write to a person's attributes, from whichever route.
struct VoidhashTraits {
  var email: String?
  var name: String?
  var set: JSON = [:]
  var setOnce: JSON = [:]
  /// The same write, sent again, has the same.
  var clientEventID: String?

  var isEmpty: Bool { email == nil && name == nil && set.members.isEmpty && setOnce.members.isEmpty }
}

/// To which person a distinct id belongs.
struct VoidhashDistinctIDRecord: Record {
  static let kind = "voidhash_distinct_id"
  /// `VoidhashDistinctID.key`
  var id: String
  var personID: String

  init(_ distinctID: VoidhashDistinctID, personID: String) {
    id = distinctID.key
    self.personID = personID
  }

  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    personID = try fields.string("person_id")
  }

  var document: JSON { ["id": JSON(id), "person_id": JSON(personID)] }
}
