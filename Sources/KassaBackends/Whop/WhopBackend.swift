import KassaCore
import KassaJSON

/// Whop's public REST as a back end. Who bought travels in the metadata of the checkout, which the service copies to
/// payment and membership (Kassa's convention; `WhopConstants.Metadata`).
public final class WhopBackend: MembershipBackend {
  private let configuration: WhopConfiguration
  private let api: WhopAPI
  private let random: any RandomSource
  /// The trusted time.
  private let now: () -> Int64
  private let source: String
  /// Off after the service refused the `metadata[...]` parameters; it documents none.
  private var sendsMetadataFilter = true
  private var mayReadPayments = true
  private var takesReceipts: Bool

  /// - Parameters:
  ///   - serverTime: told of the time by the service's own clock, with each of its answers.
  ///   - now: the trusted time.
  ///   - source: the library's name and version, kept in each checkout's metadata.
  public init(
    _ configuration: WhopConfiguration, transport: any HTTPTransport, tokens: (any AccessTokenSource)?,
    time: any TimeSource, random: any RandomSource, source: String, now: @escaping () -> Int64,
    serverTime: @escaping (Int64) -> Void
  ) {
    self.configuration = configuration
    self.random = random
    self.now = now
    self.source = source
    takesReceipts = configuration.baseURL != WhopConstants.baseURL
    api = WhopAPI(
      configuration, transport: transport, tokens: tokens, time: time, random: random, serverTime: serverTime)
  }

  // MARK: Plans

  public func plans() async throws(KassaError) -> [Plan] {
    var query: [(String, String)]
    if let products = configuration.productIDs {
      query = products.map { ("product_ids", $0) }
    } else {
      query = [("account_id", configuration.companyID)]
    }
    query.append(("first", String(Constants.pageSize)))
    // By products, visible plans are public; a credential that could be refused stays at home.
    let call = WhopAPI.Call(path: "/variants", query: query, needsCredential: configuration.productIDs == nil)
    var plans: [Plan] = []
    try await forEachRow(of: call) { row throws(JSONShapeError) in plans.append(try WhopDecoding.plan(row)) }
    // A seller's credential also sees the hidden and archived ones; those are not for a list (API, visibility).
    return plans.filter { $0.visibility == "visible" }
  }

  public func plan(_ id: String) async throws(KassaError) -> Plan? {
    let call = WhopAPI.Call(path: "/variants/\(URLText.escape(id))", needsCredential: false)
    let answer: JSON
    do throws(KassaError) { answer = try await api.send(call) } catch {
      if error.code == .notFound { return nil }
      throw error
    }
    do throws(JSONShapeError) { return try WhopDecoding.plan(try Fields(answer)) } catch { throw wrongShape(error) }
  }

  // MARK: Memberships

  public func memberships(of identity: Identity) async throws(KassaError) -> MembershipListing {
    var found: [String: Membership] = [:], order: [String] = []
    func keep(_ memberships: [Membership]) {
      for membership in memberships where belongs(membership, to: identity) {
        if found.updateValue(membership, forKey: membership.id) == nil { order.append(membership.id) }
      }
    }
    var scanned = 0
    if let user = identity.appUserID {
      let scan = try await self.scan(filter: (WhopConstants.Metadata.appUserID, user.text), query: [])
      keep(scan.rows)
      scanned += scan.rows.count
      if scan.isUnfiltered { return listing(order.compactMap { found[$0] }, scanned) }
    }
    let scan = try await self.scan(filter: (WhopConstants.Metadata.deviceID, identity.deviceID), query: [])
    keep(scan.rows)
    return listing(order.compactMap { found[$0] }, scanned + scan.rows.count)
  }

  private func listing(_ memberships: [Membership], _ scanned: Int) -> MembershipListing {
    MembershipListing(memberships: memberships, scanned: scanned)
  }

  private func belongs(_ membership: Membership, to identity: Identity) -> Bool {
    if membership.deviceID == identity.deviceID { return true }
    return identity.appUserID != nil && membership.appUserID == identity.appUserID
  }

  /// Lists memberships with a metadata filter that the service may honour, ignore or refuse. `isUnfiltered` says that
  /// it certainly did not honour it, so that the rows are everything there is.
  private func scan(
    filter: (key: String, value: String), query: [(String, String)]
  ) async throws(KassaError) -> (rows: [Membership], isUnfiltered: Bool) {
    var query = query + [("account_id", configuration.companyID), ("first", String(Constants.pageSize))]
    query += (configuration.productIDs ?? []).map { ("product_ids", $0) }
    if sendsMetadataFilter {
      do throws(KassaError) {
        let rows = try await list(query + [("metadata[\(filter.key)]", filter.value)])
        return (rows, rows.contains { !metadata(filter.key, of: $0).utf8.elementsEqual(filter.value.utf8) })
      } catch {
        guard error.status == 400 || error.status == 422 else { throw error }
        sendsMetadataFilter = false
      }
    }
    return (try await list(query), true)
  }

