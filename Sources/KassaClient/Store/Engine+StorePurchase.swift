import KassaCore
import KassaJSON
import KassaPlatform

/// Buying in the store, and what only a store can be asked for.
extension Engine {
  /// - Parameter origin: whether the caller tells of the transaction, or an event does.
  func purchaseInStore(
    _ planID: String, _ options: PurchaseOptions, _ active: Active, tellingAs origin: Origin = .purchase
  ) async throws(KassaError) -> JSON {
    guard let store = active.setup.store else {
      throw KassaError(
        .unsupported,
        "a purchase in the store needs one: configure \"store\", or use \"method\":\"\(active.setup.webMethod ?? "")\"")
    }
    guard let mapping = active.setup.planMappings.first(where: { $0.planID == planID }) else {
      throw KassaError(
        .planNotMapped,
        "plan_mappings names no store product for \"\(planID.quoted)\", so the store cannot sell it; add it, or use "
          + "\"method\":\"\(active.setup.webMethod ?? "")\" where that is allowed")
    }
    // What the plan is of decides what is paid for. A service that cannot be asked now says it later.
    do throws(KassaError) { _ = try await plan(planID, active) } catch {
      guard error.isTransient else { throw error }
    }
    guard let product = try await store.products([mapping.storeProductID]).first else {
      throw KassaError(
        .productNotFound,
        "the store does not sell \"\(mapping.storeProductID.quoted)\", to which \"\(planID)\" is mapped")
    }
    guard options.quantity == 1 || product.kind == .consumable else {
      throw KassaError(.invalidArgument, "options.quantity must be 1: \"\(product.id.quoted)\" is no consumable")
    }
    // Where nothing can be written, nothing is charged.
    try writeDurably("the purchase") { storage throws(DatabaseError) in try storage.save(time: state.now) }
    let order = StoreOrder(
      productID: product.id, quantity: options.quantity, offer: options.offer.order, appAccountToken: random.uuid(),
      simulatesAskToBuy: options.simulatesAskToBuy, confirmIn: options.confirmIn)
    let ending = await openSheet(order, store)
    var receipt: Receipt?
    if case .success(.purchased(let delivery)) = ending { receipt = deliver(delivery, from: origin, active) }
    closeSheet(active)
    let outcome: StoreOutcome
    do throws(KassaError) { outcome = try ending.get() } catch {
      // It may have been charged all the same.
      Task(executorPreference: loop) { await self.scanStore(always: true) }
      guard error.code == .cancelled, self.active != nil else { throw error }
      return result(of: "cancelled", planID)
    }
    switch outcome {
    case .pending: return result(of: "pending", planID)
    case .cancelled:
      // Not every store's word for it is to be trusted.
      Task(executorPreference: loop) { await self.scanStore(always: true) }
      return result(of: "cancelled", planID)
    case .purchased(.unverified(_, _, let reason, let message)):
      throw KassaError(.transactionUnverified, "the store's transaction cannot be verified: \(message)", reason: reason)
    case .purchased(.verified(let transaction)):
      return result(of: "purchased", planID, transaction, receipt)
    }
  }

  /// Shows the sheet. From now until `closeSheet` no update is told of: one may be about this very purchase.
  ///
  /// - Parameter person: whose purchase it is, where the back end has people.
  func openSheet(
    _ order: StoreOrder, _ store: any Store, for person: DistinctID? = nil
  ) async -> Result<StoreOutcome, KassaError> {
    isInStore = true
    (purchaser, purchaserID) = (state.identity, person)
    defer { isInStore = false }
    do throws(KassaError) { return .success(try await store.purchase(order)) } catch { return .failure(error) }
  }

  func closeSheet(_ active: Active) {
    (purchaser, purchaserID) = (nil, nil)
    deliverWaiting(active)
  }

  private func result(
    of outcome: String, _ planID: String, _ transaction: StoreTransaction? = nil, _ receipt: Receipt? = nil
  ) -> JSON {
    [
      "outcome": JSON(outcome), "plan_id": JSON(planID), "method": "store", "receipt_id": JSON(transaction?.id),
      "membership": .null, "transaction": receipt.map(document(of:)) ?? .null,
    ]
  }

  // MARK: Sheets and questions

  func storeCall(_ method: String, _ params: JSON) async throws(KassaError) -> JSON {
    let active = try configured()
    if let instead = Unsupported.storeMethods[method] {
      throw KassaError(.unsupported, "\"\(method)\" is not supported: \(instead)")
    }
    guard let method = StoreMethod(rawValue: method) else {
      let words = StoreMethod.allCases.map(\.rawValue)
      let hint = nearest(to: method, in: words).map { "; did you mean \"\($0)\"?" } ?? ""
      throw KassaError(.invalidArgument, "there is no store method \"\(method.quoted)\"\(hint)")
    }
    guard let store = active.setup.store else {
      guard method == .manageSubscriptions else {
        throw KassaError(.unsupported, "\"\(method.rawValue)\" needs a store: configure \"store\"")
      }
      return try await manageOnTheWeb(params, active)
    }
    switch method {
    case .storefront:
      try StoreMethod.refuseParameters(params)
      return ["storefront": try await readStorefront()?.document ?? .null]
    case .entitlements:
      try StoreMethod.refuseParameters(params)
      let deliveries = try await store.entitlements()
      var documents: [JSON] = []
      for delivery in deliveries {
        if let receipt = deliver(delivery, from: .store, active) {
          documents.append(document(of: receipt))
        } else if active.hasPeople, let transaction = delivery.verifiedTransaction {
          documents.append(document(of: transaction))
        }
      }
      return ["transactions": .array(documents)]
    case .manageSubscriptions:
      let answer = try await store.call(method, params)
      // The user may have changed anything there.
      await scanStore(always: true)
      if active.hasPeople { try? await refreshPerson(.refresh) } else { try? await refreshMemberships(.refresh) }
      return answer
    default: return try await store.call(method, params)
    }
  }

  /// Opens the page on which the newest active membership, or the named one, is managed.
  private func manageOnTheWeb(_ params: JSON, _ active: Active) async throws(KassaError) -> JSON {
    let id: String?
    do throws(JSONShapeError) {
      let fields = try Fields(params.isNull ? [:] : params, path: "params")
      try fields.allowOnly(["membership_id"])
      id = try fields.optionalString("membership_id")
    } catch { throw KassaError(.invalidArgument, error.description) }
    let memberships = state.memberships.elements.filter { id == nil || $0["id"]?.string == id }
    guard let url = memberships.compactMap({ $0["manage_url"]?.string }).first else {
      throw KassaError(
        .notFound,
        id.map { "no active membership \"\($0.quoted)\" has a manage_url" } ?? "no active membership has a manage_url")
    }
    guard let presenter = active.setup.presenter else { throw KassaError(.unsupported, "nothing here opens a page") }
    try await presenter.open(url)
    try? await refreshMemberships(.refresh)
    return ["url": JSON(url)]
  }
}
