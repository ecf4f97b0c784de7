import KassaCore
import KassaJSON

/// The pages for buyers: checkout, the bank's challenge, and managing a membership. Plain forms, no script.
final class CheckoutSite {
  private let whop: WhopService

  init(_ whop: WhopService) { self.whop = whop }

  func answer(_ request: HTTPRequest, target: String) -> HTTPResponse {
    let parts = target.prefix { $0 != "?" }.split(separator: "/").map { URLText.unescape($0) }
    let form = Form(request)
    do throws(Refusal) {
      switch (request.method, parts.first, parts.count) {
      case ("GET", "checkout", 3) where parts[1] == "challenge": return try challengePage(parts[2], alert: nil)
      case ("POST", "checkout", 3) where parts[1] == "challenge": return try answerChallenge(parts[2], form)
      case ("GET", "billing", 3) where parts[1] == "manage": return try managePage(parts[2])
      case ("POST", "billing", 3) where parts[1] == "manage": return try cancelMembership(parts[2])
      case ("GET", _, _), ("POST", _, _):
        guard let address = CheckoutAddress(target) else { throw .notFound("page") }
        let offer = try whop.offer(planID: address.planID, configurationID: address.configurationID)
        return request.method == "GET" ? show(offer, address, form, mistake: nil) : submit(offer, address, form)
      default: throw .notFound("page")
      }
    } catch {
      return page(Pages.problem(error.message), status: error.status)
    }
  }

  // MARK: Checkout

  private func submit(_ offer: Offer, _ address: CheckoutAddress, _ form: Form) -> HTTPResponse {
    if form["action"] == "cancel" { return finish(offer, CheckoutResult(outcome: .canceled)) }
    do throws(Mistake) {
      let instrument = try self.instrument(form, offer)
      let result: CheckoutResult
      do throws(Refusal) {
        result = try whop.pay(offer, email: form["email"], instrument: instrument)
      } catch {
        throw Mistake(field: error.param ?? "", message: error.param == "email" ? Mistake.email : error.message)
      }
      return after(result, offer, address, form)
    } catch {
      return show(offer, address, form, mistake: error)
    }
  }

  private func after(
    _ result: CheckoutResult, _ offer: Offer, _ address: CheckoutAddress, _ form: Form
  ) -> HTTPResponse {
    switch result.outcome {
    case .challenged: return redirect(to: result.payment.map(whop.challengePath) ?? address.path)
    case .declined:
      let message = result.payment?.failureMessage ?? Decline.cardDeclined.message
      return show(offer, address, form, mistake: Mistake(field: "", message: message))
    case .succeeded, .pending, .canceled: return finish(offer, result)
    }
  }

