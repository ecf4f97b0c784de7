import COpenSSL
import KassaCore
import KassaJSON
import KassaPlatform
import KassaReceipts

@testable import KassaStores

/// A host for tests: answers each request with what was set for its method, and keeps what it was asked.
final class HostShop {
  var replies: [String: JSON] = [:]
  private(set) var asked: [(method: String, params: JSON)] = []
  private(set) var events: [StoreEvent] = []
  private(set) var reports: [(code: String, message: String, details: JSON)] = []
  /// How many of a product its transactions are of.
  var quantity = 1

  static let apple: JSON = ["kind": "host", "platform": "apple", "bundle_id": "com.example.app"]
  static let google: JSON = ["kind": "host", "platform": "google", "bundle_id": "com.example.app"]

  /// Built of a configuration, and listened to.
  func store(_ configuration: JSON = HostShop.apple) throws -> HostStore {
    let store = HostStore(
      try HostStoreConfiguration(try Fields(configuration, path: "store")),
      ask: { (method, params) async throws(KassaError) in try await self.answer(method, params) },
      verify: { (text) throws(Refusal) in
        var transaction = try HostShop.verify(text)
        transaction.quantity = self.quantity
        return transaction
      },
      verifyAppTransaction: { (text) throws(Refusal) in
        guard text == "app" else { throw Refusal("wrong_bundle_id", "it is of another app") }
        return ["bundleId": "com.example.app", "receiptType": "Production", "originalPurchaseDate": 1_790_000_000_000]
      }, report: { self.reports.append(($0, $1, $2)) })
    store.listen { self.events.append($0) }
    return store
  }

  func answer(_ method: String, _ params: JSON) async throws(KassaError) -> JSON {
    asked.append((method, params))
    // As long as nothing is set, the host thinks about it, until the operation is cancelled.
    while replies[method] == nil {
      if Task.isCancelled { throw KassaError(.cancelled, "the request to the host was withdrawn") }
      await Task.yield()
    }
    return replies[method] ?? .null
  }

  /// Stands for Apple's signature: the text is the product's id, and "forged" is not believed.
  static func verify(_ text: String) throws(Refusal) -> StoreTransaction {
    guard text != "forged" else { throw Refusal("wrong_signature", "the signature does not hold") }
    return StoreTransaction(
      id: "2000000000000001", originalID: "2000000000000001", platform: .apple, productID: text,
      kind: text == "coins" ? .consumable : .subscription, purchasedAt: 1, originallyPurchasedAt: 1,
      environment: .production, proof: text)
  }

  static let product: JSON = [
    "id": "monthly", "type": "subscription", "display_name": "Pro", "description": "Everything",
    "price": ["amount": "9.99", "currency": "USD", "formatted": "$9.99"], "family_shareable": true,
    "subscription": [
      "group_id": "g1", "group_name": "Pro", "level": 2, "period": "P1M",
      "offers": [
        [
          "id": nil, "kind": "introductory", "payment_mode": "free_trial",
          "price": ["amount_micros": 0, "currency": "USD", "formatted": "$0.00"],
          "period": ["unit": "day", "count": 7], "period_count": 1, "eligible": true,
        ]
      ],
    ],
  ]
}

/// What Google signs, signed with a key of this test.
final class GoogleSigner: Sendable {
  private nonisolated(unsafe) let key: OpaquePointer
  /// Making a key takes long.
  static let shared = GoogleSigner()

  init?(bits: Int32 = 2_048, type: Int32 = EVP_PKEY_RSA) {
    guard OpenSSL.isPrepared, let context = EVP_PKEY_CTX_new_id(type, nil) else { return nil }
    defer { EVP_PKEY_CTX_free(context) }
    var made: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1 else { return nil }
    if type == EVP_PKEY_RSA { EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) }
    guard EVP_PKEY_keygen(context, &made) == 1, let made else { return nil }
    key = made
  }

  deinit { EVP_PKEY_free(key) }

  var publicKey: String {
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(key, &der)
    defer { CRYPTO_free(der, nil, 0) }
    return Base64.encode(Array(UnsafeBufferPointer(start: der, count: max(0, Int(count)))))
  }

  func sign(_ text: String) -> String {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 1_024)
    var count = signature.count
    let bytes = Array(text.utf8)
    EVP_DigestSignInit(context, nil, EVP_sha1(), nil, key)
    EVP_DigestSign(context, &signature, &count, bytes, bytes.count)
    return Base64.encode(Array(signature.prefix(count)))
  }

  /// A purchase as Play's adapter passes it on, its signed text changed as a test wants it.
  func purchase(_ type: String = "subscription", signed changes: [(String, JSON)] = []) -> JSON {
    let original = Self.original.merging(changes).text()
    return [
      "store": "google", "type": JSON(type), "product_id": "monthly", "purchase_token": "token-of-play",
      "original_json": JSON(original), "signature": JSON(sign(original)),
    ]
  }

  static let original: JSON = [
    "orderId": "GPA.1234-5678-9012-34567..2", "packageName": "com.example.app", "productId": "monthly",
    "purchaseTime": 1_790_000_000_000, "purchaseState": 0, "purchaseToken": "token-of-play", "quantity": 1,
    "acknowledged": false, "obfuscatedAccountId": "6f1e", "autoRenewing": true,
  ]
}

extension JSON {
  /// This document with the value at a path such as `price.amount` replaced, or taken away.
  func setting(_ path: String, to value: JSON?) -> JSON {
    var keys = path.split(separator: ".").map(String.init)
    let key = keys.removeFirst()
    if isArray {
      let index = Int(key) ?? 0
      return .array(
        elements.enumerated().map { $0 == index ? $1.changed(keys, to: value) ?? .null : $1 })
    }
    let changed = (self[key] ?? .null).changed(keys, to: value)
    let others = members.filter { $0.0 != key }
    return .object(others + (changed.map { [(key, $0)] } ?? []))
  }

  private func changed(_ keys: [String], to value: JSON?) -> JSON? {
    keys.isEmpty ? value : setting(keys.joined(separator: "."), to: value)
  }
}

extension StoreDelivery {
  var reason: String? {
    if case .unverified(_, _, let reason, _) = self { return reason }
    return nil
  }
  var message: String? {
    if case .unverified(_, _, _, let message) = self { return message }
    return nil
  }
}

/// The error that the body ends with.
func failure<Value>(_ body: () async throws -> Value) async -> KassaError? {
  do {
    _ = try await body()
    return nil
  } catch { return error as? KassaError }
}
