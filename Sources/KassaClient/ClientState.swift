import KassaCore
import KassaJSON
import KassaPlatform

/// Everything that the queries answer from, behind one lock that is never held for long, and the one place where a
/// change of it becomes visible: as answers, as a revision, and as an event.
final class ClientState: Sendable {
  /// What is known. Rows of the storage's current scope; the rest of the client only ever changes this value.
  struct Knowledge {
    var ownership: Ownership
    var memberships: [String: Membership] = [:]
    /// By `StoreTransaction.key`.
    var receipts: [String: Receipt] = [:]
    var person: KnownPerson?
    var catalogue: Catalogue?
    /// Who asks while nobody is logged in, where the back end has people.
    var anonymousID: DistinctID?
    var storefront: KnownStorefront?
    var policy = EntitlementPolicy()
    var plans: PlanList?
    var clock: TrustedClock
    /// When the service last listed everything for this user, or for nobody.
    var listedAt: [AppUserID?: Int64] = [:]
    var setup: SetupFacts?
    var isInitialized = false
    /// Grows with each login and logout, where the back end has people.
    var identityRevision = 0
    /// Logins and logouts that are not on disk yet.
    var unsavedIdentities = 0
    /// When the service last answered with its own time, on the boot clock.
    var serverSeenAt: Int64?
  }

  /// What queries need to know of the configuration.
  struct SetupFacts {
    var isSandbox: Bool
    var hasStore: Bool
    /// Those that the store sells.
    var mappedPlans: Set<String>
    /// Makes an id for somebody who has not logged in, of a UUID; nil where no back end asks for one.
    var anonymousID: (@Sendable (String) -> DistinctID)?
    var offlineDays: Int64
    var isStrict: Bool
    var priceText: @Sendable (Decimal, String, Int?) -> String
  }

  /// In whose shop the user buys, and who says so.
  struct KnownStorefront: Equatable {
    enum Source: String { case store, region, locale }
    var storefront: Storefront
    var source: Source
  }

  /// Plans are kept as the text of the storage until somebody asks.
  enum PlanList {
    case stored(String)
    case loaded([Plan])
  }

  private struct Published {
    var knowledge: Knowledge
    /// Of every membership known, newest first.
    var entitlements: [Entitlement] = []
    var lastAnswers: [Answer] = []
    var answers = AnswerList()
    /// The answers that an earlier run left, as long as nothing else of the storage has been read.
    var early: ClientStorage.EarlyAnswers?
    var revision: UInt64 = 1
    /// The next moment at which an answer changes by itself.
    var nextEnd: Int64?
    /// The list for `kassa_memberships`, built when first asked for.
    var memberships: JSON?
    var plans: JSON?
    var reportedProducts: Set<String> = []

    mutating func note(_ subject: Change.Subject, _ cause: Change.Cause) -> Change {
      revision += 1
      return Change(what: subject, revision: revision, cause: cause)
    }
  }

  private let published: Locked<Published>
  private let queue: EventQueue
  private let time: any TimeSource
  let answers: AnswerTable
  /// Called on any thread when `nextEndOnBootClock` may have moved.
  let nextEndMoved: @Sendable () -> Void

  init(
    knowledge: Knowledge, queue: EventQueue, time: any TimeSource, answers: AnswerTable,
    nextEndMoved: @escaping @Sendable () -> Void
  ) {
    self.queue = queue
    self.time = time
    self.answers = answers
    self.nextEndMoved = nextEndMoved
    published = Locked(Published(knowledge: knowledge))
  }

  // MARK: Changing

  /// Changes what is known and publishes it; equal answers make no event.
  func change<Result>(_ cause: Change.Cause, _ edit: (inout Knowledge) -> Result) -> Result {
    let boot = time.bootNanoseconds
    let (result, changes) = published.with { state -> (Result, [Change]) in
      let (identity, plans) = (state.knowledge.ownership.identity, state.knowledge.plans)
      let (storefront, person) = (state.knowledge.storefront, state.knowledge.person)
      let result = edit(&state.knowledge)
      var changes: [Change] = []
      let hadPlans = state.early?.hasPlans ?? false
      if publish(&state, boot: boot) {
        state.memberships = nil
        changes.append(state.note(.entitlements, cause))
      }
      if identity != state.knowledge.ownership.identity { changes.append(state.note(.identity, cause)) }
      if storefront?.storefront != state.knowledge.storefront?.storefront {
        changes.append(state.note(.storefront, cause))
      }
      if person?.person != state.knowledge.person?.person { changes.append(state.note(.person, cause)) }
      if Self.differ(plans, state.knowledge.plans) {
        state.plans = nil
        if !hadPlans { changes.append(state.note(.plans, cause)) }
      }
      // The configuration also says how prices are written.
      if cause == .configure { state.plans = nil }
      return (result, changes)
    }
    announce(changes)
    nextEndMoved()
    return result
  }

