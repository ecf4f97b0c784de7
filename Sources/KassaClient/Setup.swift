import KassaCore
import KassaJSON
import KassaPlatform

/// What a configuration comes to: the parts that a client works with, put together by whoever knows the vendors.
public struct Setup {
  /// The two kinds of services: one sells plans and lists memberships, the other knows people and their perks, and leaves
  /// the selling to a store.
  public enum Backend {
    case memberships(any MembershipBackend)
    case people(any PersonBackend)
  }

  /// Names the service, the seller's account and the address: cached answers belong to one scope.
  public var scope: String
  public var backend: Backend
  /// Shows the back end's own checkout; nil where it has none.
  public var presenter: (any CheckoutPresenter)?
  /// Makes an id for somebody who has not logged in, of a UUID; nil where the back end has no people.
  public var anonymousID: (@Sendable (String) -> DistinctID)?
  /// The version of the host's program, where it was given.
  public var appVersion: String?
  /// What the back end's own checkout is called as a purchase's method; nil where it has none.
  public var webMethod: String?
  /// What charges in-app; nil where nothing does.
  public var store: (any Store)?
  /// Whose transactions the store has, and those that the host reports.
  public var storePlatform: StoreTransaction.Platform
  public var planMappings: [PlanMapping]
  /// Where the transactions that count were made.
  public var storeEnvironments: Set<StoreTransaction.Environment>
  /// The app for which they were made; nil where the store does not say.
  public var storeBundleID: String?
  public var productIDs: Set<String>?
  public var isSandbox: Bool
  public var priceText: @Sendable (Decimal, String, Int?) -> String
  /// Does something to the sandbox in this process; nil with any other service.
  public var simulate: ((JSON) throws(KassaError) -> JSON)?

  public init(
    scope: String, backend: Backend, presenter: (any CheckoutPresenter)?, webMethod: String?,
    anonymousID: (@Sendable (String) -> DistinctID)? = nil, appVersion: String? = nil, store: (any Store)? = nil,
    storePlatform: StoreTransaction.Platform = .apple,
    planMappings: [PlanMapping] = [], storeEnvironments: Set<StoreTransaction.Environment> = [.production],
    storeBundleID: String? = nil,
    productIDs: Set<String>?, isSandbox: Bool,
    priceText: @escaping @Sendable (Decimal, String, Int?) -> String,
    simulate: ((JSON) throws(KassaError) -> JSON)?
  ) {
    self.scope = scope
    self.backend = backend
    self.presenter = presenter
    self.webMethod = webMethod
    self.anonymousID = anonymousID
    self.appVersion = appVersion
    self.store = store
    self.storePlatform = storePlatform
    self.planMappings = planMappings
    self.storeEnvironments = storeEnvironments
    self.storeBundleID = storeBundleID
    self.productIDs = productIDs
    self.isSandbox = isSandbox
    self.priceText = priceText
    self.simulate = simulate
  }
}

/// What a client gives to whoever builds its setup.
public struct Surroundings: Sendable {
  public var loop: EventLoop
  public var time: any TimeSource
  public var random: any RandomSource
  /// The directory of the client, or ":memory:".
  public var storage: String
  let requests: HostRequests
  let state: ClientState
  public let log: Log
  let connection = Connection()
  let serverAnswered: @Sendable () -> Void
  /// Tells the host something that failed nothing: code, message, details.
  public let report: @Sendable (String, String, JSON) -> Void

  /// Access tokens from the host, for the seller's account.
  public func tokens(companyID: String) -> any AccessTokenSource {
    HostTokens(loop: loop, requests: requests, time: time, random: random, companyID: companyID, now: now)
  }

  /// The presenter that asks the host.
  public func hostPresenter(returnURL: String?, timeoutSeconds: Int64) -> any CheckoutPresenter {
    HostPresenter(requests: requests, returnURL: returnURL, timeoutSeconds: timeoutSeconds)
  }

  /// The same transport, for requests to the service: that nobody answers them is noticed.
  public func watched(_ transport: any HTTPTransport) -> any HTTPTransport {
    WatchedTransport(inner: transport, connection: connection)
  }

  /// Asks the host something about its store. What the user takes part in may take as long as a checkout.
  public func askStore(_ method: String, _ params: JSON) async throws(KassaError) -> JSON {
    let hasUser =
      ["purchase", "restore", "sheet"].contains(method) || StoreMethod(rawValue: method).map(\.hasUser) ?? false
    return try await requests.ask(
      "store", method, params, within: hasUser ? Constants.checkoutTimeoutSeconds : Constants.hostAnswerSeconds)
  }

  /// Starts a task on the loop.
  public var start: @Sendable (@escaping @Sendable () async -> Void) -> Task<Void, Never> {
    { [loop] body in loop.start(body) }
  }

  /// Who asks now, where the back end has people.
  public var asking: @Sendable () -> DistinctID? { { [state] in state.distinctID } }

  /// The trusted time.
  public var now: @Sendable () -> Int64 { { [state] in state.now } }

  /// To be told of the time by the service's own clock, with each of its answers.
  public var serverTime: @Sendable (Int64) -> Void {
    { [state, serverAnswered] milliseconds in
      state.correctClock(serverMilliseconds: milliseconds)
      serverAnswered()
    }
  }
}

/// Builds the parts for a configuration, or says what is wrong with it.
public typealias Assembly = @Sendable (Configuration, Surroundings) throws(KassaError) -> Setup
