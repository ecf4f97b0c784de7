import Foundation
import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaStores

@Suite("The same script gives the same event log")
struct StoreDeterminismTests {
  /// A hundred things that a seed chooses, with time between them.
  private func log(
    seed: UInt64 = 7, at start: Int64 = Counter.start, policy: SheetPolicy = .always(.approve),
    path: String = ":memory:"
  ) async throws -> [String] {
    let shop = try Counter(
      Goods.with { $0.hasBillingGracePeriod = true }, at: start, path: path, seed: seed, policy: policy)
    let script = SeededRandom(seed: seed)
    func pick<Element>(_ choices: [Element]) -> Element { choices[Int(script.bytes(1)[0]) % choices.count] }
    for _ in 0..<100 {
      try shop.advance(days: Int64(script.bytes(1)[0] % 20))
      let product = pick(Goods.catalogue.products).id
      switch pick([
        "buy", "buy", "elsewhere", "refund", "cancel", "fail", "recover", "ask", "approve", "finish", "price",
      ]) {
      case "buy": _ = try? await shop.store.purchase(StoreOrder(productID: product))
      case "elsewhere":
        _ = try? shop.act([
          "action": "buy_elsewhere", "product_id": JSON(product), "family": JSON(pick([true, false])),
        ])
      case "refund":
        guard let newest = try await shop.entitlements().last else { continue }
        _ = try? shop.act(["action": "refund", "transaction_id": JSON(newest.id), "prorated": true])
      case "cancel": _ = try? shop.act(["action": "cancel_subscription"])
      case "fail": try shop.act(["action": "fail_billing"])
      case "recover": try shop.act(["action": "recover_billing"])
      case "ask": _ = try? await shop.store.purchase(StoreOrder(productID: product, simulatesAskToBuy: true))
      case "approve": _ = try? shop.act(["action": "approve"])
      case "finish": for transaction in try await shop.unfinished() { try await shop.store.finish(transaction) }
      default: _ = try? shop.act(["action": "price_increase", "product_id": JSON(product), "price": "12.34"])
      }
    }
    return try shop.store.eventLog()
  }

  @Test func byteForByteInMemoryAndInAFile() async throws {
    let first = try await log()
    #expect(first.count > 60)
    #expect(try await log() == first)
    try await withFolder { folder in
      let kept = try await log(path: "\(folder)/store.db")
      #expect(kept == first)
    }
    // Everything in it was meant: no signature, no certificate, nothing of this machine.
    #expect(first.allSatisfy { line in (try? JSON.parse(line)["event"]) != nil && line.utf8.count < 400 })
  }

  @Test func anotherSeedDateOrPolicyChangesIt() async throws {
    let logs = [
      try await log(), try await log(seed: 8), try await log(at: Counter.start + 1),
      try await log(policy: .always(.cancel)),
    ]
    #expect(Set(logs).count == 4)
  }

  @Test func renewalsNoticedLateAreLikeThoseNoticedAtOnce() async throws {
    func log(step: Int64) async throws -> [String] {
      let shop = try Counter(Goods.with { $0.hasBillingGracePeriod = true })
      try await shop.buy("basic.monthly")
      try await shop.buy("news.weekly")
      try shop.act(["action": "fail_billing"])
      for _ in 0..<(120 / step) { try shop.advance(days: step) }
      return try shop.store.eventLog()
    }
    let early = try await log(step: 1), late = try await log(step: 120)
    #expect(early == late)
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: corpus), "../shared/data/storekit is not here"))
  func everyFileOfTheCorpusSells() async throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: corpus).filter { $0.hasSuffix(".storekit") }
      .sorted()
    var sold = 0
    for file in files {
      let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(corpus)/\(file)")))
      guard var catalogue = try? StoreKitFile.read(bytes) else { continue }
      // As the file sells with its switches off.
      catalogue.settings = StoreSettings()
      let shop = try Counter(catalogue)
      for product in catalogue.products.prefix(4) {
        let outcome = try await shop.store.purchase(StoreOrder(productID: product.id))
        if case .purchased(.verified(let transaction)) = outcome {
          #expect(transaction.productID == product.id && transaction.kind == product.kind, "\(file) \(product.id)")
          sold += 1
        }
      }
      try shop.advance(days: 400)
    }
    #expect(sold > 50)
  }
}

private let corpus = "../shared/data/storekit"
