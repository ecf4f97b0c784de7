import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import KassaReceipts

@testable import KassaStores

/// A shop for the tests: one group with two levels, another one by the week, and things to keep.
enum Goods {
  static let month = Period(1, .month) ?? Goods.day
  static let year = Period(1, .year) ?? Goods.day
  static let week = Period(1, .week) ?? Goods.day
  private static let day = Period(iso8601: "P1D").unsafelyUnwrapped

  static func price(_ text: String, _ currency: String = "USD") -> StorePrice {
    StorePrice(Money(Decimal(text) ?? .zero, currency), formatted: "\(text) \(currency)")
  }

  static func product(
    _ id: String, _ kind: StoreProduct.Kind, _ text: String, shared: Bool = false, _ terms: StoreSubscription? = nil
  ) -> StoreProduct {
    StoreProduct(
      id: id, kind: kind, displayName: id, description: "", price: price(text), isFamilyShareable: shared,
      subscription: terms)
  }

  static func terms(
    _ level: Int, _ period: Period, group: String = "main", _ offers: [StoreOffer] = []
  ) -> StoreSubscription {
    StoreSubscription(groupID: group, groupName: group, level: level, period: period, offers: offers)
  }

  static func offer(
    _ kind: StoreOffer.Kind, _ id: String?, _ mode: StoreOffer.PaymentMode, _ text: String, _ period: Period,
    _ count: Int = 1
  ) -> StoreOffer {
    StoreOffer(id: id, kind: kind, paymentMode: mode, price: price(text), period: period, periodCount: count)
  }

  static let trial = offer(.introductory, nil, .freeTrial, "0", week)

  static var catalogue: StoreCatalogue {
    StoreCatalogue(
      products: [
        product("coins", .consumable, "0.99"),
        product("lifetime", .nonConsumable, "99", shared: true),
        product("pass", .nonRenewingSubscription, "5"),
        product(
          "basic.monthly", .subscription, "9.99",
          terms(
            2, month,
            [
              trial, offer(.promotional, "half", .payAsYouGo, "4.99", month, 3),
              offer(.winBack, "back", .freeTrial, "0", month), offer(.code, "WELCOME", .payUpFront, "15", month, 3),
            ])),
        product("basic.other", .subscription, "8.99", terms(2, month)),
        product("basic.yearly", .subscription, "89.99", terms(2, year)),
        product("pro.monthly", .subscription, "19.99", shared: true, terms(1, month)),
        product("news.weekly", .subscription, "1.99", terms(1, week, group: "news")),
      ], storefront: Storefront(country: "US", currency: "USD"))
  }

  static func with(_ change: (inout StoreSettings) -> Void) -> StoreCatalogue {
    var catalogue = catalogue
    change(&catalogue.settings)
    return catalogue
  }
}

/// A simulated store whose clock stands still until it is told otherwise.
final class Counter {
  /// 2026-10-20T10:00:00Z
  static let start: Int64 = 1_792_490_400_000
  static let day: Int64 = 86_400_000

  let time: ManualTime
  let store: SimulatedStore
  private let heard = Locked<[StoreEvent]>([])
  private let registered: Locked<[StoreTransaction]>

  init(
    _ catalogue: StoreCatalogue = Goods.catalogue, at start: Int64 = Counter.start, path: String = ":memory:",
    seed: UInt64 = 1, policy: SheetPolicy = .always(.approve), isXcode: Bool = false, country: String? = nil,
    time: ManualTime? = nil,
    start run: (@Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never>)? = nil
  ) throws {
    let time = time ?? ManualTime(wallMilliseconds: start), registered = Locked<[StoreTransaction]>([])
    self.time = time
    self.registered = registered
    let ports = SimulatedStorePorts(
      time: time, random: SeededRandom(seed: seed), now: { time.wallMilliseconds }, start: run,
      onTransaction: { transaction in registered.with { $0.append(transaction) } })
    store = try SimulatedStore(
      SimulatedStoreConfiguration(
        storekitFile: "shop.storekit", storefront: country, policy: policy, isXcode: isXcode), path: path,
      ports: ports
    ) { storefront throws(KassaError) in
      var catalogue = catalogue
      let configured = country.flatMap { Storefront(country: $0, currency: Territory.currency($0)) }
      if let storefront = storefront ?? configured { catalogue.storefront = storefront }
      return catalogue
    }
    store.listen { [heard] event in heard.with { $0.append(event) } }
  }

