/// At what price a host wants to buy a subscription (Voidhash, make and restore purchases: start a purchase).
public enum OfferChoice: Sendable, Equatable {
  /// The introductory offer where the user may have it, else the regular price.
  case automatic
  /// The regular price; the store may apply an introductory offer all the same.
  case none
  /// The product's introductory offer and nothing else: it may have no id.
  case introductory
  /// By the seller's id or by the store's.
  case id(String)

  /// What to order where nothing is known of the product but what the store says, which then decides itself.
  public var order: StoreOrder.Offer {
    switch self {
    case .automatic, .introductory: .automatic
    case .none: .none
    case .id(let id): .id(id)
    }
  }

  /// What to order of the store, or why nothing may be bought. Never another price than the one that was chosen.
  public func resolved(for product: Product) throws(KassaError) -> ChosenOffer {
    switch self {
    case .automatic: return .automatic
    case .none: return .none
    case .introductory:
      guard let offer = product.store.subscription?.offers.first(where: { $0.kind == .introductory }) else {
        throw unavailable(.unknownOffer, "\"\(product.listed.slug.quoted)\" has no introductory offer")
      }
      return try introductory(offer, product)
    case .id(let id): return try named(id, product)
    }
  }

  private func named(_ id: String, _ product: Product) throws(KassaError) -> ChosenOffer {
    let sold = product.store.subscription?.offers ?? []
    let listed =
      product.listed.offers.first { $0.id == id } ?? product.listed.offers.first { $0.storeOfferID == id }
    if let listed {
      guard let offer = sold.first(where: { $0.kind == .promotional && $0.id == listed.storeOfferID }) else {
        throw unavailable(
          .unknownOffer, "the store does not sell the offer \"\(listed.storeOfferID.quoted)\" of \(name(product))")
      }
      try mayHave(offer, id, product)
      return .promotional(storeOfferID: listed.storeOfferID)
    }
    guard let offer = sold.first(where: { $0.id == id }) else {
      throw unavailable(.unknownOffer, "\(name(product)) has no offer \"\(id.quoted)\"")
    }
    switch offer.kind {
    case .introductory: return try introductory(offer, product)
    case .winBack:
      try mayHave(offer, id, product)
      return .winBack(storeOfferID: id)
    case .promotional:
      throw unavailable(
        .unknownOffer,
        "the offer \"\(id.quoted)\" is not in the catalogue's mapping of \(name(product)): nobody signs it")
    case .code:
      throw unavailable(.unsupported, "the offer \"\(id.quoted)\" is redeemed by a code, on the store's own sheet")
    }
  }

  /// The store applies it by itself, and sells at the regular price to whoever may not have it: so it has to be certain.
  private func introductory(_ offer: StoreOffer, _ product: Product) throws(KassaError) -> ChosenOffer {
    switch offer.isEligible {
    case true?: return .automatic
    case false?:
      throw unavailable(
        .ineligibleForOffer, "the user had an introductory offer of the group of \(name(product)) before")
    case nil:
      throw unavailable(
        .unsupported, "the store does not say whether the user may have the introductory offer of \(name(product))")
    }
  }

  /// Where only the store knows, it decides at the purchase, which then fails.
  private func mayHave(_ offer: StoreOffer, _ id: String, _ product: Product) throws(KassaError) {
    if offer.isEligible == false {
      throw unavailable(
        .ineligibleForOffer,
        "the user may not have the offer \"\(id.quoted)\" of \(name(product)) now: load the products again")
    }
  }

  private func name(_ product: Product) -> String { "\"\(product.listed.slug.quoted)\"" }

  /// The words of `reason` of the error `offer_unavailable`.
  public enum Refusal: String, Sendable {
    case unknownOffer = "unknown_offer"
    case ineligibleForOffer = "ineligible_for_offer"
    case unsupported
  }

  private func unavailable(_ reason: Refusal, _ message: String) -> KassaError {
    KassaError(.offerUnavailable, message + "; nothing was bought", reason: reason.rawValue)
  }
}

/// An offer that a store can be asked for.
public enum ChosenOffer: Sendable, Equatable {
  case automatic
  case none
  /// The store applies it only with a signature of the seller's.
  case promotional(storeOfferID: String)
  case winBack(storeOfferID: String)

  public var order: StoreOrder.Offer {
    switch self {
    case .automatic: .automatic
    case .none: .none
    case .promotional(let id), .winBack(let id): .id(id)
    }
  }
}
