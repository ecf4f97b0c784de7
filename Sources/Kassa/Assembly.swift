import KassaBackends
import KassaClient
import KassaCore
import KassaJSON
import KassaPlatform
import KassaSandbox
import KassaStores

/// The one place that names vendors: builds the parts of a client from its configuration.
@Sendable
func assemble(_ configuration: Configuration, _ surroundings: Surroundings) throws(KassaError) -> Setup {
  switch configuration.backendKind {
  case "whop": return try whop(configuration, surroundings)
  case "voidhash": return try voidhash(configuration, surroundings)
  case let kind:
    throw KassaError(
      .invalidConfiguration, "backend.kind must be \"whop\" or \"voidhash\" (got \"\(kind.quoted)\")")
  }
}

private func whop(_ configuration: Configuration, _ surroundings: Surroundings) throws(KassaError) -> Setup {
  let whop = try WhopConfiguration(configuration.backend)
  let sandbox = whop.isEmbedded ? try embedded(whop.catalogue, surroundings) : nil
  let transport = transport(sandbox, whop.baseURL, configuration, surroundings)
  let store = try store(configuration, sandbox, transport, surroundings)
  let backend = WhopBackend(
    whop, transport: surroundings.watched(transport), tokens: tokens(whop, surroundings), time: surroundings.time,
    random: surroundings.random, source: "kassa/\(version)", now: surroundings.now,
    serverTime: surroundings.serverTime)
  return Setup(
    scope: "whop \(whop.companyID) \(whop.baseURL)",
    backend: .memberships(backend),
    presenter: try presenter(configuration, sandbox, surroundings),
    webMethod: "whop",
    store: store?.store,
    storePlatform: store?.platform ?? .apple,
    planMappings: whop.planMappings,
    storeEnvironments: store?.environments ?? [.production],
    storeBundleID: store?.bundleID,
    productIDs: whop.productIDs.map(Set.init),
    isSandbox: sandbox != nil,
    priceText: priceText(locale: configuration.locale ?? ProcessEnvironment.locale),
    simulate: simulation(sandbox, store?.store as? SimulatedStore, surroundings))
}

private func voidhash(_ configuration: Configuration, _ surroundings: Surroundings) throws(KassaError) -> Setup {
  let voidhash = try VoidhashConfiguration(configuration.backend, isDebug: configuration.isDebug)
  let sandbox = voidhash.isEmbedded ? try embedded(voidhash.catalogue, surroundings) : nil
  let transport = transport(sandbox, voidhash.baseURL, configuration, surroundings)
  let store = try store(configuration, sandbox, transport, surroundings)
  let locale = configuration.locale ?? ProcessEnvironment.locale
  let backend = try VoidhashBackend(
    voidhash,
    facts: VoidhashClientFacts(
      sdkVersion: version, isDebug: configuration.isDebug, isObserver: configuration.isObserver, locales: [locale]),
    transport: surroundings.watched(transport), time: surroundings.time, random: surroundings.random,
    asking: surroundings.asking, serverTime: surroundings.serverTime, report: surroundings.report)
  return Setup(
    scope: "voidhash \(voidhash.publishableKey) \(voidhash.environment.rawValue) \(voidhash.baseURL)",
    backend: .people(backend),
    presenter: nil,
    webMethod: nil,
    anonymousID: { VoidhashBackend.anonymousID($0) },
    appVersion: voidhash.appVersion,
    store: store?.store,
    // A program that only reports what it sold has no store here.
    storePlatform: store?.platform ?? (voidhash.sdk == "android" ? .google : .apple),
    storeEnvironments: store?.environments ?? [.production],
    storeBundleID: store?.bundleID,
    productIDs: nil,
    isSandbox: sandbox != nil,
    priceText: priceText(locale: locale),
    simulate: simulation(sandbox, store?.store as? SimulatedStore, surroundings))
}

private func transport(
  _ sandbox: Sandbox?, _ service: String, _ configuration: Configuration, _ surroundings: Surroundings
) -> any HTTPTransport {
  if let sandbox {
    return LoggingTransport(
      EmbeddedTransport(sandbox, time: surroundings.time), log: surroundings.log, time: surroundings.time)
  }
  let transport = LoggingTransport(
    CurlTransport(loop: surroundings.loop), log: surroundings.log, time: surroundings.time)
  // What answers on this machine may be kassa-sandbox, which has to hear of what a simulated store sells.
  guard configuration.storeKind == "simulated", URLText.Origin(service)?.isLoopback ?? false else { return transport }
  return RegisteringTransport(transport, baseURL: service, start: surroundings.start)
}

private func tokens(_ whop: WhopConfiguration, _ surroundings: Surroundings) -> (any AccessTokenSource)? {
  guard case .host = whop.credential else { return nil }
  return surroundings.tokens(companyID: whop.companyID)
}

private func priceText(locale: String) -> @Sendable (Decimal, String, Int?) -> String {
  { amount, currency, digits in
    PriceText.format(amount, currency: currency.uppercased(), locale: locale, fractionDigits: digits)
  }
}

/// The sandbox in this process. Its state lies beside the client's, so that a restart finds it.
private func embedded(_ catalogue: JSON?, _ surroundings: Surroundings) throws(KassaError) -> Sandbox {
  let path = surroundings.storage == ":memory:" ? ":memory:" : "\(surroundings.storage)/sandbox.db"
  return try Sandbox(
    catalogue: try read(catalogue: catalogue), path: path, time: surroundings.time, random: surroundings.random)
}

/// The catalogue itself, or the file that a path names; nil for the built-in one.
private func read(catalogue value: JSON?) throws(KassaError) -> JSON? {
  guard let path = value?.string else { return value }
  let bytes = try contents(of: path, "backend.catalogue")
  do throws(JSONSyntaxError) { return try JSON.parse(bytes) } catch {
    throw KassaError(
      .invalidConfiguration,
      "backend.catalogue: \"\(path.quoted)\" is not JSON: \(error.message), line \(error.line), column \(error.column)")
  }
}

/// A file that a configuration names.
func contents(of path: String, _ place: String) throws(KassaError) -> [UInt8] {
  do throws(FileProblem) { return try KassaPlatform.contents(ofFile: path, limit: 16 << 20) } catch {
    throw KassaError(.invalidConfiguration, "\(place): \"\(path.quoted)\" \(error)")
  }
}

private func presenter(
  _ configuration: Configuration, _ sandbox: Sandbox?, _ surroundings: Surroundings
) throws(KassaError) -> any CheckoutPresenter {
  switch configuration.presenter {
  case .host:
    return surroundings.hostPresenter(
      returnURL: configuration.returnURL, timeoutSeconds: configuration.checkoutTimeoutSeconds)
  case .browser:
    let loop = surroundings.loop
    return BrowserPresenter(
      loop: loop, time: surroundings.time, random: surroundings.random,
      timeoutSeconds: configuration.checkoutTimeoutSeconds, returnURL: configuration.returnURL,
      open: { Browser.open($0, on: loop) }, page: sandbox.map { page(of: $0, surroundings.time) })
  case .simulated:
    guard let sandbox else {
      throw KassaError(
        .invalidConfiguration,
        "checkout.presenter \"simulated\" needs the sandbox in this process: \"base_url\":\"embedded:\"")
    }
    return SimulatedPresenter(sandbox, card: configuration.card)
  }
}

/// The sandbox's checkout page, for a browser.
private func page(of sandbox: Sandbox, _ time: any TimeSource) -> @Sendable (HTTPRequest) async -> HTTPServerAnswer {
  { request in await sandbox.answer(request).served(by: time) }
}
