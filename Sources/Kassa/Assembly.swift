import KassaBackends
import KassaClient
import KassaCore
import KassaJSON
import KassaPlatform
import KassaSandbox

/// The one place that names vendors: builds the parts of a client from its configuration.
let assemble: Assembly = { configuration, surroundings throws(KassaError) in
  switch configuration.backendKind {
  case "whop": return try whop(configuration, surroundings)
  case let kind:
    throw KassaError(.invalidConfiguration, "backend.kind must be \"whop\" (got \"\(kind.quoted)\")")
  }
}

private func whop(_ configuration: Configuration, _ surroundings: Surroundings) throws(KassaError) -> Setup {
  let whop = try WhopConfiguration(configuration.backend)
  let sandbox = whop.isEmbedded ? try embedded(whop, surroundings) : nil
  let transport: any HTTPTransport =
    if let sandbox { EmbeddedTransport(sandbox, time: surroundings.time) } else {
      CurlTransport(loop: surroundings.loop)
    }
  let tokens: (any AccessTokenSource)? =
    if case .host = whop.credential { surroundings.tokens(companyID: whop.companyID) } else { nil }
  let backend = WhopBackend(
    whop, transport: LoggingTransport(transport, log: surroundings.log, time: surroundings.time), tokens: tokens,
    time: surroundings.time, random: surroundings.random, source: "kassa/\(version)", now: surroundings.now,
    serverTime: surroundings.serverTime)
  let locale = configuration.locale ?? ProcessEnvironment.locale
  return Setup(
    scope: "whop \(whop.companyID) \(whop.baseURL)",
    backend: backend,
    presenter: try presenter(configuration, sandbox, surroundings),
    productIDs: whop.productIDs.map(Set.init),
    isSandbox: sandbox != nil,
    // Without a store nothing else could sell, so the web checkout may be used everywhere.
    supportsExternalPurchases: true,
    priceText: { amount, currency, digits in
      PriceText.format(amount, currency: currency.uppercased(), locale: locale, fractionDigits: digits)
    },
    simulate: sandbox.map { sandbox in { action throws(KassaError) in try sandbox.perform(action) } })
}

/// The sandbox in this process. Its state lies beside the client's, so that a restart finds it.
private func embedded(_ whop: WhopConfiguration, _ surroundings: Surroundings) throws(KassaError) -> Sandbox {
  let path = surroundings.storage == ":memory:" ? ":memory:" : "\(surroundings.storage)/sandbox.db"
  return try Sandbox(
    catalogue: try whop.catalogue.map(catalogue), path: path, time: surroundings.time, random: surroundings.random)
}

/// The catalogue itself, or the file that a path names.
private func catalogue(_ value: JSON) throws(KassaError) -> JSON {
  guard let path = value.string else { return value }
  guard let bytes = readFile(path, limit: 16 << 20) else {
    throw KassaError(.invalidConfiguration, "backend.catalogue: the file \"\(path.quoted)\" cannot be read")
  }
  do throws(JSONSyntaxError) { return try JSON.parse(bytes) } catch {
    throw KassaError(
      .invalidConfiguration,
      "backend.catalogue: \"\(path.quoted)\" is not JSON: \(error.message), line \(error.line), column \(error.column)")
  }
}

private func presenter(
  _ configuration: Configuration, _ sandbox: Sandbox?, _ surroundings: Surroundings
) throws(KassaError) -> any CheckoutPresenter {
  switch configuration.presenter {
  case .host: return surroundings.hostPresenter(returnURL: configuration.returnURL)
  case .browser:
    return BrowserPresenter(
      loop: surroundings.loop, time: surroundings.time, random: surroundings.random,
      timeoutSeconds: configuration.checkoutTimeoutSeconds, returnURL: configuration.returnURL,
      open: { Browser.open($0) }, page: sandbox.map(page))
  case .simulated:
    guard let sandbox else {
      throw KassaError(
        .invalidConfiguration, "checkout.presenter \"simulated\" needs the sandbox in this process: \"base_url\":\"embedded:\"")
    }
    return SimulatedPresenter(sandbox, card: configuration.card)
  }
}
