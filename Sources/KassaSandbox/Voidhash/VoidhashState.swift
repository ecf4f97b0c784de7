import KassaJSON

extension VoidhashService {
  /// What the state tells of this half: no key, no purchase token.
  var stateDocument: JSON {
    let tables = state.store.voidhash
    return [
      "persons": .array(tables.persons.all.map(\.summary)),
      "receipts": .array(
        tables.receipts.all.flatMap { receipt in
          receipt.rows(isParked: catalogue.product(receipt.store, receipt.storeProductID) == nil)
        }),
      "series": .array(tables.series.all.map(\.document)),
      "development_purchases": .array(tables.developmentPurchases.all.map(\.document)),
      "events": .array(tables.events.all.map(\.document)),
      "requests": .object(tables.requests.all.map { ($0.id, JSON($0.count)) }),
      "offer_key": offerKeyDocument,
    ]
  }
}
