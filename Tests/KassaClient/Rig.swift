import Foundation
import KassaBackends
import KassaCore
import KassaJSON
import KassaPlatform
import KassaSandbox
import Testing

@testable import KassaClient

/// A client on the sandbox, with clocks that stand still until a test moves them and a network that can be cut.
final class Rig: Sendable {
  static let company = "biz_sandbox"
  static let start: Int64 = 1_790_000_000_000

  let time: ManualTime
  let network: Network
  let client: Client

  /// What a test wants of the configuration.
  struct Wishes: Sendable {
    /// A back end with people, instead of one with memberships.
    var hasPeople = false
    var environment = "production"
    var catalogue: JSON?
    var productIDs: [String] = []
    var credential: (String, JSON) = ("api_key", "sandbox_key")
    var presenter: JSON = ["presenter": "simulated"]
    var offline: JSON = ["days": 30]
    var isEnabled = true
    var mappings: [(plan: String, product: String)] = []
    var others: [(String, JSON)] = []
  }
  let wishes: Wishes

  init(
    _ wishes: Wishes = Wishes(), storage: String = ":memory:", time: ManualTime? = nil, network: Network? = nil,
    thread: String = "library", seed: UInt64 = 1, configure: Bool = true
  ) throws {
    let time = time ?? ManualTime(wallMilliseconds: Self.start)
    let network = network ?? Network(time: time, seed: seed)
    self.time = time
    self.network = network
    self.wishes = wishes
    let options = try ClientOptions(["app_id": "test", "storage": JSON(storage), "thread": JSON(thread)])
    client = try Client(options, assembly: network.assembly, time: time, random: SeededRandom(seed: seed &+ 77))
    if configure { _ = try result(of: client.configure(configuration)) }
  }

  private let isClosed = Locked(false)

  /// Ends the client before the test ends.
  func close() {
    let isOpen = isClosed.with { closed -> Bool in
      defer { closed = true }
      return !closed
    }
    if isOpen { client.close() }
  }

  deinit { close() }

  var configuration: JSON { wishes.hasPeople ? configurationOfPeople : configurationOfMemberships }

  private var configurationOfPeople: JSON {
    var backend: [(String, JSON)] = [
      ("kind", "voidhash"), ("publishable_key", "vh_pk_sandbox"), ("bundle_id", "com.example.app"),
      ("base_url", "embedded:"), ("app_version", "1.0"), ("environment", JSON(wishes.environment)),
    ]
    if let catalogue = wishes.catalogue { backend.append(("catalogue", catalogue)) }
    return .object(
      [
        ("backend", .object(backend)), ("offline", wishes.offline), ("enabled", JSON(wishes.isEnabled)),
        ("locale", "en-US"),
      ] + wishes.others)
  }

  private var configurationOfMemberships: JSON {
    var backend: [(String, JSON)] = [
      ("kind", "whop"), ("company_id", JSON(Self.company)), ("base_url", "embedded:"), wishes.credential,
      ("product_ids", .array(wishes.productIDs.map { JSON($0) })),
    ]
    if let catalogue = wishes.catalogue { backend.append(("catalogue", catalogue)) }
    if !wishes.mappings.isEmpty {
      let mappings = wishes.mappings.map { JSON.object([("whop_id", JSON($0.plan)), ("apple_id", JSON($0.product))]) }
      backend.append(("plan_mappings", .array(mappings)))
    }
    return .object(
      [
        ("backend", .object(backend)), ("checkout", wishes.presenter), ("offline", wishes.offline),
        ("enabled", JSON(wishes.isEnabled)), ("locale", "en-US"),
      ] + wishes.others)
  }

  // MARK: Operations

  /// Waits for the completion; where the library sleeps meanwhile, time passes.
  func completion(of operation: UInt64) throws -> JSON {
    for _ in 0..<4_000 {
      if let document = client.wait(operation, timeoutMilliseconds: 5) { return document }
      // On a busy machine the loop may not have come to what is due: time waits for it.
      for _ in 0..<5 { network.onLoop {} }
      if time.sleeperCount > 0, network.isQuiet { time.advance(milliseconds: 250) }
    }
    Issue.record("operation \(operation) never ended")
    throw CancellationError()
  }

  @discardableResult
  func result(of operation: UInt64) throws -> JSON {
    let document = try completion(of: operation)
    if let error = document["error"] { throw Failure(error) }
    return try #require(document["result"])
  }

