import Glibc
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaSandbox

@Suite("Store receipts")
struct StoreReceiptTests {
  private static let month: Int64 = 30 * 86_400_000

  private func open(path: String = ":memory:") throws -> Shop {
    try Shop(
      catalogue: try JSON.parse(Catalogue.defaultText).merging([("switches", ["store_receipts": true])]), path: path)
  }

  /// The first month of a subscription, or with `id` a renewal of it.
  private func transaction(
    id: String = "2000", at moment: Int64 = Shop.start, product: String = "pro_monthly",
    kind: StoreProduct.Kind = .subscription, expiresAt: Int64?? = .none, revokedAt: Int64? = nil,
    isUpgraded: Bool = false, isTrial: Bool = false, version: Int64 = 0
  ) -> StoreTransaction {
    StoreTransaction(
      id: id, originalID: "2000", platform: .apple, productID: product, kind: kind, purchasedAt: moment,
      originallyPurchasedAt: Shop.start, expiresAt: expiresAt ?? moment + Self.month, environment: .sandbox,
      isUpgraded: isUpgraded, revocation: revokedAt.map { StoreTransaction.Revocation(at: $0) },
      offer: isTrial ? StoreTransaction.Offer(id: nil, kind: .introductory, paymentMode: .freeTrial) : nil,
      signedAt: moment + version, proof: "signed-\(id)-\(version)")
  }

  private func receipt(
    _ transaction: StoreTransaction, plan: String = "plan_monthly", metadata: JSON = ["kassa_device_id": "device-1"]
  ) -> JSON {
    [
      "store": JSON(transaction.platform.rawValue), "transaction_id": JSON(transaction.id),
      "original_transaction_id": JSON(transaction.originalID), "store_product_id": JSON(transaction.productID),
      "plan_id": JSON(plan), "proof": JSON(transaction.proof), "metadata": metadata,
    ]
  }

  /// The store tells of a transaction, and its receipt is offered. Gives the membership.
  @discardableResult
  private func sell(
    _ transaction: StoreTransaction, plan: String = "plan_monthly",
    metadata: JSON = ["kassa_device_id": "device-1"], in shop: Shop
  ) throws -> JSON {
    try shop.sandbox.register(storeTransaction: transaction)
    let answer = try shop.call("POST", "/store_receipts", receipt(transaction, plan: plan, metadata: metadata))
    #expect(answer.status == 200, "\(answer.text)")
    return answer["membership"]
  }

  @Test func withoutTheSwitchThereIsNoSuchRoute() throws {
    let shop = try Shop()
    try shop.sandbox.register(storeTransaction: transaction())
    let answer = try shop.call("POST", "/store_receipts", receipt(transaction()))
    #expect(answer.status == 404)
    #expect(answer.json.at("error", "message") == "There is no POST /store_receipts")
    #expect(try shop.get("/memberships").ids == [])
  }

  @Test func aReceiptMakesAMembership() throws {
    let shop = try open()
    let metadata: JSON = ["kassa_device_id": "device-1", "kassa_app_user_id": "user-1"]
    let membership = try sell(transaction(), metadata: metadata, in: shop)
    #expect(membership["status"] == "active")
    #expect(membership["plan_id"] == "plan_monthly")
    #expect(membership["product_id"] == "prod_pro")
    #expect(membership["metadata"] == metadata)
    #expect(membership["current_period_end"] == "2026-11-19T10:00:00.000Z")
    #expect(membership["expires_at"] == JSON.null)
    let id = try #require(membership["id"]?.string)
    #expect(try shop.membership(id).json == membership)
    #expect(try shop.get("/payments").rows.isEmpty, "the store was paid, not the service")
  }

  @Test func howLongItLastsIsTheStoresWord() throws {
    let shop = try open()
    let once = try sell(transaction(kind: .nonConsumable, expiresAt: .some(nil)), plan: "plan_lifetime", in: shop)
    #expect(once["status"] == "completed")
    #expect(once["expires_at"] == JSON.null)
    let season = try sell(transaction(kind: .nonRenewingSubscription), plan: "plan_desktop", in: try open())
    #expect(season["status"] == "completed")
    #expect(season["expires_at"] == "2026-11-19T10:00:00.000Z")
    #expect(season["license_key"]?.string != nil)
    #expect(try sell(transaction(isTrial: true), in: try open())["status"] == "trialing")
    #expect(try sell(transaction(kind: .consumable), in: try open()) == JSON.null)
  }

