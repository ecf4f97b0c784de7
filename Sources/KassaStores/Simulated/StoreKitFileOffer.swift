import KassaCore
import KassaJSON

extension StoreKitFileReader {
  /// `none` stands in files for an offer that was begun and never chosen.
  private static let modes: [(String, StoreOffer.PaymentMode?)] = [
    ("free", .freeTrial), ("payAsYouGo", .payAsYouGo), ("payUpFront", .payUpFront), ("none", nil),
    ("freeTrial", .freeTrial),
  ]

  private static let customers: [(String, StoreCodeTerms.Customer)] =
    StoreCodeTerms.Customer.allCases.map { ($0.rawValue, $0) }

  /// All offers of a subscription.
  mutating func offers(_ fields: Fields, productID: String) throws(JSONShapeError) -> [StoreOffer] {
    var offers: [StoreOffer] = []
    if let introductory = try introductoryOffer(fields) { offers.append(introductory) }
    for (key, kind) in [("adHocOffers", StoreOffer.Kind.promotional), ("winbackOffers", .winBack)] {
      for fields in try fields.objects(key) {
        if let offer = try offer(fields, kind, id: fields.string("offerID")) {
          try add(offer, to: &offers, at: fields)
        }
      }
    }
    for fields in try fields.objects("codeOffers") {
      // A code has no id in the file; StoreKit names it in transactions by its reference name.
      let id = try fields.string("referenceName")
      let terms = try codeTerms(fields)
      guard let offer = try offer(fields, .code, id: id) else { continue }
      try add(offer, to: &offers, at: fields)
      codeTerms[productID, default: [:]][id] = terms
    }
    return offers
  }

  /// Format 5 lists one offer for each billing plan, and repeats the first as `introductoryOffer` for older Xcodes.
  private mutating func introductoryOffer(_ fields: Fields) throws(JSONShapeError) -> StoreOffer? {
    var listed: [StoreOffer] = []
    for fields in try fields.objects("introductoryOffers") {
      guard let offer = try offer(fields, .introductory, id: nil) else { continue }
      if !listed.isEmpty { note(fields.path) }
      listed.append(offer)
    }
    let single = try fields.optionalObject("introductoryOffer")
    let offer: StoreOffer? =
      if let single { try self.offer(single, .introductory, id: nil) } else { nil }
    return listed.first ?? offer
  }

  /// Nil where there is no offer: its mode is `none`, or it is of a billing plan that is not sold.
  private mutating func offer(
    _ fields: Fields, _ kind: StoreOffer.Kind, id: String?
  ) throws(JSONShapeError) -> StoreOffer? {
    note(fields, StoreKitFileKeys.offer)
    let modeKey = fields.spelling("paymentMode", "introductoryOfferType")
    let chosen = try fields.required(fields.word(modeKey, Self.modes), modeKey)
    let amount = try fields.amount("displayPrice")
    let isUpfront = try isPaidUpfront(fields)
    guard let mode = chosen else { return nil }
    let offer = StoreOffer(
      id: id, kind: kind, paymentMode: mode,
      // Xcode leaves the price of an earlier choice in offers that are free now.
      price: price(mode == .freeTrial ? .zero : try fields.required(amount, "displayPrice")),
      period: try fields.required(fields.period("subscriptionPeriod"), "subscriptionPeriod"),
      periodCount: try fields.count("numberOfPeriods", 1...999) ?? 1,
      isEligible: try fields.optionalBool("isEligible"))
    guard isUpfront else {
      note(fields.path)
      return nil
    }
    return offer
  }

  private func codeTerms(_ fields: Fields) throws(JSONShapeError) -> StoreCodeTerms {
    var customers: Set<StoreCodeTerms.Customer> = []
    for (index, word) in try (fields.strings("eligibility") ?? []).enumerated() {
      guard let customer = Self.customers.first(where: { $0.0 == word }) else {
        let names = Self.customers.map { quoted($0.0) }.joined(separator: ", ")
        throw JSONShapeError(
          path: "\(fields.place(of: "eligibility"))[\(index)]", problem: "must be one of \(names) (got \(quoted(word)))"
        )
      }
      customers.insert(customer.1)
    }
    return StoreCodeTerms(
      customers: fields.has("eligibility") ? customers : Set(StoreCodeTerms.Customer.allCases),
      isStackable: try fields.optionalBool("isStackable") ?? false)
  }

  /// Takes an offer in, unless its name is taken.
  private func add(
    _ offer: StoreOffer, to offers: inout [StoreOffer], at place: Fields
  ) throws(JSONShapeError) {
    if let id = offer.id, offers.contains(where: { $0.kind == offer.kind && $0.id == id }) {
      throw JSONShapeError(path: place.path, problem: "has the name \(quoted(id)) of an earlier offer of its kind")
    }
    guard offers.count < StoreKitFile.maximumOffers else {
      throw JSONShapeError(
        path: place.path, problem: "is one too many: at most \(StoreKitFile.maximumOffers) offers of a subscription")
    }
    offers.append(offer)
  }
}
