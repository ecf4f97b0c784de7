import KassaCore

/// The checkout form.
struct CheckoutPage {
  var offer: Offer
  var seller: String
  var due: Money
  var startsTrial: Bool
  /// Where the form goes.
  var action: String
  /// What was filled in before.
  var form: Form
  var mistake: Mistake?

  var html: Pages.Content {
    let needsInstrument = offer.needsInstrument(due)
    return Pages.Content(
      title: "Buy \(offer.product.title)",
      body: """
        <p class="seller">\(escapedHTML(seller))</p>
        <h1>\(escapedHTML(offer.product.title))</h1>
        \(offer.product.headline.map { "<p>\(escapedHTML($0))</p>" } ?? "")
        <dl>
        <div><dt>Plan</dt><dd>\(escapedHTML(offer.plan.title ?? offer.plan.id))</dd></div>
        <div><dt>Price</dt><dd>\(escapedHTML(price))</dd></div>
        <div class="due"><dt>Due today</dt><dd>\(escapedHTML(MoneyDocument.text(due)))</dd></div>
        </dl>
        \(mistake.map { Pages.alert($0.message) } ?? "")
        <form method="post" action="\(escapedHTML(action))" novalidate>
        \(field("email", "E-mail", #"type="email" autocomplete="email" inputmode="email" required"#))
        \(needsInstrument ? instrument : "")
        <button name="action" value="pay">\(escapedHTML(payLabel))</button>
        <button name="action" value="cancel" class="quiet">Cancel</button>
        </form>
        \(needsInstrument ? Self.testCards : "")
        """)
  }

  private var price: String {
    let text = MoneyDocument.text(offer.plan)
    guard startsTrial, let days = offer.plan.trialDays else { return text }
    return "Free for \(days == 1 ? "1 day" : "\(days) days"), then \(text)"
  }

  private var payLabel: String {
    if due.amount > .zero { return "Pay \(MoneyDocument.text(due))" }
    return startsTrial ? "Start the free trial" : "Get it for free"
  }

  private var instrument: String {
    let bank = Instrument.bankAccount.rawValue
    let usesBank = form["method"] == bank
    return """
      <fieldset><legend>Pay with</legend>
      <label class="choice"><input type="radio" name="method" value="card"\(usesBank ? "" : " checked")> Card</label>
      <label class="choice"><input type="radio" id="bank" name="method" value="\(bank)"\(usesBank ? " checked" : "")>
      Bank account (takes days to arrive)</label>
      </fieldset>
      <div class="card">
      \(field("card", "Card number", #"autocomplete="cc-number" inputmode="numeric" placeholder="4242 4242 4242 4242" required"#))
      <div class="pair">
      \(field("expiry", "Expiry (MM/YY)", #"autocomplete="cc-exp" inputmode="numeric" placeholder="12/34" required"#))
      \(field("cvc", "Security code", #"autocomplete="cc-csc" inputmode="numeric" placeholder="123" required"#))
      </div>
      </div>
      """
  }

  private func field(_ name: String, _ label: String, _ attributes: String) -> String {
    let isWrong = mistake?.field == name
    let marks = isWrong ? #" aria-invalid="true" aria-describedby="alert""# : ""
    // A card's security code is never shown again.
    let value = name == "cvc" ? "" : form[name]
    return """
      <div class="field"><label for="\(name)">\(label)</label>
      <input id="\(name)" name="\(name)" value="\(escapedHTML(value))" \(attributes)\(marks)></div>
      """
  }

  private static let testCards: String = {
    let cards: [(Instrument, String)] = [
      (.goodCard, "is charged"), (.declinedCard, "is declined"),
      (.failsLaterCard, "is charged now, but not at renewals"),
      (.challengedCard, "asks for the password \(Instrument.challengePassword)"),
    ]
    let rows = cards.map { card, effect in "<li><code>\(card.groupedNumber)</code> \(escapedHTML(effect))</li>" }
    return """
      <section aria-labelledby="cards"><h2 id="cards">Test cards</h2>
      <p>No money moves here. Any expiry date in the future and any security code will do.</p>
      <ul>\(rows.joined(separator: "\n"))</ul></section>
      """
  }()
}
