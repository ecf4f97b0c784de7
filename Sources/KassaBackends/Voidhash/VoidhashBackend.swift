import KassaCore
import KassaJSON
import KassaPlatform

/// Voidhash's SDK interface as a back end. `docs/voidhash.md` lists what its documents leave open, and what is done here.
public final class VoidhashBackend: PersonBackend {
  private let configuration: VoidhashConfiguration
  private let api: VoidhashAPI
  private let asking: () -> DistinctID?
  /// Stands for nobody in calls that are no person's.
  private let nobody: DistinctID
  private let report: (String, String, JSON) -> Void
  private let accountTokens: NameUUID
  private let developmentPurchases: NameUUID
  /// Off after a server said that it has no such route.
  private var asksForSignatures: Bool

  /// - Parameters:
  ///   - asking: who asks now, for calls that are not about a person; the service wants a name on all of them.
  ///   - serverTime: told of the time by the service's own clock, with each answer that is certainly its own.
  ///   - report: told of what failed nothing: code, message, details.
  public init(
    _ configuration: VoidhashConfiguration, facts: VoidhashClientFacts, transport: any HTTPTransport,
    time: any TimeSource, random: any RandomSource, asking: @escaping () -> DistinctID? = { nil },
    serverTime: @escaping (Int64) -> Void, report: @escaping (String, String, JSON) -> Void
  ) throws(KassaError) {
    guard let accountTokens = NameUUID(namespace: VoidhashConstants.accountTokenNamespace),
      let developmentPurchases = NameUUID(namespace: VoidhashConstants.developmentPurchaseNamespace)
    else { throw KassaError(.internalError, "a namespace of Voidhash's is no UUID") }
    self.configuration = configuration
    self.accountTokens = accountTokens
    self.developmentPurchases = developmentPurchases
    self.asking = asking
    self.report = report
    nobody = DistinctID(VoidhashConstants.anonymousPrefix + random.uuid())
    asksForSignatures = !configuration.isService
    api = VoidhashAPI(
      configuration, facts: facts, transport: transport, time: time, random: random, serverTime: serverTime,
      report: report)
  }

  // MARK: Catalogue and people