  /// Whether two lists differ; text is only read where it has to be.
  private static func differ(_ left: PlanList?, _ right: PlanList?) -> Bool {
    switch (left, right) {
    case (nil, nil): false
    case (.stored(let left), .stored(let right)) where left == right: false
    // As a rule it is the very same list, which is not looked through.
    case (.loaded(let left), .loaded(let right)) where left == right: false
    case (nil, _), (_, nil): true
    default: plans(of: left).filter(\.isListed) != plans(of: right).filter(\.isListed)
    }
  }

  private func announce(_ changes: [Change]) {
    for change in changes { queue.put(.changed(what: change.what, change.document)) }
  }

  /// Changes what no answer shows.
  func edit(_ body: (inout Knowledge) -> Void) { published.with { body(&$0.knowledge) } }

  /// Publishes the answers that an earlier run left. Until `change` brings the rest, there are no others.
  func publish(_ early: ClientStorage.EarlyAnswers, _ edit: (inout Knowledge) -> Void) {
    let changes = published.with { state -> [Change] in
      edit(&state.knowledge)
      state.knowledge.listedAt = [state.knowledge.ownership.identity.appUserID: early.listedAt]
      state.early = early
      state.answers = early.list
      publishAnswers(state)
      var changes: [Change] = []
      if early.list.isAnythingVisible { changes.append(state.note(.entitlements, .configure)) }
      if early.hasPlans { changes.append(state.note(.plans, .configure)) }
      return changes
    }
    announce(changes)
  }

  /// There are answers, but nothing yet to tell of them.
  var isEarly: Bool { published.with { $0.early != nil } }

  /// What the next start is to answer from; nil while the service has not listed everything.
  var answersToKeep: ClientStorage.KeptAnswers? {
    published.with { state in
      let (user, policy) = (state.knowledge.ownership.identity.appUserID, state.knowledge.policy)
      guard state.early == nil, let listedAt = state.knowledge.listedAt[user] else { return nil }
      return ClientStorage.KeptAnswers(list: state.answers, appUserID: user, policy: policy, listedAt: listedAt)
    }
  }

  /// Derives all answers anew, and tells whether they are others. Under the lock.
  private func publish(_ state: inout Published, boot: Int64) -> Bool {
    let knowledge = state.knowledge
    let now = knowledge.clock.now(bootNanoseconds: boot)
    var entitlements = knowledge.memberships.values.map {
      Entitlement($0, ownership: knowledge.ownership, policy: knowledge.policy)
    }
    entitlements += knowledge.receipts.values.map { Entitlement($0, policy: knowledge.policy) }
    if let person = knowledge.person {
      entitlements += person.person.grants.map { Entitlement($0, of: person, policy: knowledge.policy) }
    }
    entitlements.sort { $0.isNewer(than: $1) }
    let answers = entitlements.filter(\.isVisible).map { Answer($0, at: now) }
    let list = AnswerList(entitlements, knowledge.catalogue)
    let isChanged = state.early.map { $0.list != list } ?? (answers != state.lastAnswers)
    state.early = nil
    state.entitlements = entitlements
    state.lastAnswers = answers
    state.answers = list
    state.nextEnd = entitlements.compactMap { $0.nextChange(after: now) }.min()
    publishAnswers(state)
    return isChanged
  }

  private func publishAnswers(_ state: Published) {
    followInjectedClock()
    let clock = state.knowledge.clock
    func end(_ endsAt: Int64) -> AnswerTable.End {
      endsAt == .max ? .never : .at(bootNanoseconds: clock.bootNanoseconds(at: endsAt))
    }
    func table(_ grants: [AnswerList.Grant]) -> [AnswerTable.Grant] {
      grants.map { AnswerTable.Grant($0.id, end: end($0.endsAt)) }
    }
    let known = state.knowledge.policy.productIDs.map { $0.union(state.reportedProducts) }
    answers.publish(
      table(state.answers.grants), perks: table(state.answers.perks), subscription: state.answers.lastEnd.map(end),
      known: known)
  }