  var events: [StoreEvent] { heard.with { $0 } }
  var registrations: [StoreTransaction] { registered.with { $0 } }
  /// The transactions of which the listener has heard since it was asked last.
  func takeUpdates() -> [StoreTransaction] {
    heard.with { events in
      defer { events = [] }
      return events.compactMap { if case .updated(.verified(let transaction)) = $0 { transaction } else { nil } }
    }
  }

  @discardableResult
  func act(_ action: JSON) throws -> JSON { try store.simulate(action) }

  func advance(days: Int64) throws {
    time.advance(milliseconds: days * Self.day)
    try store.refresh()
  }

  func move(to iso8601: String) throws {
    time.setWall(milliseconds: Timestamp.milliseconds(iso8601: iso8601) ?? 0)
    try store.refresh()
  }

  /// Buys what must succeed.
  @discardableResult
  func buy(
    _ id: String, offer: StoreOrder.Offer = .automatic, quantity: Int = 1, token: String? = nil
  ) async throws -> StoreTransaction {
    let order = StoreOrder(productID: id, quantity: quantity, offer: offer, appAccountToken: token)
    let outcome = try await store.purchase(order)
    guard case .purchased(.verified(let transaction)) = outcome else { throw Unexpected(text: "\(outcome)") }
    return transaction
  }

  func unfinished() async throws -> [StoreTransaction] { try await store.unfinished().map { try $0.required } }
  func entitlements() async throws -> [StoreTransaction] { try await store.entitlements().map { try $0.required } }
  func owned() async throws -> [String] { try await entitlements().map(\.productID) }

  /// The state of the only subscription of a group.
  func status(_ group: String = "main") async throws -> JSON {
    let result = try await store.call(.subscriptionStatus, ["group_id": JSON(group)])
    return result["statuses"]?.elements.first ?? .null
  }

  func state(_ group: String = "main") async throws -> String { try await status(group)["state"]?.string ?? "none" }

  func eligibility(_ id: String, _ kind: StoreOffer.Kind) async throws -> Bool? {
    let offers = try await store.products([id]).first?.subscription?.offers ?? []
    return offers.first { $0.kind == kind }?.isEligible
  }

  /// The log as "day event product price".
  func log() throws -> [String] {
    try store.eventLog().map { line in
      let event = try JSON.parse(line)
      return ["at", "event", "product_id", "price"].compactMap { key in
        key == "at" ? event[key]?.string.map { String($0.prefix(10)) } : event[key]?.string
      }.joined(separator: " ")
    }
  }
}

struct Unexpected: Error { var text: String }

extension StoreDelivery {
  var required: StoreTransaction {
    get throws {
      guard case .verified(let transaction) = self else { throw Unexpected(text: "\(self)") }
      return transaction
    }
  }
}

/// A folder that is gone afterwards.
func withFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
  let path = FileManager.default.temporaryDirectory.appendingPathComponent("kassa-\(UUID().uuidString)").path
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: path) }
  return try await body(path)
}

func day(_ milliseconds: Int64?) -> String { milliseconds.map { String(Timestamp.iso8601($0).prefix(10)) } ?? "never" }

/// What an error says: its code, and its reason.
func refusal(_ body: () async throws -> Void) async -> String {
  do {
    try await body()
    return "nothing"
  } catch let error as KassaError {
    return [error.code.rawValue, error.reason].compactMap(\.self).joined(separator: " ")
  } catch { return "\(error)" }
}
