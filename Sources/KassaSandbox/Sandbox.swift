import KassaCore
import KassaJSON
import KassaPlatform

/// What the sandbox does with a request. Faults make it more than a response.
public enum SandboxAnswer: Sendable {
  case response(HTTPResponse)
  /// The connection breaks without a response.
  case reset
  /// The body comes at this speed.
  case slow(HTTPResponse, bytesPerSecond: Int)
  /// The response comes this much later.
  case delayed(HTTPResponse, milliseconds: Int64)
}

/// A local service that speaks Whop's wire format (its REST interface, its hosted checkout) and Voidhash's (its SDK
/// plane), with a control of its own.
///
/// It sells what a catalogue says (`docs/sandbox.md`), remembers in SQLite, and has its own clock, which only `perform`
/// moves ahead of the time source. From the same seed come the same ids.
///
/// One thread at a time uses it. Several processes may share one file.
public final class Sandbox: @unchecked Sendable {
  private let state: SandboxState
  private let whop: WhopService
  private let checkout: CheckoutSite
  private let voidhash: VoidhashService?
  private var faults: [Fault] = []

  /// - Parameters:
  ///   - catalogue: what it sells; nil for the built-in catalogue. Mistakes are refused with their place.
  ///   - path: the file that holds the state, or `":memory:"`.
  public init(
    catalogue: JSON?, path: String = ":memory:", time: any TimeSource, random: any RandomSource
  ) throws(KassaError) {
    do {
      let catalogue = try Catalogue(catalogue ?? JSON.parse(Catalogue.defaultText))
      state = try SandboxState(path: path, startsAt: catalogue.startsAt, time: time, random: random)
      whop = WhopService(catalogue, state)
      voidhash = catalogue.voidhash.map { [state] in VoidhashService($0, state) }
      checkout = CheckoutSite(whop)
    } catch let error as JSONShapeError {
      throw KassaError(.invalidConfiguration, "the sandbox's catalogue: \(error)")
    } catch {
      throw KassaError(.storage, "the sandbox's state in \(path) cannot be opened: \(error)")
    }
  }

  /// What comes before the paths of its pages: `embedded:`, or where a server listens.
  public var baseURL: String {
    get { state.baseURL }
    set { state.baseURL = newValue }
  }

  /// The sandbox's clock, in milliseconds since 1970 UTC.
  public var now: Int64 { state.now }

  /// What `perform` does.
  public static let actions = SandboxAction.names

  // MARK: Stores

  /// Tells the services what a store sold, renewed or took back, as Apple's servers would know it. Receipts of such
  /// transactions are taken, and no others: by Voidhash, and with the catalogue's switch `store_receipts` by Whop. What
  /// their receipts gave follows later versions and renewals.
  ///
  /// The same may be told any number of times; of several versions of a transaction the one signed last counts.
  public func register(storeTransaction: StoreTransaction) throws(KassaError) {
    do throws(DatabaseError) { try inTransaction { whop.register(StoreTransactionRecord(storeTransaction)) } } catch {
      throw KassaError(.storage, "the sandbox's state cannot be written: \(error)")
    }
  }

  // MARK: Requests

  /// Answers `/api/v1/...`, `/checkout/...`, `/billing/...`, `GET /sandbox/state` and `POST /sandbox/control`. With a
  /// Voidhash project in the catalogue `/api/v1/sdk/...` and `/i/v1/...` are its own. The URL may be absolute, start with
  /// `embedded:`, or be a path.
  public func answer(_ request: HTTPRequest) -> SandboxAnswer {
    let target = Self.target(of: request.url)
    let path = target.prefix { $0 != "?" }
    if path.hasPrefix("/sandbox/") { return .response(dated(control(request, path: path))) }
    let fault = takeFault(meeting: request, path: path)
    guard let fault else { return .response(dated(serve(request, target: target))) }
    let response = fault.needsAnswer ? serve(request, target: target) : nil
    let owner = voidhash(answering: path)
    if let owner, response == nil {
      // A count that cannot be written loses nothing that anybody was promised.
      try? inTransaction { owner.count(request, path: String(path)) }
    }
    let service = owner == nil ? Fault.Service.whop : Fault.Service(path: path)
    return fault.spoil(response, of: service, now: now).mapResponse(dated)
  }

  /// Voidhash, if the path is its own.
  private func voidhash(answering path: Substring) -> VoidhashService? {
    VoidhashService.owns(path) ? voidhash : nil
  }

  private func takeFault(meeting request: HTTPRequest, path: Substring) -> Fault? {
    guard let index = faults.firstIndex(where: { $0.meets(request, path: path) }) else { return nil }
    let fault = faults[index]
    faults[index].times -= 1
    if faults[index].times <= 0 { faults.remove(at: index) }
    return fault
  }

  /// Path and query.
  private static func target(of url: String) -> String {
    let embedded = "embedded:"
    if url.hasPrefix(embedded) { return String(url.dropFirst(embedded.count)) }
    return URLText.Origin(url)?.path ?? url
  }

  private func serve(_ request: HTTPRequest, target: String) -> HTTPResponse {
    do throws(DatabaseError) {
      return try inTransaction {
        let path = target.prefix { $0 != "?" }
        if let voidhash = voidhash(answering: path) {
          let answer = voidhash.answer(request, path: String(path))
          guard let document = answer.document else {
            return HTTPResponse(status: answer.status, headers: answer.headers)
          }
          return Self.json(document, status: answer.status, headers: answer.headers)
        }
        if target.hasPrefix(WhopService.apiPath + "/") {
          let answer = whop.answer(request, target: String(target.dropFirst(WhopService.apiPath.count)))
          return Self.json(answer.document, status: answer.status, headers: answer.headers)
        }
        return checkout.answer(request, target: target)
      }
    } catch {
      return Self.json(Refusal(500, "The sandbox's state cannot be written: \(error)").document, status: 500)
    }
  }