  private func metadata(_ key: String, of membership: Membership) -> String {
    switch key {
    case WhopConstants.Metadata.appUserID: membership.appUserID?.text ?? ""
    case WhopConstants.Metadata.nonce: membership.nonce ?? ""
    default: membership.deviceID ?? ""
    }
  }

  private func list(_ query: [(String, String)]) async throws(KassaError) -> [Membership] {
    var rows: [Membership] = []
    let confirmedAt = now()
    try await forEachRow(of: WhopAPI.Call(path: "/memberships", query: query)) { row throws(JSONShapeError) in
      rows.append(try WhopDecoding.membership(row, confirmedAt: confirmedAt))
    }
    return rows
  }

  public func membership(_ id: String) async throws(KassaError) -> MembershipWord {
    do throws(KassaError) {
      let answer = try await api.send(WhopAPI.Call(path: "/memberships/\(URLText.escape(id))"))
      return .row(try row(answer))
    } catch {
      if error.code == .notFound || error.code == .permissionDenied { return .silence }
      throw error
    }
  }

  private func row(_ answer: JSON) throws(KassaError) -> Membership {
    do throws(JSONShapeError) {
      return try WhopDecoding.membership(try Fields(answer), confirmedAt: now())
    } catch {
      throw wrongShape(error)
    }
  }

  public func unclaimedMemberships(ofBuyer buyerID: String) async throws(KassaError) -> [Membership] {
    let rows = try await list([
      ("account_id", configuration.companyID), ("user_id", buyerID), ("first", String(Constants.pageSize)),
    ])
    // Only what was bought through this library as a guest: others are the seller's own affair.
    return rows.filter { $0.buyerID == buyerID && $0.deviceID != nil && $0.appUserID == nil }
  }

  public func claim(_ membership: Membership, for appUserID: AppUserID) async throws(KassaError) -> Membership {
    // With the pinned version a PATCH merges the metadata; the seller's own keys stay.
    let body: JSON = [
      "metadata": .object([
        (WhopConstants.Metadata.appUserID, JSON(appUserID.text)),
        (WhopConstants.Metadata.claimedAt, JSON(Timestamp.iso8601(now()))),
      ])
    ]
    let answer = try await api.send(
      WhopAPI.Call(method: "PATCH", path: "/memberships/\(URLText.escape(membership.id))", body: body))
    return try row(answer).withReceipt(membership.receiptID)
  }

  /// Whop has no public route for a store's receipt. The sandbox has one, as a switch, and a seller's broker may offer the
  /// same one: `POST /store_receipts`, documented in docs/sandbox.md.
  public func submit(_ receipt: Receipt, of deviceID: String) async throws(KassaError) -> ReceiptWord {
    guard takesReceipts, let planID = receipt.planID else { return .notTaken }
    let transaction = receipt.transaction
    var metadata: [(String, JSON)] = [
      (WhopConstants.Metadata.deviceID, JSON(deviceID)), (WhopConstants.Metadata.source, JSON(source)),
    ]
    if let user = receipt.appUserID { metadata.append((WhopConstants.Metadata.appUserID, JSON(user.text))) }
    let body: JSON = [
      "store": JSON(transaction.platform.rawValue), "transaction_id": JSON(transaction.id),
      "original_transaction_id": JSON(transaction.originalID), "store_product_id": JSON(transaction.productID),
      "plan_id": JSON(planID), "proof": JSON(transaction.proof), "metadata": .object(metadata),
    ]
    // The same version of a transaction makes the same request, however often it is sent.
    let key = "kassa-\(transaction.platform.rawValue)-\(transaction.id)-\(transaction.signedAt ?? 0)-\(planID)"
    do throws(KassaError) {
      let answer = try await api.send(
        WhopAPI.Call(method: "POST", path: "/store_receipts", body: body, idempotencyKey: key))
      guard let membership = answer["membership"], !membership.isNull else { return .accepted(nil) }
      return .accepted(try row(membership))
    } catch {
      guard error.code == .notFound else { throw error }
      takesReceipts = false
      return .notTaken
    }
  }

  public func mayReadMemberships() async throws(KassaError) -> Bool {
    let answer = try await api.send(
      WhopAPI.Call(
        path: "/permissions",
        query: [
          ("resource_id", configuration.companyID), ("actions", WhopConstants.permissionToReadMemberships),
        ]))
    return WhopPermissions.grants(WhopConstants.permissionToReadMemberships, in: answer)
  }

  // MARK: Checkout

