import KassaClient
import KassaCore
import KassaJSON
import KassaPlatform
import KassaSandbox
import KassaStores

/// A store, and what has to be known of it.
struct AssembledStore {
  var store: any Store
  var platform: StoreTransaction.Platform
  var environments: Set<StoreTransaction.Environment>
  var bundleID: String?
}

/// The store that a configuration names, whose transactions it has, and where those that count are made; nil for none.
///
/// - Parameter transport: what carries requests to the service.
func store(
  _ configuration: Configuration, _ sandbox: Sandbox?, _ transport: any HTTPTransport, _ surroundings: Surroundings
) throws(KassaError) -> AssembledStore? {
  let (host, simulated): (HostStoreConfiguration?, SimulatedStoreConfiguration?)
  do throws(JSONShapeError) {
    let fields = try Fields(configuration.store, path: "store")
    host = configuration.storeKind == "host" ? try HostStoreConfiguration(fields) : nil
    simulated = configuration.storeKind == "simulated" ? try SimulatedStoreConfiguration(fields) : nil
  } catch {
    throw KassaError(.invalidConfiguration, error.description)
  }
  if let host {
    if host.isOnTheHostsWord {
      surroundings.report(
        "google_public_key_missing",
        "without store.google_public_key a purchase counts only if its transaction says \"verified\":true, once your "
          + "server has asked Google; where no server does, give the app's key from the Play Console "
          + "(Monetization setup)", [:])
    }
    let store = HostStore(
      host,
      ask: { (method, params) async throws(KassaError) in try await surroundings.askStore(method, params) },
      now: surroundings.now, report: surroundings.report)
    return AssembledStore(
      store: store, platform: host.platform == .known(.google) ? .google : .apple, environments: host.environments,
      bundleID: host.bundleID)
  }
  guard let simulated else { return nil }
  return AssembledStore(
    store: try simulatedStore(simulated, sandbox, transport, surroundings), platform: .apple,
    environments: [simulated.isXcode ? .xcode : .sandbox], bundleID: simulated.bundleID)
}

// MARK: - The simulated one

private func simulatedStore(
  _ configuration: SimulatedStoreConfiguration, _ sandbox: Sandbox?, _ transport: any HTTPTransport,
  _ surroundings: Surroundings
) throws(KassaError) -> SimulatedStore {
  let inMemory = surroundings.storage == ClientOptions.inMemory
  let store = try SimulatedStore(
    configuration, file: try contents(of: configuration.storekitFile, "store.storekit_file"),
    path: inMemory ? ClientOptions.inMemory : "\(surroundings.storage)/store.db",
    ports: SimulatedStorePorts(
      time: surroundings.time, random: surroundings.random,
      // Store and service see the same time, also where the sandbox's was moved.
      now: { [now = surroundings.now] in sandbox?.now ?? now() },
      start: surroundings.start,
      onTransactions: sandbox.map { registration(at: $0, surroundings) }
        ?? (transport as? RegisteringTransport)?.register))
  store.presenter = HostSheets(surroundings: surroundings)
  for key in store.unsupportedKeys {
    surroundings.report(
      "storekit_key_unsupported", "the simulated store does not honour \"\(key.quoted)\" of the .storekit file",
      ["key": JSON(key)])
  }
  return store
}

/// Lets the sandbox know what the store sold, as the real service learns it from Apple's servers. What could not be
/// written is told again at the next start, as long as it is not finished.
private func registration(
  at sandbox: Sandbox, _ surroundings: Surroundings
) -> @Sendable ([StoreTransaction]) -> Void {
  { transactions in
    do throws(KassaError) { try sandbox.register(storeTransactions: transactions) } catch {
      surroundings.report("storage_failed", error.message, ["transaction_id": JSON(transactions.first?.id)])
    }
  }
}

/// The host shows the simulated store's sheets (`"sheet":"host"`).
private final class HostSheets: SheetPresenter {
  private let surroundings: Surroundings
  init(surroundings: Surroundings) { self.surroundings = surroundings }

  func decide(_ sheet: StoreSheet) async throws(KassaError) -> SheetDecision {
    try SheetDecision(reply: try await surroundings.askStore("sheet", sheet.document))
  }
}

/// What `kassa_simulate` reaches: the sandbox and the simulated store in this process, as far as they are there.
func simulation(
  _ sandbox: Sandbox?, _ store: SimulatedStore?, _ surroundings: Surroundings
) -> ((JSON) throws(KassaError) -> JSON)? {
  guard sandbox != nil || store != nil else { return nil }
  return { (action) throws(KassaError) in
    let (target, rest) = try addressee(of: action, sandbox, store)
    let name = rest["action"]?.string
    // Store and sandbox have one clock.
    if let sandbox, target == "sandbox" || name == "advance" { return try sandbox.perform(rest) }
    guard let store else {
      throw KassaError(.unsupported, "\"target\":\"store\" needs \"store\":{\"kind\":\"simulated\"}")
    }
    return name == "advance" ? ["now": JSON(try moved(surroundings.now(), by: rest))] : try store.simulate(rest)
  }
}

/// Whom an action is for: who its `target` names, else the sandbox, else the store.
private func addressee(
  of action: JSON, _ sandbox: Sandbox?, _ store: SimulatedStore?
) throws(KassaError) -> (target: String, action: JSON) {
  let standard = sandbox == nil ? "store" : "sandbox"
  guard action["target"] != nil else {
    if sandbox != nil, let name = action["action"]?.string, !Sandbox.actions.contains(name),
      SimulatedStore.actions.contains(name)
    {
      throw KassaError(
        .invalidArgument,
        "the action: \"\(name)\" is one of the simulated store's, not of the sandbox's: add \"target\":\"store\"")
    }
    return (standard, action)
  }
  do throws(JSONShapeError) {
    let target = try Fields(action).oneOf(["sandbox", "store"], "target", default: standard)
    guard target == "store" || sandbox != nil else {
      throw JSONShapeError(path: "target", problem: "\"sandbox\" needs \"base_url\":\"embedded:\"")
    }
    return (target, .object(action.members.filter { $0.0 != "target" }))
  } catch {
    throw KassaError(.invalidArgument, error.description)
  }
}

/// Where there is no sandbox whose clock could be moved, the client's own is.
private func moved(_ now: Int64, by action: JSON) throws(KassaError) -> Int64 {
  do throws(JSONShapeError) {
    let fields = try Fields(action)
    try fields.allowOnly(["action", "ms", "days"])
    let days = try fields.integer("days", in: 0...3_650, default: 0)
    let milliseconds = try fields.integer("ms", in: 0...Timestamp.range.upperBound, default: 0)
    let then = now.adding(days * Constants.millisecondsPerDay).adding(milliseconds)
    guard Timestamp.range.contains(then) else {
      throw JSONShapeError(path: "advance", problem: "would move the clock beyond the year 9999")
    }
    return then
  } catch {
    throw KassaError(.invalidArgument, error.description)
  }
}
