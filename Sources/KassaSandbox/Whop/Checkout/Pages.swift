import KassaCore

/// The other pages, and what all pages share.
enum Pages {
  struct Content {
    var title: String
    var body: String

    /// The whole document. The nonce is what the response's policy allows styles by.
    func document(styleNonce: String) -> String {
      """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="color-scheme" content="light dark">
      <title>\(escapedHTML(title)) – Kassa sandbox</title>
      <style nonce="\(styleNonce)">\(Pages.style)</style>
      </head>
      <body>
      <header><p>Kassa sandbox: test mode, no money moves</p></header>
      <main>
      \(body)
      </main>
      </body>
      </html>
      """
    }
  }

  /// Read out at once, and where the keyboard stands.
  static func alert(_ message: String) -> String {
    #"<p role="alert" id="alert" class="alert" tabindex="-1" autofocus>\#(escapedHTML(message))</p>"#
  }

  static func challenge(amount: String, action: String) -> Content {
    Content(
      title: "Confirm your payment",
      body: """
        <h1>Your bank asks: is it you?</h1>
        <p>A payment of \(escapedHTML(amount)) waits for your confirmation.</p>
        <form method="post" action="\(escapedHTML(action))">
        <div class="field"><label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="off" autofocus aria-describedby="hint"></div>
        <p id="hint" class="hint">The test password is <code>\(escapedHTML(Instrument.challengePassword))</code></p>
        <button name="action" value="confirm">Confirm</button>
        <button name="action" value="cancel" class="quiet">Cancel</button>
        </form>
        """)
  }

  /// How a checkout went that returns nowhere.
  static func result(_ result: CheckoutResult, product: String) -> Content {
    let receipt = result.payment.map { "<p>Receipt: <code>\(escapedHTML($0.id))</code></p>" } ?? ""
    let (title, text) =
      switch result.outcome {
      case .succeeded: ("Payment successful", "You now have \(product).")
      case .pending: ("Payment pending", "You get \(product) as soon as the money has arrived.")
      case .canceled: ("Checkout canceled", "Nothing was charged.")
      case .declined, .challenged: ("Payment not completed", "Nothing was charged.")
      }
    return Content(
      title: title,
      body: """
        <h1 role="status">\(title)</h1>
        <p>\(escapedHTML(text)) You can close this page.</p>
        \(receipt)
        """)
  }

  static func manage(_ membership: MembershipRecord, product: String) -> Content {
    let end = membership.periodEnd ?? membership.expiresAt
    let label = membership.cancelAtPeriodEnd ? "Keep the membership" : "Cancel at the end of the period"
    let button = "<button>\(label)</button>"
    return Content(
      title: "Your membership",
      body: """
        <h1>\(escapedHTML(product))</h1>
        <dl>
        <div><dt>Status</dt><dd>\(escapedHTML(membership.status))</dd></div>
        \(end.map { "<div><dt>\(membership.cancelAtPeriodEnd || !membership.renews ? "Ends" : "Renews")</dt><dd>\(Timestamp.iso8601($0).prefix(10))</dd></div>" } ?? "")
        </dl>
        <form method="post">\(membership.renews && !membership.hasEnded ? button : "")</form>
        """)
  }

  static func problem(_ message: String) -> Content {
    Content(title: "Not available", body: "<h1>Not available</h1>\n<p>\(escapedHTML(message))</p>")
  }

  private static let style = """
    :root { color-scheme: light dark; --text: #1a1c20; --quiet: #565b66; --paper: #fff; --ground: #f2f3f6;
      --line: #767c8a; --accent: #1f4fd8; --on-accent: #fff; --alarm: #a3150c; --alarm-ground: #fdecea; }
    @media (prefers-color-scheme: dark) { :root { --text: #eceef2; --quiet: #b1b6c2; --paper: #1d2026;
      --ground: #121419; --line: #8a909e; --accent: #9dbbff; --on-accent: #0b1630; --alarm: #ffb4ab;
      --alarm-ground: #43110d; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--ground); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
    header { padding: .5rem 1rem; text-align: center; color: var(--quiet); font-size: .875rem; }
    header p { margin: 0; }
    main { max-width: 28rem; margin: 0 auto 2rem; padding: 1.5rem 1.25rem; background: var(--paper);
      border-radius: .75rem; overflow-wrap: anywhere; }
    h1 { margin: 0 0 .25rem; font-size: 1.5rem; line-height: 1.25; }
    h2 { margin: 1.75rem 0 .25rem; font-size: 1rem; }
    p { margin: .25rem 0; }
    .seller, .hint { color: var(--quiet); }
    dl { margin: 1rem 0; }
    dl div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; padding: .35rem 0; }
    dd { margin: 0; text-align: right; }
    .due { border-top: 1px solid var(--line); font-weight: 600; }
    .field { margin: .75rem 0; min-width: 0; }
    label, legend { display: block; font-weight: 600; padding: 0; }
    fieldset { border: 0; margin: .75rem 0; padding: 0; }
    .choice { display: flex; gap: .5rem; align-items: center; min-height: 2.25rem; font-weight: 400; }
    input { font: inherit; color: inherit; accent-color: var(--accent); }
    .field input { width: 100%; min-height: 2.75rem; padding: .4rem .6rem; background: var(--paper);
      border: 1px solid var(--line); border-radius: .4rem; }
    .field input[aria-invalid] { border: 2px solid var(--alarm); }
    ::placeholder { color: var(--quiet); opacity: 1; }
    .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 .75rem; align-items: end; }
    form:has(#bank:checked) .card { display: none; }
    button { display: block; width: 100%; min-height: 2.75rem; margin-top: .75rem; padding: .4rem; font: inherit;
      font-weight: 600; color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent);
      border-radius: .4rem; cursor: pointer; }
    button.quiet { color: var(--accent); background: transparent; }
    .alert { padding: .6rem .75rem; color: var(--alarm); background: var(--alarm-ground); border-left: 4px solid;
      border-radius: .25rem; }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    ul { margin: .5rem 0 0; padding-left: 1.1rem; }
    code { font: .9375rem ui-monospace, monospace; }
    """
}