  @Test func aSeriesHasOneMembershipHoweverOftenItIsOffered() throws {
    let shop = try open()
    let first = try sell(transaction(), in: shop)
    #expect(try sell(transaction(), in: shop) == first)
    let renewed = try sell(transaction(id: "2001", at: Shop.start + Self.month), in: shop)
    #expect(renewed["id"] == first["id"])
    #expect(renewed["current_period_end"] == "2026-12-19T10:00:00.000Z")
    // The first month's receipt, late: the period stays.
    let late = try shop.call("POST", "/store_receipts", receipt(transaction()))
    #expect(late["membership"]["current_period_end"] == "2026-12-19T10:00:00.000Z")
    #expect(try shop.get("/memberships").ids.count == 1)
  }

  @Test func aPeriodThatIsNotFollowedByAnotherEndsIt() throws {
    let shop = try open()
    let id = try #require(try sell(transaction(), in: shop)["id"]?.string)
    try shop.advance(days: 29)
    #expect(try shop.membership(id)["status"] == "active")
    try shop.advance(days: 1)
    #expect(try shop.membership(id)["status"] == "expired")
    #expect(try shop.get("/payments").rows.isEmpty)
    // The store tells of a late renewal by itself.
    try shop.sandbox.register(storeTransaction: transaction(id: "2001", at: Shop.start + Self.month))
    #expect(try shop.membership(id)["status"] == "active")
    #expect(try shop.membership(id)["current_period_end"] == "2026-12-19T10:00:00.000Z")
  }

  @Test func aRefundEndsIt() throws {
    let shop = try open()
    let id = try #require(try sell(transaction(), in: shop)["id"]?.string)
    let refunded = transaction(revokedAt: Shop.start + 5_000, version: 5_000)
    #expect(try sell(refunded, in: shop)["status"] == "canceled")
    #expect(try shop.membership(id)["canceled_at"] == "2026-10-20T10:00:05.000Z")
    // What was signed before the refund is still genuine, and no news.
    try shop.sandbox.register(storeTransaction: transaction())
    #expect(try shop.call("POST", "/store_receipts", receipt(transaction()))["membership"]["status"] == "canceled")
    try shop.advance(days: 60)
    #expect(try shop.membership(id)["status"] == "canceled")
  }

  @Test func aRefundOfAFormerPeriodDoesNot() throws {
    let shop = try open()
    try sell(transaction(), in: shop)
    let id = try #require(try sell(transaction(id: "2001", at: Shop.start + Self.month), in: shop)["id"]?.string)
    try sell(transaction(revokedAt: Shop.start + 5_000, version: 5_000), in: shop)
    #expect(try shop.membership(id)["status"] == "active")
  }

  @Test func anUpgradeBringsItsPlan() throws {
    let shop = try open()
    let first = try sell(transaction(), in: shop)
    try shop.sandbox.register(storeTransaction: transaction(isUpgraded: true, version: 1))
    let yearly = transaction(id: "2001", product: "pro_yearly", expiresAt: Shop.start + 365 * 86_400_000)
    let membership = try sell(yearly, plan: "plan_yearly", in: shop)
    #expect(membership["id"] == first["id"])
    #expect(membership["plan_id"] == "plan_yearly")
    #expect(membership["status"] == "active")
    #expect(membership["current_period_end"] == "2027-10-20T10:00:00.000Z")
    #expect(try sell(transaction(isUpgraded: true, version: 1), in: shop)["plan_id"] == "plan_yearly")
  }