  func error(of operation: UInt64) throws -> JSON { try #require(try completion(of: operation)["error"]) }

  struct Failure: Error, CustomStringConvertible {
    let error: JSON
    init(_ error: JSON) { self.error = error }
    var description: String { error.text() }
  }

  @discardableResult
  func simulate(_ action: JSON) throws -> JSON { try result(of: client.simulate(action)) }

  /// Lets time pass for the device and the service alike.
  func advance(days: Double = 0, milliseconds: Int64 = 0) {
    time.advance(milliseconds: Int64(days * 86_400_000) + milliseconds)
    settle()
  }

  /// Lets time pass until something has come about, in steps between which the loop has the time it needs.
  func letTimePass(inStepsOf milliseconds: Int64, until isSo: () -> Bool) {
    for _ in 0..<500 where !isSo() { advance(milliseconds: milliseconds) }
  }

  func refresh() throws { try result(of: client.configure(configuration)) }

  /// Lets the loop do what is due.
  func settle() {
    for _ in 0..<3 { Thread.sleep(forTimeInterval: 0.005) }
    _ = client.revision
  }

  // MARK: Answers

  func hasAccess(_ product: String) -> Bool {
    client.clockMoved()
    return product.withCString { client.answers.answers.hasAccess($0) }
  }

  func hasPerk(_ perk: String) -> Bool {
    client.clockMoved()
    return perk.withCString { client.answers.answers.hasPerk($0) }
  }

  var isSubscribed: Bool {
    client.clockMoved()
    return client.answers.answers.isSubscribed()
  }

  /// Everything that waits in the queue.
  func events() -> [JSON] {
    var events: [JSON] = []
    while let event = client.nextEvent(timeoutMilliseconds: 0) { events.append(event) }
    return events
  }

  func changes(_ what: String? = nil) -> [JSON] {
    events().filter { $0["type"]?.string == "changed" && (what == nil || $0["what"]?.string == what) }
  }

  func diagnostics() -> [String] {
    events().filter { $0["type"]?.string == "diagnostic" }.compactMap { $0["code"]?.string }
  }

  // MARK: Plans of the built-in catalogue

  static let monthly = "plan_monthly", lifetime = "plan_lifetime", pro = "prod_pro"

  @discardableResult
  func buy(_ plan: String = Rig.monthly) throws -> JSON { try result(of: client.purchase(plan, [:])) }
}

/// The way to the service: the sandbox in this process, which a test can put out of reach or let answer strangely.
final class Network: Sendable {
  enum Weather: Sendable {
    case fine
    case offline
    /// Nobody answers, which the transport notices after 10 s.
    case silent
    /// Every answer is this one.
    case answers(HTTPResponse)
  }

  let time: ManualTime
  private let seed: UInt64
  private let weather = Locked(Weather.fine)
  private let open = Locked(0)
  private let log = Locked<[HTTPRequest]>([])
  private let answered = Locked<Set<String>>([])
  private let change = Locked<(@Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse)?>(nil)
  private let hold = Locked<(@Sendable (HTTPRequest) -> Bool)?>(nil)
  private let sandbox = Locked<Shared?>(nil)
  private let loop = Locked<EventLoop?>(nil)
  private let scope = Locked("whop")
  private let environments = Locked<Set<StoreTransaction.Environment>>([.sandbox])
  /// What charges in-app, if anything does.
  let store: ScriptedStore?

  /// The sandbox is used on the loop only.
  private struct Shared: @unchecked Sendable { let sandbox: Sandbox }

  init(time: ManualTime, seed: UInt64 = 1, store: ScriptedStore? = nil) {
    self.time = time
    self.seed = seed
    self.store = store
  }

  func set(_ weather: Weather) { self.weather.with { $0 = weather } }
  func setScope(_ name: String) { scope.with { $0 = name } }
  func setEnvironments(_ environments: Set<StoreTransaction.Environment>) {
    self.environments.with { $0 = environments }
  }

  /// Runs something where the client does its work.
  func onLoop(_ body: @escaping () -> Void) { loop.with { $0 }?.sync(body) }
  func hold(_ matches: (@Sendable (HTTPRequest) -> Bool)?) { hold.with { $0 = matches } }
  /// Changes what comes back.
  func rewrite(_ body: (@Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse)?) { change.with { $0 = body } }
  /// Whether a request with that method has come back.
  func hasAnswered(_ method: String) -> Bool { answered.with { $0.contains(method) } }
  var requests: [HTTPRequest] { log.with { $0 } }
  func forget() { log.with { $0 = [] } }
  /// No request is under way.
  var isQuiet: Bool { open.with { $0 } == 0 }

  var assembly: Assembly {
    { [self] configuration, surroundings throws(KassaError) in
      loop.with { $0 = surroundings.loop }
      if configuration.backendKind == "voidhash" { return try people(configuration, surroundings) }
      let whop = try WhopConfiguration(configuration.backend)
      let sandbox = try service(whop.catalogue)
      let transport = surroundings.watched(Cable(network: self, inner: EmbeddedTransport(sandbox, time: time)))
      let tokens: (any AccessTokenSource)? =
        if case .host = whop.credential { surroundings.tokens(companyID: whop.companyID) } else { nil }
      let backend = WhopBackend(
        whop, transport: transport, tokens: tokens, time: surroundings.time, random: surroundings.random,
        source: "kassa/test", now: surroundings.now, serverTime: surroundings.serverTime)
      let presenter: any CheckoutPresenter =
        configuration.presenter == .simulated
        ? SimulatedPresenter(sandbox, card: configuration.card)
        : surroundings.hostPresenter(
          returnURL: configuration.returnURL, timeoutSeconds: configuration.checkoutTimeoutSeconds)
      return Setup(
        scope: scope.with { $0 }, backend: .memberships(backend), presenter: presenter, webMethod: "whop", store: store,
        planMappings: whop.planMappings, storeEnvironments: environments.with { $0 },
        productIDs: whop.productIDs.map(Set.init),
        isSandbox: true,
        priceText: { amount, currency, _ in "\(amount.text) \(currency)" },
        simulate: { action throws(KassaError) in try sandbox.perform(action) })
    }
  }

