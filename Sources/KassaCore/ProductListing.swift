import KassaJSON

/// What a seller lists and what a store sells, joined (Voidhash, make and restore purchases: load products).
public struct ProductListing: Sendable, Equatable {
  /// Those that were asked for, in that order, nil for what cannot be bought; else all that can be, sorted by slug.
  public var products: [Product?]
  /// What is left out, once for each slug.
  public var missing: [Missing]
  /// What the store sells as a product of another type, once for each slug. It is left out, too.
  public var mismatched: [Mismatch]

  public struct Missing: Sendable, Equatable {
    public enum Reason: String, Sendable {
      /// The seller has no such product.
      case unknownProduct = "unknown_product"
      /// The seller has not said what this store calls it.
      case notMapped = "not_mapped"
      /// The store does not know what the seller says it is called there.
      case notSold = "not_sold"
    }
    public var slug: String
    public var reason: Reason
    public init(slug: String, reason: Reason) {
      self.slug = slug
      self.reason = reason
    }
  }

  public struct Mismatch: Sendable, Equatable {
    public var slug: String
    public var listed: Catalogue.Product.Kind
    public var sold: StoreProduct.Kind
    public init(slug: String, listed: Catalogue.Product.Kind, sold: StoreProduct.Kind) {
      self.slug = slug
      self.listed = listed
      self.sold = sold
    }
    public var reason: String { "\(listed.rawValue)_sold_as_\(sold.rawValue)" }
  }

  /// The ids for which a store has to be asked.
  public static func storeProductIDs(
    of catalogue: Catalogue, on platform: StoreTransaction.Platform, slugs: [String]? = nil
  ) -> [String] {
    let wanted = slugs.map(Set.init)
    var seen: Set<String> = []
    return catalogue.products.filter { wanted?.contains($0.slug) ?? true }
      .compactMap { $0.storeProductIDs[platform] }.filter { seen.insert($0).inserted }
  }

  /// - Parameters:
  ///   - storeProducts: what the store answered when it was asked for `storeProductIDs`.
  ///   - slugs: what the host asked for; nil for everything, of which products without a mapping are no news.
  public init(
    _ catalogue: Catalogue, on platform: StoreTransaction.Platform, storeProducts: [StoreProduct],
    slugs: [String]? = nil
  ) {
    let bySlug = Dictionary(catalogue.products.map { ($0.slug, $0) }) { first, _ in first }
    let sold = Dictionary(storeProducts.map { ($0.id, $0) }) { first, _ in first }
    let all = catalogue.products.filter { $0.storeProductIDs[platform] != nil }.map(\.slug)
    products = []
    missing = []
    mismatched = []
    var done: [String: Product?] = [:]
    for slug in slugs ?? all {
      // The same slug again has the same answer, and is reported no second time.
      let product = done[slug] ?? join(bySlug[slug], slug, platform, sold)
      done[slug] = product
      if product != nil || slugs != nil { products.append(product) }
    }
  }

  private mutating func join(
    _ listed: Catalogue.Product?, _ slug: String, _ platform: StoreTransaction.Platform, _ sold: [String: StoreProduct]
  ) -> Product? {
    func leaveOut(_ reason: Missing.Reason) -> Product? {
      missing.append(Missing(slug: slug, reason: reason))
      return nil
    }
    guard let listed else { return leaveOut(.unknownProduct) }
    guard let id = listed.storeProductIDs[platform] else { return leaveOut(.notMapped) }
    guard let store = sold[id] else { return leaveOut(.notSold) }
    guard let product = Product(listed, store) else {
      mismatched.append(Mismatch(slug: slug, listed: listed.kind, sold: store.kind))
      return nil
    }
    return product
  }
}