  public func catalogue(known version: String?) async throws(KassaError) -> Catalogue? {
    // Only what can stand between the quotes of an entity tag (RFC 9110, section 8.8.3).
    let known = version.flatMap { $0.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x22 } && !$0.isEmpty ? $0 : nil }
    let call = VoidhashAPI.Call(path: "/schema", person: asking() ?? nobody, knownVersion: known)
    let catalogue = try await optional(call, VoidhashDecoding.catalogue)
    return catalogue?.version == version ? nil : catalogue
  }

  public func person(_ id: DistinctID) async throws(KassaError) -> Person? {
    do throws(VoidhashAPI.Failure) {
      return try await api.send(
        VoidhashAPI.Call(path: "/person", person: id, isPersonRead: true), VoidhashDecoding.person)
    } catch {
      // With an envelope only: a stranger's 404 is `notServiceAnswer`.
      if error.error.code == .notFound { return nil }
      throw error.error
    }
  }

  public func identify(_ identification: Identification) async throws(KassaError) -> Person {
    try check(identification.id)
    let attributes = identification.attributes
    var body: [(String, JSON)] = [("distinctId", JSON(identification.id.text))]
    body += Self.members(of: attributes.set)
    let person = try await value(
      VoidhashAPI.Call(
        method: "POST", path: "/identify", person: identification.previous, body: .object(body), isIdentify: true),
      VoidhashDecoding.person)
    guard !attributes.setOnce.members.isEmpty else { return person }
    // The call has no place for them, so they follow; the log-in stands whatever the service says of them.
    do throws(KassaError) {
      let rest = Attributes(setOnce: attributes.setOnce, writeID: attributes.writeID)
      return try await setAttributes(rest, of: identification.id)
    } catch {
      if error.retryable || error.code == .cancelled { throw error }
      report("person_write_rejected", "attributes were refused: \(error.message)", ["status": JSON(error.status)])
      return person
    }
  }

  public func setAttributes(_ attributes: Attributes, of id: DistinctID) async throws(KassaError) -> Person {
    var body = Self.members(of: attributes.set)
    if !attributes.setOnce.members.isEmpty { body.append(("setOnce", attributes.setOnce)) }
    if let writeID = attributes.writeID { body.append(("clientEventId", JSON(writeID))) }
    return try await value(
      VoidhashAPI.Call(method: "POST", path: "/person/traits", person: id, body: .object(body)), VoidhashDecoding.person
    )
  }

  /// `email` and `name` have fields of their own, as texts; everything else is a trait (Voidhash, identify users).
  private static func members(of set: JSON) -> [(String, JSON)] {
    let all = set.members
    let isField: ((String, JSON)) -> Bool = { ($0.0 == "email" || $0.0 == "name") && $0.1.string != nil }
    let traits = all.filter { !isField($0) }
    return all.filter(isField) + (traits.isEmpty ? [] : [("traits", .object(traits))])
  }

  private func value<Value>(
    _ call: VoidhashAPI.Call, _ read: (Fields) throws(JSONShapeError) -> Value
  ) async throws(KassaError) -> Value {
    guard let value = try await optional(call, read) else {
      throw .notTheService("nothing, where there should be something", status: nil)
    }
    return value
  }

  private func optional<Value>(
    _ call: VoidhashAPI.Call, _ read: (Fields) throws(JSONShapeError) -> Value
  ) async throws(KassaError) -> Value? {
    do throws(VoidhashAPI.Failure) { return try await api.send(call, read) } catch { throw error.error }
  }

  // MARK: Receipts

  public func submit(_ receipt: OutgoingReceipt) async throws(KassaError) -> ReceiptVerdict {
    try await submission(of: receipt)()
  }

  public func submission(of receipt: OutgoingReceipt) -> ReceiptSubmission {
    switch body(of: receipt) {
    case .success(let request):
      let call = api.prepare(
        VoidhashAPI.Call(method: "POST", path: request.path, person: receipt.owner, body: request.body))
      return { [self] () async throws(KassaError) in try await submit(call) }
    case .failure(let problem):
      return { () async throws(KassaError) in .refused(message: problem.message, status: nil) }
    }
  }

  private func submit(_ call: VoidhashAPI.PreparedCall) async throws(KassaError) -> ReceiptVerdict {
    let accepted: Bool?
    do throws(VoidhashAPI.Failure) {
      accepted = try await api.send(call) { (answer) throws(JSONShapeError) in try answer.bool("accepted") }
    } catch {
      let verdict = VoidhashVerdict(status: error.error.status ?? 0, envelope: error.envelope, accepted: nil)
      guard verdict == .refused else {
        var failure = error.error
        // Of what else Voidhash refuses with a 5xx, a receipt is still sent again.
        if failure.code == .serviceRefused { (failure.code, failure.retryable) = (.serviceUnavailable, true) }
        throw failure
      }
      return .refused(message: error.error.message, status: error.error.status)
    }
    switch VoidhashVerdict(status: 200, envelope: nil, accepted: accepted) {
    case .accepted: return .accepted
    case .refused: return .refused(message: "the service did not accept the receipt", status: 200)
    case .again: throw .notTheService("an answer that does not say whether the receipt was accepted", status: 200)
    }
  }

  private struct Problem: Error { var message: String }

  /// Only what names the transaction (Voidhash, `sync-transaction` at commit 7aafe93): whose it is and for which app, the
  /// headers say.
  private func body(of receipt: OutgoingReceipt) -> Result<(path: String, body: JSON), Problem> {
    if configuration.environment == .development { return developmentBody(of: receipt) }
    switch receipt.platform {
    case .apple:
      return .success(("/sync-transaction", ["platform": "ios", "transactionId": JSON(receipt.transactionID)]))
    case .google:
      guard let token = receipt.purchaseToken, !token.isEmpty else {
        return .failure(Problem(message: "a purchase of Google Play cannot be sent without its purchase token"))
      }
      return .success(("/sync-transaction", ["platform": "android", "purchaseToken": JSON(token)]))
    }
  }

  private func developmentBody(of receipt: OutgoingReceipt) -> Result<(path: String, body: JSON), Problem> {
    guard let slug = receipt.productSlug, let purchasedAt = receipt.purchasedAt else {
      return .failure(Problem(message: "a development purchase cannot be sent without its product and its time"))
    }
    // The time as well: simulated stores on two machines count their transactions alike.
    guard let id = developmentPurchases.uuid(of: "\(receipt.transactionID):\(purchasedAt)") else {
      return .failure(Problem(message: Self.noSHA1.message))
    }
    let body: JSON = [
      "devTransactionId": JSON(id), "productSlug": JSON(slug), "purchaseDate": JSON(purchasedAt),
      "quantity": JSON(max(1, receipt.quantity)),
    ]
    return .success(("/development/purchase", body))
  }

  public func obstacle(to receipt: OutgoingReceipt) -> ReceiptObstacle? {
    switch (receipt.environment, configuration.environment) {
    case (.production, .development): .realCharge
    case (_, .development): nil
    case (.xcode, _), (.localTesting, _): .testing
    case (.production, _), (.sandbox, _), (nil, _): nil
    }
  }

  // MARK: Offers

  /// Voidhash's own route is not public. This one is of the sandbox, and of servers that have it too.
  public func signature(of order: OfferOrder) async throws(KassaError) -> OfferSignature? {
    guard asksForSignatures else { return nil }
    let body: JSON = [
      "productSlug": JSON(order.product.slug), "offerId": JSON(order.storeOfferID),
      "appAccountToken": JSON(order.accountToken),
    ]
    let call = VoidhashAPI.Call(method: "POST", path: "/sign-offer", person: order.person, body: body)
    do throws(VoidhashAPI.Failure) {
      return try await api.send(call) { (answer) throws(JSONShapeError) in
        OfferSignature(
          keyID: try answer.string("keyId"), nonce: try answer.string("nonce"),
          timestamp: try answer.integer("timestamp"), signature: try answer.string("signature"))
      }
    } catch {
      // Without the word that it is the offer which is not there, it is the route.
      guard error.error.status == 404, error.error.code == .notServiceAnswer else { throw error.error }
      asksForSignatures = false
      return nil
    }
  }

  // MARK: Identity

  /// Voidhash, account token: UUIDv5 of the id's bytes, as they are.
  public func accountToken(of id: DistinctID) throws(KassaError) -> String {
    guard let token = accountTokens.uuid(of: id.text) else { throw Self.noSHA1 }
    return token
  }

  private static let noSHA1 = KassaError(
    .unsupported, "libcrypto on this machine has no SHA-1, of which account tokens are made")

  public static func anonymousID(_ uuid: String) -> DistinctID {
    DistinctID(VoidhashConstants.anonymousPrefix + uuid.lowercased())
  }

  public func check(_ id: DistinctID) throws(KassaError) {
    try id.check()
    guard !id.text.utf8.starts(with: VoidhashConstants.anonymousPrefix.utf8) else {
      throw KassaError(
        .invalidArgument, "a user id must not start with \"\(VoidhashConstants.anonymousPrefix)\", as made-up ids do")
    }
  }

  // MARK: Pauses

  public var pause: BackendPause? { api.pause }
  public func conditionsImproved() -> Bool { api.conditionsImproved() }
}