  private func inTransaction<Value>(_ body: () -> Value) throws(DatabaseError) -> Value {
    do {
      try state.store.begin()
      whop.catchUp()
      voidhash?.meetKnownPersons()
      let value = body()
      try state.store.commit()
      return value
    } catch {
      state.store.rollBack()
      throw error
    }
  }

  private static func json(_ document: JSON, status: Int = 200, headers: [HTTPHeader] = []) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [HTTPHeader("Content-Type", "application/json; charset=utf-8")] + headers,
      body: document.bytes())
  }

  /// A response with the sandbox's time in it. Like every `Date`, it counts whole seconds.
  private func dated(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.date = now / 1_000 * 1_000
    response.headers.append(HTTPHeader("Date", Timestamp.httpDate(now)))
    return response
  }

  // MARK: Control

  private func control(_ request: HTTPRequest, path: Substring) -> HTTPResponse {
    switch (request.method, path) {
    case ("GET", "/sandbox/state"): return result(of: ["action": "state"])
    case ("POST", "/sandbox/control"):
      // A page of another site can send a form, but no JSON, without asking.
      guard request.header("Content-Type")?.lowercased().hasPrefix("application/json") == true else {
        return Self.json(Refusal(400, "Content-Type must be application/json.").document, status: 400)
      }
      do {
        return result(of: try JSON.parse(request.body))
      } catch {
        return Self.json(
          Refusal(400, "The action is not valid JSON: \(error.message)", code: "invalid_json").document, status: 400)
      }
    default: return Self.json(Refusal.notFound("page").document, status: 404)
    }
  }

  private func result(of action: JSON) -> HTTPResponse {
    do throws(KassaError) {
      return Self.json(try perform(action))
    } catch {
      let status = error.status ?? (error.code == .storage ? 500 : 400)
      return Self.json(["error": error.document], status: status)
    }
  }

  /// Does something to the sandbox, and says what came of it.
  ///
  /// | `action` | keys | result |
  /// | --- | --- | --- |
  /// | `advance` | `ms` or `days` | `now`; memberships renew, end and fall behind on the way |
  /// | `complete_checkout` | `url`, `checkout_configuration_id`, `plan_id` or `payment_id`; `email`; `card`, or `outcome` (`succeeded`, `declined`, `pending`, `canceled`); `challenge` (the password) | `outcome` (also `challenged`), `payment_id`, `membership_id`, `redirect_url`, `decline_code`, `message` |
  /// | `settle_payment`, `fail_payment` | `payment_id`, else the newest pending one | as above |
  /// | `cancel_membership` | `membership_id`, `cancel_at_period_end` | `membership_id`, `status` |
  /// | `set_status` | `membership_id`, `status`: any word | `membership_id`, `status` |
  /// | `refund` | `payment_id`, `amount` (else all), `cancel_membership` | `payment_id`, `refunded` |
  /// | `revoke_key`, `restore_key` | `key` | `key` |
  /// | `register_store_transaction` | `transaction`: as docs/documents.md has it, with `signed_at` and `proof` | `transaction_id` |
  /// | `development_event` | `kind` (`renew`, `expire`, `revoke`, `refund`, `grace`, `reset`), `transaction_id`, else the newest | `development_purchases` |
  /// | `fault` | `kind` and what it needs; `route`, `method`, `times`, `executes` | `faults`: how many wait |
  /// | `clear_faults` | | `faults` |
  /// | `state` | | everything it remembers |
  ///
  /// The kinds of `fault` are `rate_limited` (`retry_after` in seconds, `retry_form`: `message`, `seconds`, `date`, `body`),
  /// `status` (`status`), `html`, `body` (`body`, `content_type`), `empty`, `truncated`, `wrong_shape`,
  /// `broken_encoding`, `repeated_cursor`, `redirect` (`location`), `reset`, `slow` (`bytes_per_second`) and `delay`
  /// (`ms`). Each meets `times` requests (1) whose path starts with `route` and whose method is `method`; of several, the
  /// earliest. With `executes` the request is carried out and only its answer is lost.
  public func perform(_ action: JSON) throws(KassaError) -> JSON {
    do {
      let action = try SandboxAction(Fields(action))
      var outcome: Result<JSON, Refusal> = .success(.null)
      try inTransaction {
        do throws(Refusal) {
          outcome = .success(try action.perform(on: whop, voidhash, &faults))
        } catch {
          outcome = .failure(error)
        }
      }
      return try outcome.get()
    } catch let error as JSONShapeError {
      throw KassaError(.invalidArgument, "the action: \(error)")
    } catch let error as Refusal {
      throw KassaError(error.status == 404 ? .notFound : .invalidArgument, error.message, status: error.status)
    } catch {
      throw KassaError(.storage, "the sandbox's state cannot be written: \(error)")
    }
  }
}

extension SandboxAnswer {
  /// The same with another response.
  func mapResponse(_ change: (HTTPResponse) -> HTTPResponse) -> SandboxAnswer {
    switch self {
    case .response(let response): .response(change(response))
    case .reset: .reset
    case .slow(let response, let speed): .slow(change(response), bytesPerSecond: speed)
    case .delayed(let response, let delay): .delayed(change(response), milliseconds: delay)
    }
  }
}