  /// What can be seen of an entitlement from outside, apart from when it was last confirmed.
  private struct Answer: Equatable {
    let entitlement: Entitlement
    let isActive: Bool
    let isStale: Bool

    init(_ entitlement: Entitlement, at now: Int64) {
      self.entitlement = entitlement
      isActive = entitlement.isActive(at: now)
      isStale = entitlement.isStale(at: now)
    }

    static func == (left: Answer, right: Answer) -> Bool {
      left.isActive == right.isActive && left.isStale == right.isStale
        && left.entitlement.says(theSameAs: right.entitlement)
    }
  }

  // MARK: Time

  /// Answers are held against the machine's clock unless another was injected; that one they are told. Under the lock.
  private func followInjectedClock() {
    if !(time is SystemTime) { answers.setClock(.standing(bootNanoseconds: time.bootNanoseconds)) }
  }

  /// After an injected clock was moved, before `kassa_has_access` is asked.
  func clockMoved() { published.with { _ in followInjectedClock() } }

  /// The trusted time.
  var now: Int64 {
    let boot = time.bootNanoseconds
    return published.with { $0.knowledge.clock.now(bootNanoseconds: boot) }
  }

  /// The service answered, at this time by its own clock.
  func correctClock(serverMilliseconds: Int64) {
    let boot = time.bootNanoseconds
    let moved = published.with { state -> Bool in
      let before = state.knowledge.clock.now(bootNanoseconds: boot)
      state.knowledge.clock.correct(serverMilliseconds: serverMilliseconds, bootNanoseconds: boot)
      state.knowledge.serverSeenAt = boot
      return state.knowledge.clock.now(bootNanoseconds: boot) != before
    }
    if moved { change(.expiry) { _ in } }
  }

  /// The next moment at which an answer changes by itself, by the trusted time.
  var nextEnd: Int64? { published.with { $0.nextEnd } }
  /// The same on the boot clock.
  var nextEndOnBootClock: Int64? {
    published.with { state in state.nextEnd.map(state.knowledge.clock.bootNanoseconds(at:)) }
  }

  /// Lets what has ended end: answers, revision and event.
  func expireIfDue() {
    let boot = time.bootNanoseconds
    let isDue = published.with { state in
      state.nextEnd.map { $0 <= state.knowledge.clock.now(bootNanoseconds: boot) } ?? false
    }
    if isDue { change(.expiry) { _ in } }
  }

  // MARK: Identity

  /// The switch to a user, and the claim on what this device bought as a guest, which the service has yet to hear of.
  func logIn(_ appUserID: AppUserID, temporaryID: Int64) -> PendingClaim {
    let now = self.now
    return change(.login) { knowledge in
      let guests = knowledge.memberships.values.filter { knowledge.ownership.owner(of: $0) == nil }
      // The service's clock, which dates purchases, may be a little ahead of ours.
      let loggedInAt = guests.map(\.createdAt).reduce(now, max)
      let claim = PendingClaim(id: temporaryID, appUserID: appUserID, loggedInAt: loggedInAt)
      knowledge.ownership.identity.appUserID = appUserID
      knowledge.ownership.pendingClaims.append(claim)
      knowledge.unsavedIdentities += 1
      return claim
    }
  }

  /// - Parameter uuid: for the id of whoever asks from now on, where the back end has people.
  func logOut(uuid: String) {
    change(.logout) { knowledge in
      knowledge.ownership.identity.appUserID = nil
      knowledge.unsavedIdentities += 1
      if let anonymousID = knowledge.setup?.anonymousID {
        knowledge.anonymousID = anonymousID(uuid)
        knowledge.person = nil
        knowledge.identityRevision += 1
        knowledge.listedAt[nil] = nil
      }
    }
  }

  /// Who asked, where the back end has people.
  struct PeopleIdentity {
    var appUserID: AppUserID?
    var anonymousID: DistinctID?
    /// Of the switch away from them.
    var revision: Int
  }