  private func people(
    _ configuration: Configuration, _ surroundings: Surroundings
  ) throws(KassaError) -> Setup {
    let voidhash = try VoidhashConfiguration(configuration.backend, isDebug: configuration.isDebug)
    let sandbox = try service(voidhash.catalogue)
    let backend = try VoidhashBackend(
      voidhash,
      facts: VoidhashClientFacts(
        sdkVersion: "test", isDebug: configuration.isDebug, isObserver: configuration.isObserver, locales: ["en-US"]),
      transport: surroundings.watched(Cable(network: self, inner: EmbeddedTransport(sandbox, time: time))),
      time: surroundings.time, random: surroundings.random, asking: surroundings.asking,
      serverTime: surroundings.serverTime,
      report: surroundings.report)
    return Setup(
      scope: scope.with { $0 }, backend: .people(backend), presenter: nil, webMethod: nil,
      anonymousID: { VoidhashBackend.anonymousID($0) }, appVersion: voidhash.appVersion, store: store,
      storeEnvironments: environments.with { $0 }, productIDs: nil, isSandbox: true,
      priceText: { amount, currency, _ in "\(amount.text) \(currency)" },
      simulate: { action throws(KassaError) in try sandbox.perform(action) })
  }

  /// Tells the service what a store sold, as Apple's servers would.
  func register(_ transaction: StoreTransaction) throws {
    let shared = try #require(sandbox.with { $0 })
    let result = Locked<KassaError?>(nil)
    onLoop {
      do throws(KassaError) { try shared.sandbox.register(storeTransaction: transaction) } catch {
        result.with { $0 = error }
      }
    }
    if let error = result.with({ $0 }) { throw error }
  }

  /// What the service remembers.
  func serviceState() throws -> JSON {
    let shared = try #require(sandbox.with { $0 })
    let result = Locked<JSON?>(nil)
    onLoop { result.with { $0 = try? shared.sandbox.perform(["action": "state"]) } }
    return try #require(result.with { $0 })
  }

  /// One service, however many clients.
  private func service(_ catalogue: JSON?) throws(KassaError) -> Sandbox {
    if let shared = sandbox.with({ $0 }) { return shared.sandbox }
    let new = try Sandbox(catalogue: catalogue, time: time, random: SeededRandom(seed: seed))
    sandbox.with { $0 = Shared(sandbox: new) }
    return new
  }

  private struct Cable: HTTPTransport {
    let network: Network
    let inner: any HTTPTransport

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
      network.log.with { $0.append(request) }
      while network.hold.with({ $0 })?(request) ?? false {
        do throws(CancellationError) { try await network.time.sleep(milliseconds: 100) } catch { throw .cancelled }
      }
      // Time may pass meanwhile: nothing is under way.
      if case .silent = network.weather.with({ $0 }) {
        do throws(CancellationError) {
          try await network.time.sleep(milliseconds: Constants.requestMilliseconds)
        } catch { throw .cancelled }
      }
      network.open.with { $0 += 1 }
      defer { network.open.with { $0 -= 1 } }
      switch network.weather.with({ $0 }) {
      case .fine:
        let response = try await inner.send(request)
        network.answered.with { _ = $0.insert(request.method) }
        return network.change.with { $0 }.map { $0(request, response) } ?? response
      case .offline: throw .offline("cut by the test")
      case .silent: throw .timedOut
      case .answers(let response): return response
      }
    }

    func milliseconds(ofHTTPDate text: String) -> Int64? { inner.milliseconds(ofHTTPDate: text) }
  }
}

/// A directory that is gone after the test.
final class TemporaryDirectory {
  let path: String
  init() {
    let base = FileManager.default.temporaryDirectory.appendingPathComponent("kassa-test-\(UUID().uuidString)")
    path = base.path
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }
}

extension Rig {
  /// The next request of that kind, past everything else in the queue.
  func request(_ service: String, _ method: String) throws -> JSON {
    for _ in 0..<400 {
      guard let event = client.nextEvent(timeoutMilliseconds: 10) else { continue }
      if event["service"]?.string == service, event["method"]?.string == method { return event }
    }
    Issue.record("no request \(service)/\(method)")
    throw CancellationError()
  }

  func respond(_ request: JSON, _ reply: JSON) throws -> Bool {
    client.respond(UInt64(try #require(request["id"]?.integer)), reply)
  }

  /// Pays at the checkout that a request shows, and comes back.
  func pay(_ request: JSON, card: String = "4242 4242 4242 4242") throws {
    let url = try #require(request["params"]?["url"])
    let result = try simulate(["action": "complete_checkout", "url": url, "card": JSON(card)])
    // By now the client may have found the purchase by itself, and withdrawn the request.
    _ = try respond(request, ["outcome": "returned", "url": result["redirect_url"] ?? .null])
  }
}