  @Test("S081 what another device offers does not change whose it is", arguments: [nil, "user-1"])
  func ownerStays(owner: String?) throws {
    let shop = try open()
    let owned: JSON = ["kassa_device_id": "device-1", "kassa_app_user_id": JSON(owner)]
    let bought: JSON = .object(owned.members.filter { !$0.1.isNull })
    try sell(transaction(), metadata: bought, in: shop)
    let guest = try sell(transaction(), metadata: ["kassa_device_id": "device-2"], in: shop)
    #expect(guest["metadata"] == bought)
    let other: JSON = ["kassa_device_id": "device-2", "kassa_app_user_id": "user-2"]
    let restored = try sell(transaction(), metadata: other, in: shop)
    // Nobody's becomes that of the user who proves it; somebody's stays.
    #expect(restored.at("metadata", "kassa_app_user_id") == JSON(owner ?? "user-2"))
    #expect(restored.at("metadata", "kassa_device_id") == "device-1")
  }

  @Test(arguments: [
    ("transaction_id", "2999", "transaction_id names no transaction that the store has registered"),
    ("proof", "signed-2000-1", "proof is not what the store signed"),
    ("store", "google", "transaction_id names no transaction"),
    ("store", "steam", "store must be one of apple, google"),
    ("original_transaction_id", "1999", "original_transaction_id is not that of this transaction"),
    ("store_product_id", "pro_yearly", "store_product_id is not what this transaction sold"),
    ("plan_id", "plan_none", "plan_id names no plan"), ("proof", nil, "proof is missing"),
    ("metadata", "device-1", "metadata must be"), ("mood", "good", "mood is not a known key"),
  ])
  func whatItRefuses(key: String, value: String?, message: String) throws {
    let shop = try open()
    try shop.sandbox.register(storeTransaction: transaction())
    let answer = try shop.call("POST", "/store_receipts", receipt(transaction()).merging([(key, JSON(value))]))
    #expect(answer.status == 400)
    #expect(answer.json.at("error", "type") == "invalid_request_error")
    #expect(answer.json.at("error", "message").string?.contains(message) == true, "\(answer.text)")
    #expect(try shop.get("/memberships").ids == [])
  }

  @Test func anyCredentialWillDoButNone() throws {
    let shop = try open()
    try shop.sandbox.register(storeTransaction: transaction())
    #expect(try shop.call("POST", "/store_receipts", receipt(transaction()), key: nil).status == 401)
    #expect(try shop.call("POST", "/store_receipts", receipt(transaction()), key: "sandbox_iap_key").status == 200)
  }

  @Test func aRefusalIsNotRememberedForTheKey() throws {
    let shop = try open()
    let key = [HTTPHeader("Idempotency-Key", "kassa-apple-2000-1")]
    #expect(try shop.call("POST", "/store_receipts", receipt(transaction()), headers: key).status == 400)
    try shop.sandbox.register(storeTransaction: transaction())
    #expect(try shop.call("POST", "/store_receipts", receipt(transaction()), headers: key).status == 200)
  }

  @Test func theControlRegistersTheSame() throws {
    let shop = try open()
    let sold = transaction()
    let told = sold.document.merging([("proof", JSON(sold.proof)), ("signed_at", JSON(sold.signedAt))])
    let result = try shop.act(["action": "register_store_transaction", "transaction": told])
    #expect(result == ["transaction_id": "2000"])
    #expect(try shop.call("POST", "/store_receipts", receipt(sold)).status == 200)
    let state = try shop.act(["action": "state"])
    #expect(state["store_transactions"]?.elements.first?["store_product_id"] == "pro_monthly")
    #expect(!state.text().contains(sold.proof))
    let error = #expect(throws: KassaError.self) {
      try shop.act(["action": "register_store_transaction", "transaction": told.merging([("type", "gift")])])
    }
    #expect(error?.message.contains("transaction.type must be one of consumable") == true, "\(error?.message ?? "")")
  }

  @Test func whatTheStoreToldOutlivesTheProcess() throws {
    let path = "/tmp/kassa-store-receipts-\(getpid()).db"
    defer { for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) } }
    try open(path: path).sandbox.register(storeTransaction: transaction())
    try open(path: path).sandbox.register(storeTransaction: transaction(version: 7))
    let shop = try open(path: path)
    let id = try #require(
      try shop.call("POST", "/store_receipts", receipt(transaction()))["membership"]["id"]?.string)
    #expect(try open(path: path).membership(id)["status"] == "active")
  }
}
