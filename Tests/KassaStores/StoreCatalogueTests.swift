import Testing

@testable import KassaStores

@Suite struct StoreCatalogueTests {
  @Test func anEmptyCatalogueSellsNothing() { #expect(StoreCatalogue().products.isEmpty) }
}
