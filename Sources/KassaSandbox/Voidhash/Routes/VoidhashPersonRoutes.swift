import KassaCore
import KassaJSON

/// Who somebody is, and what is written about them.
extension VoidhashService {
  // MARK: Finding

  func person(of id: VoidhashDistinctID) -> VoidhashPersonRecord? {
    state.store.voidhash.distinctIDs[id.key].flatMap { state.store.voidhash.persons[$0.personID] }
  }

  /// The person, made if nobody has that id yet.
  func personMakingOne(_ id: VoidhashDistinctID) -> VoidhashPersonRecord {
    if let person = person(of: id) { return person }
    let name = state.makeID("person") { state.store.voidhash.persons[$0] != nil }
    let person = VoidhashPersonRecord(id: name, distinctIDs: [id])
    put(person)
    return person
  }

  private func put(_ person: VoidhashPersonRecord) {
    state.store.voidhash.persons.put(person)
    for id in person.distinctIDs where state.store.voidhash.distinctIDs[id.key]?.personID != person.id {
      state.store.voidhash.distinctIDs.put(VoidhashDistinctIDRecord(id, personID: person.id))
    }
  }

  /// Those whom the catalogue knows from the start.
  func meetKnownPersons() {
    for known in catalogue.persons {
      guard let first = known.distinctIDs.first, person(of: first) == nil else { continue }
      var person = personMakingOne(first)
      person.distinctIDs = known.distinctIDs
      person.perks = known.perks
      person.apply(VoidhashTraits(email: known.email, name: known.name, set: known.traits))
      put(person)
    }
  }

  // MARK: The document

  func person(_ caller: VoidhashCaller) throws(VoidhashRefusal) -> JSON {
    guard let person = person(of: caller.distinctID) else { throw .personNotFound }
    return document(of: person, for: caller)
  }

  private func document(
    of person: VoidhashPersonRecord, for caller: VoidhashCaller, as id: VoidhashDistinctID? = nil
  ) -> JSON {
    VoidhashPersonDocument(
      person: person, distinctID: id ?? caller.distinctID,
      holdings: holdings(of: person.id).filter { caller.mode.covers($0.environment) },
      showsPerks: caller.mode.covers(.production), now: now
    ).json
  }

  func holdings(of personID: String) -> [VoidhashHolding] {
    let owned = Set(state.store.voidhash.series.all.filter { $0.owners.contains(personID) }.map(\.id))
    let sold = Dictionary(
      grouping: owned.isEmpty ? [] : state.store.storeTransactions.all.filter { owned.contains($0.series) },
      by: \.series)
    let simulated = state.store.voidhash.developmentPurchases.all.filter { $0.personID == personID }
    return sold.keys.sorted().compactMap { VoidhashHolding(sold[$0] ?? [], in: catalogue, at: now) }
      + simulated.compactMap { purchase in
        catalogue.product(purchase.productSlug).map { VoidhashHolding(purchase, $0) }
      }
  }

  // MARK: Identify

  /// The id in the header is the one that somebody had so far.
  func identify(_ caller: VoidhashCaller, _ body: Fields) throws(VoidhashRefusal) -> JSON {
    let (target, write) = try Self.read { () throws(JSONShapeError) in
      (
        VoidhashDistinctID(try body.string("distinctId")),
        VoidhashTraits(
          email: try body.optionalString("email"), name: try body.optionalString("name"),
          set: try body.traits("traits") ?? [:])
      )
    }
    return document(of: try identify(caller.distinctID, as: target, write), for: caller, as: target)
  }

  /// Somebody who had an anonymous id says who they are: both ids are one person from then on.
  @discardableResult
  func identify(
    _ former: VoidhashDistinctID, as target: VoidhashDistinctID, _ write: VoidhashTraits
  ) throws(VoidhashRefusal) -> VoidhashPersonRecord {
    guard !target.isBlank else { throw .invalid("distinctId must not be blank.") }
    guard !target.isAnonymous else {
      throw .invalid("distinctId must not begin with \(VoidhashDistinctID.anonymousPrefix)")
    }
    guard former.isAnonymous else {
      guard var known = person(of: target) else { throw .personNotFound }
      // Only about oneself: another user's attributes are not this caller's to write.
      if former == target { known.apply(write) }
      put(known)
      return known
    }
    let stranger = person(of: former), known = person(of: target)
    if let stranger, stranger.id != known?.id, stranger.identifiedID != nil { throw .alreadyIdentified(target) }
    var person = known ?? stranger ?? personMakingOne(target)
    if let stranger, stranger.id != person.id {
      person.absorb(stranger)
      move(from: stranger.id, to: person.id)
    }
    for id in [former, target] where !person.distinctIDs.contains(id) { person.distinctIDs.append(id) }
    person.apply(write)
    put(person)
    return person
  }

  /// Everything that one person had becomes the other's, who is the same.
  private func move(from former: String, to person: String) {
    for var series in state.store.voidhash.series.all where series.owners.contains(former) {
      let others = series.owners.filter { $0 != former && $0 != person }
      series.owners = others + [person]
      state.store.voidhash.series.put(series)
    }
    for var purchase in state.store.voidhash.developmentPurchases.all where purchase.personID == former {
      purchase.personID = person
      state.store.voidhash.developmentPurchases.put(purchase)
    }
    state.store.voidhash.persons.remove(former)
  }

  // MARK: Attributes

  func writeTraits(_ caller: VoidhashCaller, _ body: Fields) throws(VoidhashRefusal) -> JSON {
    let write = try Self.read { () throws(JSONShapeError) in
      VoidhashTraits(
        email: try body.optionalString("email"), name: try body.optionalString("name"),
        set: try body.traits("traits") ?? [:], setOnce: try body.traits("setOnce") ?? [:],
        clientEventID: try body.optionalString("clientEventId"))
    }
    if person(of: caller.distinctID) == nil {
      guard caller.distinctID.isAnonymous else { throw .personNotFound }
      guard !write.isEmpty else { throw .invalid("There is nothing to write, and no person yet.") }
    }
    return document(of: apply(write, to: caller.distinctID), for: caller)
  }

  @discardableResult
  func apply(_ write: VoidhashTraits, to id: VoidhashDistinctID) -> VoidhashPersonRecord {
    var person = personMakingOne(id)
    person.apply(write)
    put(person)
    return person
  }
}
