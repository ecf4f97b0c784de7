import KassaCore
import KassaJSON
import KassaPlatform

/// Voidhash's SDK plane (`/api/v1/sdk/...`) and its routes for events (`/i/v1/...`).
final class VoidhashService {
  static let sdkPath = "/api/v1/sdk/"
  static let eventPath = "/i/v1/"

  let catalogue: VoidhashCatalogue
  let state: SandboxState
  /// The schema and its version, which no request changes.
  private let schema: (document: JSON, version: String)

  init(_ catalogue: VoidhashCatalogue, _ state: SandboxState) {
    self.catalogue = catalogue
    self.state = state
    let text = JSON.object(catalogue.schema).text(sortingKeys: true)
    let version = "sha256:\(OpenSSL.hexSHA256(text) ?? "")"
    schema = (.object([("version", JSON(version))] + catalogue.schema), version)
  }

  var now: Int64 { state.now }

  static func owns(_ path: some StringProtocol) -> Bool { path.hasPrefix(sdkPath) || path.hasPrefix(eventPath) }

  // MARK: Requests

  /// The routes below `/api/v1/sdk/`.
  private enum Route: String, CaseIterable {
    case schema = "GET schema"
    case person = "GET person"
    case identify = "POST identify"
    case traits = "POST person/traits"
    case syncTransaction = "POST sync-transaction"
    case developmentPurchase = "POST development/purchase"
    case evaluateFlags = "POST evaluate-flags"
    case resolvePaywall = "POST resolve-paywall"
    case registerDevice = "POST push-devices/register"
    case refreshDevice = "POST push-devices/refresh"
    case unregisterDevice = "POST push-devices/unregister"
    case signOffer = "POST sign-offer"

    /// Method and whole path.
    var name: String { rawValue.split(separator: " ").joined(separator: " \(sdkPath)") }
  }

  func answer(_ request: HTTPRequest, path: String) -> VoidhashAnswer {
    count(request, path: path)
    guard path.hasPrefix(Self.sdkPath) else { return answerEvents(request, path: path) }
    do throws(VoidhashRefusal) {
      let route = Route(rawValue: "\(request.method) \(path.dropFirst(Self.sdkPath.count))")
      guard let route, route != .signOffer || catalogue.switches.signsOffers else {
        throw VoidhashRefusal(404, "Api/RouteNotFoundError", "There is no \(request.method) \(path)")
      }
      let caller = try VoidhashCaller(request) { isKey($0) }
      if route == .schema { return schema(request) }
      return VoidhashAnswer(try document(route, caller, body(of: request)))
    } catch {
      return VoidhashAnswer(error)
    }
  }

  private func document(_ route: Route, _ caller: VoidhashCaller, _ body: Fields) throws(VoidhashRefusal) -> JSON {
    switch route {
    case .schema: schema.document
    case .person: try person(caller)
    case .identify: try identify(caller, body)
    case .traits: try writeTraits(caller, body)
    case .syncTransaction: try syncTransaction(caller, body)
    case .developmentPurchase: try buyInDevelopment(caller, body)
    case .evaluateFlags: try evaluateFlags(body)
    case .resolvePaywall: try resolvePaywall(body)
    case .registerDevice, .refreshDevice, .unregisterDevice: throw .noPushDevices
    case .signOffer: try signOffer(caller, body)
    }
  }

  /// Publishable keys of the project that no action has revoked.
  func isKey(_ key: String) -> Bool {
    catalogue.publishableKeys.contains(key) && state.store.revokedKeys[key] == nil
  }

  func count(_ request: HTTPRequest, path: String) {
    let route = "\(request.method) \(path)"
    // A path that does not exist is not remembered: anybody can think of more of them.
    let name = Self.names.contains(route) ? route : "other"
    let count = state.store.voidhash.requests[name]?.count ?? 0
    state.store.voidhash.requests.put(VoidhashRequestCount(id: name, count: count + 1))
  }

  private static let names = Set(
    Route.allCases.map(\.name) + ["POST \(eventPath)batch", "POST \(eventPath)capture"])

  /// The body as an object; a request without one has an empty one.
  private func body(of request: HTTPRequest) throws(VoidhashRefusal) -> Fields {
    do {
      return try Fields(request.body.isEmpty ? [:] : JSON.parse(request.body))
    } catch let error as JSONShapeError {
      throw VoidhashRefusal(error)
    } catch {
      throw .undecodable("The body is not valid JSON.")
    }
  }

  // MARK: Schema

  private func schema(_ request: HTTPRequest) -> VoidhashAnswer {
    let tag = "\"\(schema.version)\""
    let headers = [HTTPHeader("ETag", tag), HTTPHeader("Cache-Control", "no-cache, must-revalidate")]
    let known = (request.header("If-None-Match") ?? "").split(separator: ",").map {
      let tag = $0.drop { $0 == " " }.prefix { $0 != " " }
      return tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }
    if known.contains("*") || known.contains(Substring(tag)) {
      return VoidhashAnswer(nil, status: 304, headers: headers)
    }
    return VoidhashAnswer(schema.document, headers: headers)
  }

  // MARK: Flags, paywalls

  /// Without `flagKeys` all flags.
  private func evaluateFlags(_ body: Fields) throws(VoidhashRefusal) -> JSON {
    let keys = try VoidhashService.read { () throws(JSONShapeError) in try body.strings("flagKeys") }
    let flags = catalogue.flags.filter { flag in
      keys.map { keys in flag["key"]?.string.map { keys.contains($0) } ?? false } ?? true
    }
    return ["flags": .array(flags)]
  }

  /// There are no paywalls here: nothing to show.
  private func resolvePaywall(_ body: Fields) throws(VoidhashRefusal) -> JSON {
    _ = try VoidhashService.read { () throws(JSONShapeError) in try body.string("locationSlug") }
    return .null
  }

  /// Reads a body; what has a wrong shape is refused with its place.
  static func read<Value>(_ read: () throws(JSONShapeError) -> Value) throws(VoidhashRefusal) -> Value {
    do throws(JSONShapeError) { return try read() } catch { throw VoidhashRefusal(error) }
  }
}