  public func checkout(_ attempt: PurchaseAttempt, returnURL: String?) async throws(KassaError) -> Checkout {
    var metadata: [(String, JSON)] = [
      (WhopConstants.Metadata.deviceID, JSON(attempt.identity.deviceID)),
      (WhopConstants.Metadata.nonce, JSON(attempt.nonce)),
      (WhopConstants.Metadata.source, JSON(source)),
    ]
    if let user = attempt.identity.appUserID { metadata.append((WhopConstants.Metadata.appUserID, JSON(user.text))) }
    var body: [(String, JSON)] = [
      ("account_id", JSON(configuration.companyID)), ("plan_id", JSON(attempt.planID)), ("metadata", .object(metadata)),
    ]
    if let returnURL { body.append(("redirect_url", JSON(returnURL))) }
    let answer: JSON
    do throws(KassaError) {
      // The key covers the body, so the attempt without a return address has a key of its own.
      answer = try await api.send(
        WhopAPI.Call(
          method: "POST", path: "/checkout_configurations", body: .object(body),
          idempotencyKey: attempt.nonce + (returnURL == nil ? "-noreturn" : "")))
    } catch {
      if returnURL != nil, error.status == 400 || error.status == 422 {
        // Which return addresses are allowed is not documented; a loopback address may not be.
        return try await checkout(attempt, returnURL: nil)
      }
      if error.code == .notFound {
        throw KassaError(
          .planNotFound, "the service does not sell \"\(attempt.planID)\": \(error.message)", status: error.status)
      }
      throw error
    }
    // A checkout that does not name this configuration would sell without saying to whom.
    let session = answer["id"]?.string.map { "/checkout/\(attempt.planID)?session=\($0)" }
    guard let url = answer["purchase_url"]?.string ?? session else {
      throw wrongShape(JSONShapeError(path: "purchase_url", problem: "is missing"))
    }
    return Checkout(url: url.hasPrefix("/") ? WhopConstants.checkoutOrigin + url : url, returnURL: returnURL)
  }

  public func progress(of attempt: PurchaseAttempt) async throws(KassaError) -> PurchaseProgress {
    let since = Timestamp.iso8601(attempt.startedAt.subtracting(Constants.clockToleranceMilliseconds))
    let scan = try await self.scan(
      filter: (WhopConstants.Metadata.nonce, attempt.nonce),
      query: [("plan_id", attempt.planID), ("created_after", since)])
    var progress = PurchaseProgress(membership: scan.rows.first { $0.nonce == attempt.nonce })
    if let payment = try await payment(of: attempt, since: since) {
      progress.payment = payment.state
      progress.receiptID = payment.receiptID
      progress.membership = progress.membership?.withReceipt(payment.receiptID)
    }
    return progress
  }

  private func payment(
    of attempt: PurchaseAttempt, since: String
  ) async throws(KassaError) -> (state: PurchaseProgress.Payment, receiptID: String?)? {
    guard mayReadPayments else { return nil }
    var found: (PurchaseProgress.Payment, String?)?
    do throws(KassaError) {
      try await forEachRow(
        of: WhopAPI.Call(
          path: "/payments",
          query: [
            ("account_id", configuration.companyID), ("plan_id", attempt.planID), ("created_after", since),
            ("first", String(Constants.pageSize)),
          ])
      ) { row throws(JSONShapeError) in
        guard row.json["metadata"]?[WhopConstants.Metadata.nonce]?.string == attempt.nonce else { return }
        // The newest comes first; a declined try before a paid one does not count.
        let state = WhopPayment.state(row)
        if found == nil || state == .paid { found = (state, try row.optionalString("id")) }
      }
    } catch {
      guard error.code == .permissionDenied || error.code == .notFound else { throw error }
      mayReadPayments = false
      return nil
    }
    return found
  }

  public func reading(ofReturnURL url: String) -> CheckoutReturn { WhopReturn.reading(of: url) }

  // MARK: Pages

  /// Reads every row of a list, page by page. A page that is no page, or a cursor that comes again, is not the
  /// service's answer: then nothing of it counts.
  private func forEachRow(
    of call: WhopAPI.Call, _ read: (Fields) throws(JSONShapeError) -> Void
  ) async throws(KassaError) {
    var cursors: Set<String> = []
    var call = call
    for _ in 0..<Constants.maximumPages {
      let page = try await api.send(call)
      let next: String?
      do throws(JSONShapeError) {
        let fields = try Fields(page)
        guard fields.has("data") else { throw JSONShapeError(path: "data", problem: "is missing") }
        for row in try fields.objects("data") { try read(row) }
        next = try nextCursor(fields)
      } catch {
        throw wrongShape(error)
      }
      guard let next else { return }
      guard cursors.insert(next).inserted else {
        throw KassaError(.notServiceAnswer, "the list never ends: a page's cursor came twice", retryable: true)
      }
      call.query.removeAll { $0.0 == "after" }
      call.query.append(("after", next))
    }
    throw KassaError(
      .notServiceAnswer, "the list has more than \(Constants.maximumPages) pages", retryable: true)
  }

  private func nextCursor(_ page: Fields) throws(JSONShapeError) -> String? {
    guard let info = try page.optionalObject("page_info"), try info.optionalBool("has_next_page") ?? false else {
      return nil
    }
    // Without a cursor the rest of the list would be lost unnoticed.
    return try info.string("end_cursor")
  }

  private func wrongShape(_ error: JSONShapeError) -> KassaError {
    KassaError(.notServiceAnswer, "the answer has a wrong shape: \(error)", retryable: true)
  }
}
