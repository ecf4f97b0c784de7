import KassaCore
import KassaJSON
import KassaPlatform

/// Buying on the web: a checkout that carries the number of this attempt, shown by a presenter, and decided by the
/// service alone: by the membership that carries the same number.
extension Engine {
  /// - Parameter name: of a plan, or of a product of people.
  func purchase(_ name: String, options: JSON) async throws(KassaError) -> JSON {
    let active = try configured()
    let options = try PurchaseOptions(options, webMethod: active.setup.webMethod)
    guard active.configuration.isEnabled else {
      let method = options.method == .store ? "store" : active.setup.webMethod ?? "store"
      let own: [(String, JSON)] =
        active.hasPeople
        ? [("product_slug", JSON(name)), ("transaction", .null), ("synced", .null)]
        : [("plan_id", JSON(name)), ("membership", .null)]
      return .object([("outcome", "disabled"), ("method", JSON(method)), ("receipt_id", .null)] + own)
    }
    guard !active.configuration.isObserver else { throw .readOnly("purchase") }
    guard !isPurchasing else {
      throw KassaError(.purchaseInProgress, "another purchase has not ended: wait for it, or cancel it")
    }
    isPurchasing = true
    defer { endPurchase() }
    if active.hasPeople { return try await purchaseProduct(name, options, active) }
    return try await purchase(planID: name, options, active)
  }

  private func purchase(planID: String, _ options: PurchaseOptions, _ active: Active) async throws(KassaError) -> JSON {
    do throws(JSONShapeError) { try checkIdentifier(planID, at: "plan_id", prefix: "plan_") } catch {
      throw KassaError(.invalidArgument, error.description)
    }
    switch try await method(options, active) {
    case .store: return try await purchaseInStore(planID, options, active)
    case .web:
      try options.requireNothingOfAStore()
      return try await purchaseOnTheWeb(planID, nil, active)
    case .applePay:
      try options.requireNothingOfAStore()
      return try await purchaseOnTheWeb(planID, try await applePay(planID, options, active), active)
    }
  }

  /// WhopCheckout: the web where external purchases are supported, else the store.
  private func method(
    _ options: PurchaseOptions, _ active: Active
  ) async throws(KassaError) -> PurchaseOptions.Method {
    if let method = options.method { return method }
    guard active.setup.store != nil else { return .web }
    await lookUpStorefront()
    if Task.isCancelled { throw KassaError(.cancelled, "the purchase was cancelled") }
    return state.supportsExternalPurchases ? .web : .store
  }

  private func applePay(
    _ planID: String, _ options: PurchaseOptions, _ active: Active
  ) async throws(KassaError) -> ApplePay {
    guard active.setup.presenter?.offersApplePay ?? false else {
      throw KassaError(.unsupported, "Apple Pay needs a host that shows it: \"checkout\":{\"presenter\":\"host\"}")
    }
    guard let price = try await plan(planID, active).priceDue else {
      throw KassaError(.unsupported, "what \"\(planID.quoted)\" costs is more than can be counted")
    }
    return ApplePay(label: options.label, price: price)
  }

  private func purchaseOnTheWeb(
    _ planID: String, _ applePay: ApplePay?, _ active: Active
  ) async throws(KassaError) -> JSON {
    let attempt = PurchaseAttempt(
      planID: planID, identity: state.identity, nonce: random.uuid(), startedAt: state.now)
    // From here on the money can move; whatever happens, the next start must know of it.
    try writeDurably("the purchase") { storage throws(DatabaseError) in
      try storage.save(attempt: attempt, scope: active.setup.scope)
    }
    attempts[attempt.nonce] = attempt
    do throws(KassaError) {
      return try await purchase(attempt, applePay, active)
    } catch {
      if error.code == .cancelled {
        watchForLateSuccess(attempt)
        return result("cancelled", planID)
      }
      throw error
    }
  }

  private func purchase(
    _ attempt: PurchaseAttempt, _ applePay: ApplePay?, _ active: Active
  ) async throws(KassaError) -> JSON {
    var attempt = attempt
    var checkout: Checkout
    let prepared: any PreparedCheckout
    do throws(KassaError) {
      guard let presenter = active.setup.presenter else { throw KassaError(.unsupported, "there is no checkout") }
      prepared = try await presenter.prepare()
      checkout = try await active.memberships().checkout(attempt, returnURL: prepared.returnURL)
    } catch {
      // Nobody has seen a checkout, so nothing can have been paid.
      forget(attempt)
      throw error
    }
    checkout.applePay = applePay
    // The service's answer may just have set a clock right that was ahead; lists are limited by this time.
    attempt.startedAt = min(attempt.startedAt, state.now)
    attempts[attempt.nonce] = attempt
    write { storage throws(DatabaseError) in try storage.save(attempt: attempt, scope: active.setup.scope) }
    switch try await present(checkout, prepared, attempt, active) {
    case .found(let progress): return finish(attempt, progress, receiptID: nil, active)
    case .ended(let ending): return try await decide(attempt, isApplePay: applePay != nil, after: ending, active)
    }
  }