  /// What the form pays with; nil where nothing has to be paid.
  private func instrument(_ form: Form, _ offer: Offer) throws(Mistake) -> Instrument? {
    guard offer.needsInstrument(whop.due(offer, email: form["email"]).money) else { return nil }
    if form["method"] == Instrument.bankAccount.rawValue { return .bankAccount }
    guard let card = Instrument(form["card"]), card.isCard else {
      throw Mistake(field: "card", message: "Enter the number of one of the test cards.")
    }
    guard CardExpiry(form["expiry"])?.isValid(at: whop.now) == true else {
      throw Mistake(field: "expiry", message: "Enter the expiry date as month and year, such as 12/34, in the future.")
    }
    guard 3...4 ~= form["cvc"].count, form["cvc"].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw Mistake(field: "cvc", message: "Enter the security code: three or four digits.")
    }
    return card
  }

  private func show(
    _ offer: Offer, _ address: CheckoutAddress, _ form: Form, mistake: Mistake?
  ) -> HTTPResponse {
    let due = whop.due(offer, email: nil)
    let content = CheckoutPage(
      offer: offer, seller: whop.catalogue.account.title, due: due.money, startsTrial: due.startsTrial,
      action: address.path, form: form, mistake: mistake)
    return page(content.html, formTarget: offer.configuration?.redirectURL)
  }

  /// The buyer goes back to the seller's program, or reads how it went.
  private func finish(_ offer: Offer, _ result: CheckoutResult) -> HTTPResponse {
    if let url = whop.returnURL(of: offer, result) { return redirect(to: url) }
    return page(Pages.result(result, product: offer.product.title))
  }

  // MARK: Challenge

  private func challengePage(_ paymentID: String, alert: String?) throws(Refusal) -> HTTPResponse {
    let payment = try challenged(paymentID)
    return page(
      Pages.challenge(amount: MoneyDocument.text(payment.money), action: whop.challengePath(payment)),
      formTarget: try whop.offer(of: payment).configuration?.redirectURL)
  }

  private func answerChallenge(_ paymentID: String, _ form: Form) throws(Refusal) -> HTTPResponse {
    let payment = try challenged(paymentID)
    let offer = try whop.offer(of: payment)
    if form["action"] == "cancel" { return finish(offer, CheckoutResult(outcome: .canceled)) }
    let result = try whop.answerChallenge(payment, password: form["password"])
    let address = CheckoutAddress(of: offer)
    return after(result, offer, address, form)
  }

  private func challenged(_ id: String) throws(Refusal) -> PaymentRecord {
    guard let payment = whop.state.store.payments[id], payment.state == .challenged else {
      throw .notFound("payment that waits for a confirmation")
    }
    return payment
  }

  // MARK: Managing

  private func managePage(_ id: String) throws(Refusal) -> HTTPResponse {
    guard let membership = whop.state.store.memberships[id] else { throw .notFound("membership") }
    let title = whop.product(membership.productID)?.title ?? membership.productID
    return page(Pages.manage(membership, product: title))
  }

  private func cancelMembership(_ id: String) throws(Refusal) -> HTTPResponse {
    guard var membership = whop.state.store.memberships[id] else { throw .notFound("membership") }
    if membership.renews, !membership.hasEnded {
      membership.setCancelAtPeriodEnd(!membership.cancelAtPeriodEnd, at: whop.now)
      whop.state.store.memberships.put(membership)
    }
    return redirect(to: "/billing/manage/\(id)")
  }

  // MARK: Responses

  private func redirect(to url: String) -> HTTPResponse {
    HTTPResponse(status: 303, headers: [HTTPHeader("Location", url), HTTPHeader("Cache-Control", "no-store")])
  }

  /// - Parameter formTarget: where submitting the page's form may lead besides here.
  private func page(_ content: Pages.Content, status: Int = 200, formTarget: String? = nil) -> HTTPResponse {
    let nonce = whop.state.randomText(length: 16)
    let target = formTarget.flatMap { URLText.Origin($0) }.map { " \($0.scheme)://\($0.host)\($0.portText)" } ?? ""
    let policy = [
      "default-src 'none'", "style-src 'nonce-\(nonce)'", "form-action 'self'\(target)", "base-uri 'none'",
      "frame-ancestors 'none'",
    ]
    return HTTPResponse(
      status: status,
      headers: [
        HTTPHeader("Content-Type", "text/html; charset=utf-8"),
        HTTPHeader("Content-Security-Policy", policy.joined(separator: "; ")),
        HTTPHeader("Referrer-Policy", "no-referrer"), HTTPHeader("X-Content-Type-Options", "nosniff"),
        HTTPHeader("Cache-Control", "no-store"),
      ], body: Array(content.document(styleNonce: nonce).utf8))
  }
}

extension WhopService {
  func challengePath(_ payment: PaymentRecord) -> String { "/checkout/challenge/\(payment.id)" }
  func challengeURL(_ payment: PaymentRecord) -> String { state.baseURL + challengePath(payment) }

  /// The offer that a payment took up.
  func offer(of payment: PaymentRecord) throws(Refusal) -> Offer {
    try offer(planID: payment.planID, configurationID: payment.checkoutID)
  }
}

extension CheckoutAddress {
  fileprivate init(of offer: Offer) {
    planID = offer.plan.id
    configurationID = offer.configuration?.id
  }
}

extension URLText.Origin {
  fileprivate var portText: String { port.map { ":\($0)" } ?? "" }
}

/// What the buyer has to correct.
struct Mistake: Error {
  /// The name of the field, or empty.
  var field: String
  var message: String

  static let email = "Enter your e-mail address, such as you@example.com."
}

/// The fields of a submitted form.
struct Form {
  private let items: [(name: String, value: String)]

  init(_ request: HTTPRequest) {
    let isForm = request.header("Content-Type")?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true
    let text = String(decoding: request.body, as: UTF8.self)
    items = isForm && request.body.count <= 65_536 ? URLText.queryItems(of: "?\(text)") : []
  }

  /// Empty if it was not sent. Spaces around it do not count.
  subscript(name: String) -> String {
    let value = items.last { $0.name == name }?.value ?? ""
    let start = value.drop { $0.isWhitespace }
    return String(start.prefix(start.count - start.reversed().prefix { $0.isWhitespace }.count))
  }
}

/// `12/34`, `12 / 2034`, `1234`.
struct CardExpiry {
  private let month: Int
  private let year: Int

  init?(_ text: String) {
    let digits = text.filter { $0 != " " && $0 != "/" && $0 != "-" }
    guard digits.count == 4 || digits.count == 6, let month = Int(digits.prefix(2)), 1...12 ~= month,
      let year = Int(digits.dropFirst(2)), year >= 0
    else { return nil }
    self.month = month
    self.year = year < 100 ? 2_000 + year : year
  }

  /// A card is good to the end of its month.
  func isValid(at moment: Int64) -> Bool {
    let (nextMonth, itsYear) = month == 12 ? (1, year + 1) : (month + 1, year)
    let digits = nextMonth < 10 ? "0\(nextMonth)" : "\(nextMonth)"
    return Timestamp.milliseconds(iso8601: "\(itsYear)-\(digits)-01T00:00:00Z").map { moment < $0 } ?? false
  }
}
