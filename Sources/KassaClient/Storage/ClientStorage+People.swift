import KassaCore
import KassaJSON
import KassaPlatform

/// Who was asking, what the service said of them, and what it has yet to hear of them.
extension ClientStorage {
  // MARK: Identity

  func anonymousID() throws(DatabaseError) -> DistinctID? { try fact("anonymous_id").map(DistinctID.init) }

  /// The one that is there, or this one, whichever process is first.
  func anonymousID(orElse new: DistinctID) throws(DatabaseError) -> DistinctID {
    try database.run("INSERT OR IGNORE INTO facts VALUES ('anonymous_id', ?)", [.text(new.text)])
    return try anonymousID() ?? new
  }

  /// Who asks from now on, and what the service has to hear of that, in one step. Returns the numbers of the writes.
  @discardableResult
  func save(
    appUserID: AppUserID?, anonymousID: DistinctID, writes: [PersonWrite], at now: Int64, scope: String?
  ) throws(DatabaseError) -> [Int64] {
    try database.transaction { () throws(DatabaseError) -> [Int64] in
      try setAppUserID(appUserID)
      if try self.anonymousID() != anonymousID {
        try database.run("INSERT OR REPLACE INTO facts VALUES ('anonymous_id', ?)", [.text(anonymousID.text)])
        // What was listed for nobody was listed for somebody else.
        if let scope {
          try database.run("DELETE FROM listings WHERE scope = ? AND app_user_id = ''", [.text(scope)])
        }
      }
      guard let scope else { return [] }
      var numbers: [Int64] = []
      for write in writes {
        if let number = try add(write, at: now, scope: scope) { numbers.append(number) }
      }
      return numbers
    }
  }

  // MARK: Writes that wait

  /// What the service has yet to hear of a person.
  enum PersonWrite: Equatable {
    case identify(Identification)
    case attributes(Attributes, of: DistinctID)
    /// Damaged: nothing can be sent of it.
    case unreadable(kind: String, of: DistinctID)
  }

  func add(_ write: PersonWrite, at now: Int64, scope: String) throws(DatabaseError) -> Int64? {
    try database.run(
      "INSERT INTO outbox (scope, kind, app_user_id, created_at, content) VALUES (?, ?, ?, ?, ?) RETURNING id",
      [.text(scope), .text(write.kind), .text(write.person.text), .integer(now), .text(write.content.text())]
    ) { $0.integer(0) }.first
  }

  func replace(_ number: Int64, with write: PersonWrite) throws(DatabaseError) {
    try database.run(
      "UPDATE outbox SET app_user_id = ?, content = ? WHERE id = ?",
      [.text(write.person.text), .text(write.content.text()), .integer(number)])
  }

  /// Oldest first.
  func personWrites(scope: String) throws(DatabaseError) -> [(number: Int64, write: PersonWrite)] {
    try database.run(
      "SELECT id, kind, app_user_id, content FROM outbox WHERE scope = ? AND kind != 'claim' ORDER BY id",
      [.text(scope)]
    ) { ($0.integer(0), PersonWrite(kind: $0.text(1), person: DistinctID($0.text(2)), content: $0.text(3))) }
  }

  func removePersonWrite(_ number: Int64) throws(DatabaseError) { try removeClaim(number) }

  // MARK: Answers of the service

  struct StoredPerson {
    var person: Person
    var fetchedAt: Int64
  }

  func person(_ id: DistinctID, scope: String) throws(DatabaseError) -> StoredPerson? {
    try database.run(
      "SELECT document, fetched_at FROM people WHERE scope = ? AND distinct_id = ?", [.text(scope), .text(id.text)]
    ) { row in
      (try? Person(document: JSON.parse(row.text(0)))).map {
        StoredPerson(person: $0, fetchedAt: row.integer(1))
      }
    }.first ?? nil
  }

  /// nil forgets them.
  func save(
    person: StoredPerson?, of id: DistinctID, listing: (appUserID: AppUserID?, at: Int64)?, answers: KeptAnswers?,
    scope: String
  ) throws(DatabaseError) {
    try database.transaction { () throws(DatabaseError) in
      if let listing { try save(listing, scope) }
      if let person {
        try database.run(
          "INSERT OR REPLACE INTO people VALUES (?, ?, ?, ?)",
          [.text(scope), .text(id.text), .text(person.person.document.text()), .integer(person.fetchedAt)])
      } else {
        try database.run("DELETE FROM people WHERE scope = ? AND distinct_id = ?", [.text(scope), .text(id.text)])
      }
      if let answers { try insert(answers, scope) }
    }
  }

  /// Nobody else is asked about any more.
  func forgetPeople(but id: DistinctID, scope: String) throws(DatabaseError) {
    try database.run("DELETE FROM people WHERE scope = ? AND distinct_id != ?", [.text(scope), .text(id.text)])
  }

  struct StoredCatalogue {
    var catalogue: Catalogue
    var appVersion: String?
    var fetchedAt: Int64
  }

  func catalogue(scope: String) throws(DatabaseError) -> StoredCatalogue? {
    try database.run(
      "SELECT document, app_version, fetched_at FROM catalogues WHERE scope = ?", [.text(scope)]
    ) { row in
      (try? Catalogue(document: JSON.parse(row.text(0)))).map {
        StoredCatalogue(catalogue: $0, appVersion: row.optionalText(1), fetchedAt: row.integer(2))
      }
    }.first ?? nil
  }

  func save(catalogue: StoredCatalogue, answers: KeptAnswers?, scope: String) throws(DatabaseError) {
    try database.transaction { () throws(DatabaseError) in
      try database.run(
        "INSERT OR REPLACE INTO catalogues VALUES (?, ?, ?, ?)",
        [
          .text(scope), .text(catalogue.catalogue.document.text()), DatabaseValue(catalogue.appVersion),
          .integer(catalogue.fetchedAt),
        ])
      if let answers { try insert(answers, scope) }
    }
  }
}

extension ClientStorage.PersonWrite {
  /// Who it is sent about.
  var person: DistinctID {
    switch self {
    case .identify(let identification): identification.id
    case .attributes(_, let id), .unreadable(_, let id): id
    }
  }

  fileprivate var kind: String {
    switch self {
    case .identify: "identify"
    case .attributes: "attributes"
    case .unreadable(let kind, _): kind
    }
  }

  fileprivate var content: JSON {
    switch self {
    case .identify(let identification):
      identification.attributes.content.merging([("previous", JSON(identification.previous.text))])
    case .attributes(let attributes, _): attributes.content
    case .unreadable: .null
    }
  }

  fileprivate init(kind: String, person: DistinctID, content: String) {
    self = Self.readable(kind, person, content) ?? .unreadable(kind: kind, of: person)
  }

  private static func readable(_ kind: String, _ person: DistinctID, _ content: String) -> Self? {
    guard let content = try? JSON.parse(content) else { return nil }
    let attributes = Attributes(
      set: content["set"] ?? [:], setOnce: content["set_once"] ?? [:], writeID: content["write_id"]?.string)
    switch kind {
    case "identify":
      guard let previous = content["previous"]?.string else { return nil }
      return .identify(Identification(previous: DistinctID(previous), id: person, attributes: attributes))
    case "attributes": return .attributes(attributes, of: person)
    default: return nil
    }
  }
}

extension Attributes {
  fileprivate var content: JSON { ["set": set, "set_once": setOnce, "write_id": JSON(writeID)] }
}