  /// Indirect: Swift 6.3 tells the cases of a large enum apart by a bit that it leaves uninitialised (valgrind sees it).
  private indirect enum Presentation: Sendable {
    /// The service has the purchase while the page is still open: a closed tab says nothing.
    case found(PurchaseProgress)
    case ended(Result<CheckoutEnding, KassaError>)
  }

  private func present(
    _ checkout: Checkout, _ prepared: any PreparedCheckout, _ attempt: PurchaseAttempt, _ active: Active
  ) async throws(KassaError) -> Presentation {
    let number = active.number
    let look = Task(executorPreference: loop) { await self.lookWhileOpen(attempt, configuration: number) }
    defer { look.cancel() }
    let show = ShownCheckout(prepared: prepared)
    let presentation = Task(executorPreference: loop) { await show.run(checkout, attempt) }
    // Whichever knows first ends the other.
    let watcher = Task(executorPreference: loop) {
      guard let progress = await look.value else { return PurchaseProgress?.none }
      presentation.cancel()
      return progress
    }
    let ending = await withTaskCancellationHandler {
      await presentation.value
    } onCancel: {
      presentation.cancel()
      look.cancel()
    }
    look.cancel()
    if let progress = await watcher.value { return .found(progress) }
    if Task.isCancelled { throw KassaError(.cancelled, "the purchase was cancelled") }
    return .ended(ending)
  }

  /// Looks every now and then whether the service already has the purchase.
  private func lookWhileOpen(_ attempt: PurchaseAttempt, configuration number: Int) async -> PurchaseProgress? {
    var waited: Int64 = 0
    while true {
      let pause =
        waited < Constants.openCheckoutFastPhaseMilliseconds
        ? Constants.openCheckoutPollMilliseconds : Constants.openCheckoutSlowPollMilliseconds
      do throws(CancellationError) { try await time.sleep(milliseconds: pause) } catch { return nil }
      waited += pause
      guard let active, active.number == number else { return nil }
      if let progress = try? await active.memberships().progress(of: attempt), progress.membership != nil {
        return progress
      }
      if Task.isCancelled { return nil }
    }
  }

  /// What the purchase has come to after the page was left, by the service's word.
  private func decide(
    _ attempt: PurchaseAttempt, isApplePay: Bool, after ending: Result<CheckoutEnding, KassaError>, _ active: Active
  ) async throws(KassaError) -> JSON {
    let word: Result<String, KassaError>
    switch ending {
    case .success(.returned(let url)):
      let reading =
        try url.map(active.memberships().reading(ofReturnURL:))
        ?? CheckoutReturn(outcome: .unknown, receiptID: nil)
      switch reading.outcome {
      case .success, .unknown: return try await membership(of: attempt, reading, active)
      case .failure: word = .failure(declined("the payment failed"))
      case .cancelled: word = .success("cancelled")
      }
    case .success(.cancelled): word = .success("cancelled")
    case .success(.failed(let message)): word = .failure(declined(message))
    case .failure(let error): word = .failure(error)
    }
    // The service is asked once; what it does not know, the presenter is believed.
    if let progress = try? await active.memberships().progress(of: attempt) {
      if let known = try outcome(of: attempt, progress, receiptID: nil, active) { return known }
    }
    // On the host's own sheet, unlike in a tab, nobody pays any more after the host said that it is closed.
    if isApplePay, word.isCertainlyUnpaid {
      forget(attempt)
    } else {
      watchForLateSuccess(attempt)
    }
    return result(try word.get(), attempt.planID)
  }

  private func declined(_ message: String, _ code: String? = nil) -> KassaError {
    KassaError(.paymentFailed, message, reason: code)
  }

  /// Looks for the membership after 1, 2, 3, 5, 5 ... seconds, for a minute.
  private func membership(
    of attempt: PurchaseAttempt, _ reading: CheckoutReturn, _ active: Active
  ) async throws(KassaError) -> JSON {
    let deadline = time.bootNanoseconds / 1_000_000 + Constants.membershipPollLimitMilliseconds
    var pauses = Constants.membershipPollSeconds[...]
    var last: PurchaseProgress?
    while true {
      if let progress = try? await active.memberships().progress(of: attempt) {
        last = progress
        if let known = try outcome(of: attempt, progress, receiptID: reading.receiptID, active) { return known }
      }
      let pause = (pauses.count > 1 ? pauses.removeFirst() : pauses.first ?? 5) * 1_000
      guard time.bootNanoseconds / 1_000_000 + pause <= deadline else { break }
      do throws(CancellationError) { try await time.sleep(milliseconds: pause) } catch {
        // What is paid is decided: only the membership is still to come.
        if last?.payment == .paid { break }
        throw KassaError(.cancelled, "the purchase was cancelled")
      }
    }
    watchForLateSuccess(attempt)
    let receiptID = last?.receiptID ?? reading.receiptID
    guard last?.payment == .paid || reading.outcome == .success else { return result("cancelled", attempt.planID) }
    return result("purchased", attempt.planID, receiptID: receiptID)
  }