  /// The switch to a user, what the service has to hear of it, and who asked before. Somebody without a name becomes the
  /// user; from one user to another nothing goes over, so the service is told of a new nameless one (Voidhash,
  /// `identify`).
  func identify(
    _ user: AppUserID, _ attributes: Attributes, uuid: String
  ) -> (identification: Identification, before: PeopleIdentity) {
    change(.login) { knowledge in
      knowledge.identityRevision += 1
      let before = PeopleIdentity(
        appUserID: knowledge.ownership.identity.appUserID, anonymousID: knowledge.anonymousID,
        revision: knowledge.identityRevision)
      let new = knowledge.setup?.anonymousID?(uuid) ?? DistinctID(uuid)
      let previous = before.appUserID == nil ? before.anonymousID ?? new : new
      if before.appUserID != user { knowledge.person = nil }
      knowledge.ownership.identity.appUserID = user
      knowledge.unsavedIdentities += 1
      return (Identification(previous: previous, id: DistinctID(user.text), attributes: attributes), before)
    }
  }

  /// Whom calls are made as, where the back end has people.
  var distinctID: DistinctID? {
    published.with { $0.knowledge.ownership.identity.appUserID.map { DistinctID($0.text) } ?? $0.knowledge.anonymousID }
  }

  var hasPeople: Bool { published.with { $0.knowledge.setup?.anonymousID != nil } }

  /// The person who asks, and how old that is.
  var person: JSON {
    expireIfDue()
    return published.with { $0.knowledge.person }.map(document(of:)) ?? .null
  }

  /// How hosts see a person.
  func document(of known: KnownPerson) -> JSON {
    let now = self.now
    let policy = published.with { $0.knowledge.policy }
    let grants = known.person.grants.map { grant in
      grant.document.merging([("active", JSON(Entitlement(grant, of: known, policy: policy).isActive(at: now)))])
    }
    return stamped(
      known.person.document.merging([
        ("grants", .array(grants)), ("fetched_at", JSON(known.fetchedAt)),
        ("from", known.isFromNetwork ? "network" : "cache"), ("stale", JSON(known.isStale(at: now))),
        ("expired", JSON(known.isExpired(at: now))),
      ]))
  }

  // MARK: Asking

  /// A product that nothing grants was asked for: outside the configured ones that is a mistake, said once for each.
  func noteUngranted(_ productID: String) {
    let isNew = published.with { state -> Bool in
      guard let products = state.knowledge.policy.productIDs, !products.contains(productID) else { return false }
      // A host that asks for made-up ids shall not fill the memory.
      guard state.reportedProducts.count < Constants.reportsOfOneKind, state.reportedProducts.insert(productID).inserted
      else {
        return false
      }
      publishAnswers(state)
      return true
    }
    guard isNew else { return }
    queue.put(
      .diagnostic(
        "product_not_configured",
        "\"\(productID.quoted)\" is not among the configuration's product_ids, so the answer is false",
        ["product_id": JSON(productID)]))
  }

  /// A copy of everything known.
  var knowledge: Knowledge { published.with { $0.knowledge } }
  var identity: Identity { published.with { $0.knowledge.ownership.identity } }
  var isInitialized: Bool { published.with { $0.knowledge.isInitialized } }
  /// The service has listed everything for whoever asks now, in this run or an earlier one.
  var hasListing: Bool { published.with { $0.knowledge.listedAt[$0.knowledge.ownership.identity.appUserID] != nil } }
  var isConfigured: Bool { published.with { $0.knowledge.setup != nil } }
  var isSandbox: Bool { published.with { $0.knowledge.setup?.isSandbox ?? false } }
  var supportsExternalPurchases: Bool { published.with { $0.knowledge.supportsExternalPurchases } }

  var revision: UInt64 {
    expireIfDue()
    return published.with { $0.revision }
  }

  /// Memberships that are active now, newest first.
  var memberships: JSON {
    expireIfDue()
    let now = self.now
    let (ready, entitlements, revision) = published.with { ($0.memberships, $0.entitlements, $0.revision) }
    if let ready { return ready }
    let list = JSON.array(
      entitlements.filter { $0.isActive(at: now) }.compactMap { entitlement in
        (entitlement.membership?.document(isActive: true, isClaimed: entitlement.isClaimed)).map(stamped)
      })
    published.with { if $0.revision == revision { $0.memberships = list } }
    return list
  }

  var isAnythingActive: Bool {
    let now = self.now
    return published.with { $0.entitlements.contains { $0.isActive(at: now) } }
  }

  var entitlements: JSON {
    expireIfDue()
    let now = self.now
    let entitlements = published.with { $0.entitlements }
    return .array(entitlements.filter(\.isVisible).map { stamped($0.document(at: now)) })
  }

