import KassaCore

/// Who may have which offer.
extension StoreLedger {
  /// Whether the account may have the offer now; nil where the store tells at the purchase only.
  ///
  /// Eligibility is a matter of the group, never of one product:
  /// - introductory: no introductory offer was used in the group, and there was no subscription of it before (App Store
  ///   Connect help, *Set up introductory offers*);
  /// - promotional: there is or was a subscription of the group (*Set up promotional offers*);
  /// - win-back: the subscription has ended and does not renew, and is not in billing retry (StoreKit, *Supporting
  ///   win-back offers in your app*, `eligibleWinBackOfferIDs`);
  /// - codes: decided when the code is redeemed.
  ///
  /// What the file says nobody may have, nobody may.
  func mayHave(_ offer: StoreOffer, inGroup groupID: String) -> Bool? {
    guard offer.isEligible != false else { return false }
    let subscription = self.subscription(groupID)
    switch offer.kind {
    case .introductory: return subscription == nil && !introducedGroups.contains(groupID)
    case .promotional: return subscription != nil
    case .winBack:
      guard let subscription else { return false }
      return !subscription.isActive && !subscription.isRetrying
    case .code: return nil
    }
  }

  /// The offer with which a request buys; nil for the regular price.
  func offer(
    for request: PurchaseRequest, of product: StoreProduct, in shop: StoreShop
  ) throws(StoreRefusal) -> StoreOffer? {
    let codeTerms = shop.catalogue.codeTerms[product.id] ?? [:]
    if let code = request.code { return try codeOffer(code, of: product, codeTerms) }
    let offers = product.subscription?.offers ?? []
    switch request.offer {
    case .none: return nil
    case .automatic: return introductoryOffer(of: product)
    case .id(let id):
      guard let groupID = product.subscription?.groupID, let offer = offers.first(where: { $0.id == id }) else {
        throw StoreRefusal(
          .unknownOffer, "\"\(product.id.quoted)\" has no offer \"\(id.quoted)\"\(Self.list(offers.compactMap(\.id)))")
      }
      switch mayHave(offer, inGroup: groupID) {
      case true?: return offer
      case false?:
        throw StoreRefusal(
          .ineligible, "this account may not have the \(offer.kind.rawValue) offer \"\(id.quoted)\": \(offer.kind.rule)"
        )
      case nil: throw StoreRefusal(.unknownOffer, "\"\(id.quoted)\" is a code: redeem it instead of buying with it")
      }
    }
  }

  private func introductoryOffer(of product: StoreProduct) -> StoreOffer? {
    guard let terms = product.subscription else { return nil }
    return terms.offers.first { $0.kind == .introductory && mayHave($0, inGroup: terms.groupID) == true }
  }

  /// The introductory offer that a customer has after a code's offer, where the code does not take its place (App Store
  /// Connect API, `SubscriptionOfferEligibility`: `STACK_WITH_INTRO_OFFERS`, `REPLACE_INTRO_OFFERS`).
  func stackedOffer(for request: PurchaseRequest, of product: StoreProduct, in shop: StoreShop) -> StoreOffer? {
    guard let code = request.code, shop.catalogue.codeTerms[product.id]?[code]?.isStackable == true else { return nil }
    return introductoryOffer(of: product)
  }

  private func codeOffer(
    _ code: String, of product: StoreProduct, _ terms: [String: StoreCodeTerms]
  ) throws(StoreRefusal) -> StoreOffer {
    let codes = (product.subscription?.offers ?? []).filter { $0.kind == .code }
    guard let groupID = product.subscription?.groupID, let offer = codes.first(where: { $0.id == code }) else {
      throw StoreRefusal(
        .unknownOffer, "\"\(product.id.quoted)\" has no code \"\(code.quoted)\"\(Self.list(codes.compactMap(\.id)))")
    }
    let customer = customer(ofGroup: groupID)
    guard let customers = terms[code]?.customers, !customers.contains(customer) else { return offer }
    let words = StoreCodeTerms.Customer.allCases.filter { customers.contains($0) }.map(\.rawValue)
    throw StoreRefusal(
      .ineligible,
      "the code \"\(code.quoted)\" is for \(words.joined(separator: ", ")) customers; this one is \(customer.rawValue)")
  }

  private func customer(ofGroup groupID: String) -> StoreCodeTerms.Customer {
    guard let subscription = subscription(groupID) else { return .new }
    return subscription.isActive || subscription.isRetrying ? .existing : .expired
  }

  private static func list(_ ids: [String]) -> String {
    ids.isEmpty ? "; it has none" : "; it has \(ids.map { "\"\($0.quoted)\"" }.joined(separator: ", "))"
  }
}

extension StoreOffer.Kind {
  fileprivate var rule: String {
    switch self {
    case .introductory: "it is for those who never subscribed in this group"
    case .promotional: "it is for those who subscribe or have subscribed in this group"
    case .winBack: "it is for those whose subscription in this group has ended"
    case .code: "the code is not for this account"
    }
  }
}
