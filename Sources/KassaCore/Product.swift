import KassaJSON

/// A product as a host sees it: what the seller calls it, joined with what the store sells it as.
public struct Product: Sendable, Equatable {
  public var listed: Catalogue.Product
  public var store: StoreProduct

  /// Nil when the store sells it as something else.
  public init?(_ listed: Catalogue.Product, _ store: StoreProduct) {
    guard listed.kind.isSold(as: store.kind) else { return nil }
    self.listed = listed
    self.store = store
  }

  /// The introductory offer that the user may have now (Voidhash, make and restore purchases: load products).
  public var introductoryOffer: StoreOffer? {
    store.subscription?.offers.first { $0.kind == .introductory && $0.isEligible == true }
  }

  /// The promotional offers that the seller lists, since only those are signed, and the win-back offers: as far as the
  /// store says that the user may have them now.
  public var offers: [Offer] {
    (store.subscription?.offers ?? []).compactMap { offer in
      guard offer.isEligible == true, let storeID = offer.id else { return nil }
      switch offer.kind {
      case .promotional:
        return listed.offers.first { $0.storeOfferID == storeID }.map { Offer(id: $0.id, offer: offer) }
      case .winBack: return Offer(id: storeID, offer: offer)
      case .introductory, .code: return nil
      }
    }
  }

  /// One of the offers, under the id that a host buys it by: the seller's, where there is one.
  public struct Offer: Sendable, Equatable {
    public var id: String?
    public var offer: StoreOffer
  }
}

extension Catalogue.Product.Kind {
  /// Voidhash [make and restore purchases]: what is bought once and stays is a non-consumable, or a subscription that
  /// does not renew.
  public func isSold(as kind: StoreProduct.Kind) -> Bool {
    switch (self, kind) {
    case (.subscription, .subscription), (.consumable, .consumable), (.oneTime, .nonConsumable),
      (.oneTime, .nonRenewingSubscription):
      true
    case (.subscription, _), (.consumable, _), (.oneTime, _): false
    }
  }
}

// MARK: - The document

/// Writes an amount for people: amount, currency, and digits where they are not the currency's own.
public typealias PriceWriter = (Decimal, _ currency: String, _ digits: Int?) -> String

extension Product {
  /// The document of `docs/documents.md`. `text` writes the prices that the store does not: those per day to year.
  public func document(text: PriceWriter) -> JSON {
    [
      "id": JSON(listed.slug), "slug": JSON(listed.slug), "product_id": JSON(listed.id), "name": JSON(listed.name),
      "store_product_id": JSON(store.id), "type": JSON(store.kind.rawValue),
      "display_name": JSON(store.displayName), "description": JSON(store.description), "price": store.price.document,
      "subscription": store.subscription.map { document(of: $0, text: text) } ?? .null,
      "offers": .array(offers.map(\.document)), "store": store.document,
    ]
  }

  private func document(of subscription: StoreSubscription, text: PriceWriter) -> JSON {
    let introductory = introductoryOffer.map { Offer(id: $0.id, offer: $0) }
    func price(per unit: Period.Unit) -> JSON {
      guard let money = subscription.period.price(per: unit, of: store.price.money) else { return .null }
      // The store's own text, where the price is the store's own.
      if money == store.price.money { return store.price.document }
      return money.document(formatted: text(money.amount, money.currency, nil))
    }
    return [
      "period": subscription.period.document, "group_id": JSON(subscription.groupID),
      "intro_offer": introductory?.document ?? .null, "price_per_day": price(per: .day),
      "price_per_week": price(per: .week), "price_per_month": price(per: .month), "price_per_year": price(per: .year),
    ]
  }
}

extension Product.Offer {
  public var document: JSON {
    [
      "id": JSON(id), "kind": JSON(offer.kind.rawValue),
      "phases": [
        [
          "payment_mode": JSON(offer.paymentMode.rawValue), "price": offer.price.document,
          "period": offer.period.document, "cycles": JSON(offer.periodCount),
        ]
      ],
      "store_offer_id": JSON(offer.id),
    ]
  }
}