  /// What the service's word comes to; nil while it says nothing.
  private func outcome(
    of attempt: PurchaseAttempt, _ progress: PurchaseProgress, receiptID: String?, _ active: Active
  ) throws(KassaError) -> JSON? {
    if progress.membership != nil { return finish(attempt, progress, receiptID: receiptID, active) }
    switch progress.payment {
    case .pending:
      watchForLateSuccess(attempt)
      return result("pending", attempt.planID, receiptID: progress.receiptID ?? receiptID)
    case .declined(let message, let code):
      watchForLateSuccess(attempt)
      throw declined(message, code)
    case .paid, .none: return nil
    }
  }

  /// The membership is there: the answers change before the completion is told.
  private func finish(
    _ attempt: PurchaseAttempt, _ progress: PurchaseProgress, receiptID: String?, _ active: Active
  ) -> JSON {
    guard let membership = progress.membership?.withReceipt(progress.receiptID ?? receiptID) else {
      return result("cancelled", attempt.planID)
    }
    if self.active?.setup.scope == active.setup.scope {
      learn([membership], listed: nil, cause: .purchase)
    } else {
      // Another account has been configured meanwhile; the purchase is kept where it belongs.
      write { storage throws(DatabaseError) in
        try storage.save(memberships: [membership], scope: active.setup.scope)
        try storage.removeAttempt(attempt.nonce)
      }
    }
    let knowledge = state.knowledge
    let entitlement = Entitlement(membership, ownership: knowledge.ownership, policy: knowledge.policy)
    return result(
      "purchased", attempt.planID, receiptID: membership.receiptID,
      membership: state.stamped(
        membership.document(isActive: entitlement.isActive(at: state.now), isClaimed: entitlement.isClaimed)))
  }

  private func result(
    _ outcome: String, _ planID: String, method: String? = nil, receiptID: String? = nil, membership: JSON = .null
  ) -> JSON {
    [
      "outcome": JSON(outcome), "plan_id": JSON(planID), "method": JSON(method ?? active?.setup.webMethod),
      "receipt_id": JSON(receiptID),
      "membership": membership,
    ]
  }

  // MARK: Late successes

  private func forget(_ attempt: PurchaseAttempt) {
    attempts[attempt.nonce] = nil
    write { storage throws(DatabaseError) in try storage.removeAttempt(attempt.nonce) }
  }

  /// Somebody may pay in a tab that we no longer wait for.
  private func watchForLateSuccess(_ attempt: PurchaseAttempt) {
    guard active != nil, lateLooks[attempt.nonce] == nil else { return }
    lateLooks[attempt.nonce] = Task(executorPreference: loop) { await self.lookForLateSuccess(attempt) }
  }

  private func lookForLateSuccess(_ attempt: PurchaseAttempt) async {
    defer { lateLooks[attempt.nonce] = nil }
    var waited: Int64 = 0
    while attempts[attempt.nonce] != nil, let active {
      let pause =
        waited < Constants.lateSuccessMilliseconds
        ? Constants.openCheckoutSlowPollMilliseconds : Constants.lateSuccessMilliseconds
      do throws(CancellationError) { try await time.sleep(milliseconds: pause) } catch { return }
      waited += pause
      await check(attempt, active)
    }
  }

  /// Attempts of earlier runs, and those that ended without a result.
  func checkAttempts(_ active: Active) async {
    for attempt in attempts.values.sorted(by: { $0.startedAt < $1.startedAt }) {
      await check(attempt, active)
    }
  }

  private func check(_ attempt: PurchaseAttempt, _ active: Active) async {
    guard let progress = try? await active.memberships().progress(of: attempt), isCurrent(active) else { return }
    if let membership = progress.membership {
      learn([membership], listed: nil, cause: .purchase)
    } else if progress.payment != .pending,
      state.now.subtracting(attempt.startedAt) > Constants.forgetAttemptMilliseconds
    {
      forget(attempt)
    }
  }
}

extension Result<String, KassaError> {
  /// What a sheet of the host's own ended with before anybody paid.
  fileprivate var isCertainlyUnpaid: Bool {
    switch self {
    case .success(let outcome): outcome == "cancelled"
    case .failure(let error): error.code == .unsupported
    }
  }
}

/// A prepared checkout on its way from the engine to the task that shows it; only that task uses it.
private struct ShownCheckout: @unchecked Sendable {
  let prepared: any PreparedCheckout

  func run(_ checkout: Checkout, _ attempt: PurchaseAttempt) async -> Result<CheckoutEnding, KassaError> {
    do throws(KassaError) { return .success(try await prepared.present(checkout, of: attempt)) } catch {
      return .failure(error)
    }
  }
}
