import KassaCore
import KassaJSON
import KassaPlatform

/// Listing the products that the store sells to people, and buying them.
extension Engine {
  // MARK: Listing

  /// - Parameter slugs: which, in this order; nil for all.
  func products(_ slugs: [String]?) async throws(KassaError) -> JSON {
    let active = try configured()
    _ = try active.people()
    guard active.configuration.isEnabled else { return ["products": []] }
    let listing = try await listing(of: slugs, active)
    if !listing.missing.isEmpty {
      report(
        "product_not_found", "products that the store does not sell are left out",
        ["products": .array(listing.missing.map { ["slug": JSON($0.slug), "reason": JSON($0.reason.rawValue)] })])
    }
    if !listing.mismatched.isEmpty {
      report(
        "product_type_mismatch", "products that the store sells as another type are left out",
        ["products": .array(listing.mismatched.map { ["slug": JSON($0.slug), "reason": JSON($0.reason)] })])
    }
    let text = active.setup.priceText
    return ["products": .array(listing.products.map { $0.map { state.stamped($0.document(text: text)) } ?? .null })]
  }

  private func listing(of slugs: [String]?, _ active: Active) async throws(KassaError) -> ProductListing {
    guard let store = active.setup.store else {
      throw KassaError(.unsupported, "products need a store that sells them: configure \"store\"")
    }
    let catalogue = try await catalogue()
    let ids = ProductListing.storeProductIDs(of: catalogue, on: active.setup.storePlatform, slugs: slugs)
    let sold = ids.isEmpty ? [] : try await store.products(ids)
    return ProductListing(catalogue, on: active.setup.storePlatform, storeProducts: sold, slugs: slugs)
  }

  // MARK: Buying

  /// - Parameter origin: whether the caller tells of the transaction, or an event does.
  func purchaseProduct(
    _ name: String, _ options: PurchaseOptions, _ active: Active, tellingAs origin: Origin = .purchase
  ) async throws(KassaError) -> JSON {
    let backend = try active.people()
    guard options.method != .applePay else {
      throw KassaError(.unsupported, "\"\(active.configuration.backendKind)\" sells in the store only")
    }
    let product = try await product(name, active)
    guard options.quantity == 1 || product.store.kind == .consumable else {
      throw KassaError(
        .invalidArgument, "options.quantity must be 1: \"\(product.listed.slug.quoted)\" is no consumable")
    }
    guard let store = active.setup.store, let person = distinctID else { throw .notConfigured }
    let token = try backend.accountToken(of: person)
    let (offer, signature) = try await offer(options.offer, of: product, person, token, active)
    // Where nothing can be written, nothing is charged. And whoever asks when the transaction comes, it is theirs.
    try writeDurably("the purchase") { storage throws(DatabaseError) in
      try storage.save(accountToken: token, of: person, scope: active.setup.scope)
    }
    let order = StoreOrder(
      productID: product.store.id, quantity: options.quantity, offer: offer, offerSignature: signature,
      appAccountToken: token, simulatesAskToBuy: options.simulatesAskToBuy, confirmIn: options.confirmIn)
    guard isCurrent(active) else { throw replaced }
    let ending = await openSheet(order, store, for: person)
    defer { closeSheet(active) }
    return try await conclude(ending, product, active, tellingAs: origin)
  }

  private func conclude(
    _ ending: Result<StoreOutcome, KassaError>, _ product: Product, _ active: Active, tellingAs origin: Origin
  ) async throws(KassaError) -> JSON {
    let outcome: StoreOutcome
    do throws(KassaError) { outcome = try ending.get() } catch {
      // It may have been charged all the same.
      Task(executorPreference: loop) { await self.scanStore(always: true) }
      guard error.code == .cancelled, self.active != nil else { throw error }
      return result(of: "cancelled", product)
    }
    switch outcome {
    case .pending: return result(of: "pending", product)
    case .cancelled: return result(of: "cancelled", product)
    case .purchased(.unverified(_, _, let reason, let message)):
      throw KassaError(.transactionUnverified, "the store's transaction cannot be verified: \(message)", reason: reason)
    case .purchased(.verified(let transaction)):
      outbox.ownPurchases.insert(transaction.key)
      let capture = capture(transaction, from: origin, active, offered: product.listed)
      closeSheet(active)
      var synced = false
      if let id = capture.id {
        synced = await isAccepted([id], within: Constants.purchaseWaitMilliseconds, active)
      }
      return result(of: "purchased", product, transaction, synced: synced)
    }
  }

  private func product(_ name: String, _ active: Active) async throws(KassaError) -> Product {
    let catalogue = try await catalogue()
    guard let offered = catalogue.product(name) else {
      throw KassaError(.productNotFound, "there is no product \"\(name.quoted)\"", reason: "unknown_product")
    }
    let listing = try await listing(of: [offered.slug], active)
    if let product = listing.products.first ?? nil { return product }
    let reason = listing.missing.first?.reason.rawValue ?? listing.mismatched.first?.reason ?? "not_sold"
    throw KassaError(.productNotFound, "the store does not sell \"\(name.quoted)\": \(reason)", reason: reason)
  }

  /// What to order, with the signature that a promotional offer needs. An offer that cannot be applied ends the purchase:
  /// nobody pays the full price who wanted another.
  private func offer(
    _ choice: OfferChoice, of product: Product, _ person: DistinctID, _ token: String, _ active: Active
  ) async throws(KassaError) -> (StoreOrder.Offer, OfferSignature?) {
    let chosen = try choice.resolved(for: product)
    guard case .promotional(let storeOfferID) = chosen else { return (chosen.order, nil) }
    let order = OfferOrder(
      product: product.listed, storeProductID: product.store.id, storeOfferID: storeOfferID, person: person,
      accountToken: token)
    do throws(KassaError) {
      if let signature = try await active.people().signature(of: order) { return (chosen.order, signature) }
      return (chosen.order, try await askForSignature(order))
    } catch {
      if error.code == .cancelled { throw error }
      throw KassaError(
        .offerUnavailable, "the offer cannot be signed, so nothing was bought: \(error.message)", reason: "not_signed",
        retryable: error.retryable)
    }
  }

  private func askForSignature(_ order: OfferOrder) async throws(KassaError) -> OfferSignature {
    let reply = try await surroundings.requests.ask(
      "offers", "sign",
      [
        "product_slug": JSON(order.product.slug), "store_product_id": JSON(order.storeProductID),
        "offer_id": JSON(order.storeOfferID), "app_account_token": JSON(order.accountToken),
      ])
    if let message = reply.hostError { throw KassaError(.unsupported, message) }
    do throws(JSONShapeError) {
      let fields = try Fields(reply, path: "reply")
      return OfferSignature(
        keyID: try fields.string("key_id"), nonce: try fields.string("nonce"),
        timestamp: try fields.integer("timestamp"), signature: try fields.string("signature"))
    } catch {
      throw KassaError(.invalidArgument, error.description)
    }
  }

  private func result(
    of outcome: String, _ product: Product, _ transaction: StoreTransaction? = nil, synced: Bool? = nil
  ) -> JSON {
    [
      "outcome": JSON(outcome), "product_slug": JSON(product.listed.slug), "method": "store",
      "receipt_id": JSON(transaction?.id), "transaction": transaction.map(document(of:)) ?? .null,
      "synced": JSON(synced),
    ]
  }
}