  var plans: JSON {
    let (ready, list, setup, revision) = published.with {
      ($0.plans, $0.knowledge.plans, $0.knowledge.setup, $0.revision)
    }
    if let ready { return ready }
    guard let setup else { return [] }
    let plans = JSON.array(
      Self.plans(of: list).filter(\.isListed).map { plan in
        var plan = plan
        // The price of a store that is gone, or sells it no more, is none.
        if !setup.mappedPlans.contains(plan.id) { plan.storeDisplayPrice = nil }
        return stamped(plan.document(text: setup.priceText))
      })
    published.with { if $0.revision == revision { $0.plans = plans } }
    return plans
  }

  /// Listed or not.
  var loadedPlans: [Plan] { Self.plans(of: published.with { $0.knowledge.plans }) }

  private static func plans(of list: PlanList?) -> [Plan] {
    switch list {
    case .loaded(let plans): plans
    case .stored(let text): StoredPlans.decode(text)
    case nil: []
    }
  }

  /// Documents from the sandbox say so.
  func stamped(_ document: JSON) -> JSON { isSandbox ? document.merging([("sandbox", true)]) : document }

  func explain(_ productID: String) -> JSON {
    expireIfDue()
    let boot = time.bootNanoseconds
    let (knowledge, all, answers) = published.with { ($0.knowledge, $0.entitlements, $0.answers) }
    let now = knowledge.clock.now(bootNanoseconds: boot)
    let perks = knowledge.catalogue?.product(productID)?.perks ?? []
    let considered = all.filter { entitlement in
      switch entitlement.subject {
      case .product(let id): id == productID
      case .perk(let slug): slug == productID || perks.contains(slug)
      }
    }
    let active = answers.isGranted(productID, at: now) ? considered.filter { $0.isActive(at: now) } : []
    let longest = active.max { ($0.endsAt ?? .max) < ($1.endsAt ?? .max) }
    let confirmedAt = knowledge.listedAt[knowledge.ownership.identity.appUserID]
    let (answer, reason) = Self.verdict(productID, knowledge, considered, active, isLoaded: confirmedAt != nil)
    return stamped([
      "product_id": JSON(productID),
      "access": JSON(!active.isEmpty),
      "answer": JSON(answer),
      "reason": JSON(reason),
      "decided_by": JSON(longest?.id),
      "app_user_id": JSON(knowledge.ownership.identity.appUserID?.text),
      "considered": .array(considered.map { $0.document(at: now) }),
      "clock": [
        "now": JSON(now),
        "source": JSON(knowledge.clock.source.rawValue),
        "server_time": JSON(knowledge.clock.source == .server ? knowledge.clock.milliseconds : nil),
        "server_seen_ms_ago": JSON(knowledge.serverSeenAt.map { max(0, boot &- $0) / 1_000_000 }),
      ],
      "storefront": knowledge.storefront?.document ?? .null,
      "offline": [
        "days": JSON(knowledge.setup?.offlineDays ?? 0),
        "mode": knowledge.setup?.isStrict ?? false ? "strict" : "lenient",
        "confirmed_at": JSON(confirmedAt),
      ],
    ])
  }

  private static func verdict(
    _ productID: String, _ knowledge: Knowledge, _ considered: [Entitlement], _ active: [Entitlement], isLoaded: Bool
  ) -> (answer: String, reason: String) {
    guard knowledge.setup != nil else { return ("unknown", "not_configured") }
    if !active.isEmpty { return ("yes", "granted") }
    if let products = knowledge.policy.productIDs, !products.contains(productID) {
      return ("no", "product_not_configured")
    }
    guard isLoaded else { return ("unknown", "never_loaded") }
    return ("no", considered.contains(where: \.isVisible) ? "ended" : "no_source")
  }
}

extension ClientState.Knowledge {
  /// WhopCheckout: true in the US, false elsewhere. Without a store nothing else could sell, so the web may everywhere.
  var supportsExternalPurchases: Bool {
    guard let setup else { return false }
    return !setup.hasStore || storefront?.storefront.country == "US"
  }
}

extension ClientState.KnownStorefront {
  fileprivate var document: JSON {
    ["country_code": JSON(storefront.country), "source": JSON(source.rawValue)]
  }
}

extension Entitlement {
  /// When it next changes by itself: its end, or the moment it becomes stale.
  fileprivate func nextChange(after now: Int64) -> Int64? {
    guard counts else { return nil }
    return [endsAt, staleAt].compactMap { $0 }.filter { $0 > now }.min()
  }
}
