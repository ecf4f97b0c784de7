import KassaCore
import KassaJSON
import KassaPlatform
import Testing

@testable import KassaClient

/// No call waits for ever: each ends within its bound, whatever the network does, and at once when it is cancelled.
/// (`OutboxTests` has the bounds of a back end with people.)
@Suite struct WatchdogTests {
  enum Weather: CaseIterable {
    case offline, silent, failing, html, empty

    var network: Network.Weather {
      switch self {
      case .offline: .offline
      case .silent: .silent
      case .failing: .answers(HTTPResponse(status: 500))
      case .html: .answers(HTTPResponse(status: 200, body: Array("<html>".utf8)))
      case .empty: .answers(HTTPResponse(status: 200))
      }
    }
  }

  private struct Operation {
    let name: String
    let seconds: Int64
    let start: (Client) -> UInt64
    init(_ name: String, within seconds: Int64, _ start: @escaping (Client) -> UInt64) {
      (self.name, self.seconds, self.start) = (name, seconds, start)
    }
  }

  /// A request with its retries takes 30 s, and one more request may be under way then.
  private static let request: Int64 = 41

  /// In the order of the header.
  private static func operations(_ rig: Rig) -> [Operation] {
    return [
      Operation("configure", within: request) { $0.configure(rig.configuration) },
      Operation("refresh_plans", within: request) { $0.refreshPlans() },
      Operation("get_products", within: request) { $0.products(nil) },
      Operation("purchase, web", within: request) { $0.purchase(Rig.monthly, ["method": "whop"]) },
      Operation("purchase, store", within: request) { $0.purchase(Rig.monthly, ["method": "store"]) },
      Operation("log_in", within: request) { $0.logIn("ada") },
      Operation("set_attributes", within: 0) { $0.setAttributes(["a": 1], [:]) },
      Operation("restore_purchases", within: request) { $0.restorePurchases() },
      Operation("report_transaction", within: 0) { $0.report(transaction: "1") },
      Operation("sync_purchases", within: 0) { $0.syncPurchases() },
      Operation("sync_pending_work", within: 3) { $0.syncPendingWork() },
      Operation("simulate", within: 0) { $0.simulate(["action": "state"]) },
    ]
      + StoreMethod.allCases.map { method in
        Operation("store_call \(method.rawValue)", within: request) { $0.storeCall(method.rawValue, [:]) }
      }
  }

  private func rig() throws -> Rig {
    let time = ManualTime(wallMilliseconds: Rig.start)
    let store = ScriptedStore(time: time)
    let bought = StoreTransaction.sample("1001")
    store.change {
      $0.products = [
        StoreProduct(
          id: "com.app.monthly", kind: .subscription, displayName: "Monthly", description: "",
          price: StorePrice(Money(Decimal(999, fractionDigits: 2) ?? .zero, "EUR"), formatted: "9,99 €"),
          subscription: Period(1, .month).map { StoreSubscription(groupID: "1", level: 1, period: $0) })
      ]
      $0.outcome = .success(.purchased(.verified(bought)))
      $0.entitlements = [.verified(bought)]
    }
    return try Rig(
      Rig.Wishes(mappings: [(Rig.monthly, "com.app.monthly")]), time: time, network: Network(time: time, store: store))
  }

  @Test("S063 With memberships every operation ends within its bound", arguments: Weather.allCases)
  func memberships(weather: Weather) throws {
    let rig = try rig()
    rig.network.set(weather.network)
    for operation in Self.operations(rig) {
      let started = rig.time.bootNanoseconds
      _ = try rig.completion(of: operation.start(rig.client))
      let seconds = (rig.time.bootNanoseconds - started) / 1_000_000_000
      #expect(seconds <= operation.seconds, "\(operation.name)")
    }
  }

  @Test(
    "S063 A checkout that the host never closes ends after timeout_s, whatever the network does meanwhile",
    arguments: Weather.allCases)
  func openCheckout(weather: Weather) throws {
    let rig = try Rig(Rig.Wishes(presenter: ["presenter": "host", "timeout_s": 60]))
    let operation = rig.client.purchase(Rig.monthly, [:])
    var isAsked = false
    rig.letTimePass(inStepsOf: 50) {
      isAsked = isAsked || rig.events().contains { $0["type"]?.string == "request" }
      return isAsked
    }
    rig.network.set(weather.network)
    let started = rig.time.bootNanoseconds
    let completion = try rig.completion(of: operation)
    #expect(completion["result"]?["outcome"]?.string == "cancelled", "\(completion.text())")
    let seconds = (rig.time.bootNanoseconds - started) / 1_000_000_000
    #expect((59...60 + Self.request).contains(seconds))
    #expect(rig.events().contains { $0["type"]?.string == "request_cancelled" })
  }

  @Test("S063 A host that never answers what it is asked fails the call after a minute")
  func silentHost() throws {
    let rig = try Rig(Rig.Wishes(credential: ("access_token", "host")), configure: false)
    let started = rig.time.bootNanoseconds
    let error = try rig.error(of: rig.client.configure(rig.configuration))
    #expect(error["code"]?.string == "token_unavailable")
    #expect(error["message"]?.string?.contains("auth/access_token within 60 seconds") == true)
    #expect((60...60 + Self.request).contains((rig.time.bootNanoseconds - started) / 1_000_000_000))
  }

  @Test("S063 Whatever is under way ends at once when it is cancelled")
  func cancelled() throws {
    let rig = try rig()
    rig.network.set(.silent)
    for operation in Self.operations(rig) {
      let number = operation.start(rig.client)
      rig.settle()
      _ = rig.client.cancel(number)
      let started = rig.time.bootNanoseconds
      #expect(rig.client.wait(number, timeoutMilliseconds: 5_000) != nil, "\(operation.name)")
      #expect(rig.time.bootNanoseconds == started)
    }
  }
}
