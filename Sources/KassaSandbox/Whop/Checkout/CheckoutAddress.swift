import KassaCore

/// The address of a checkout page: `/checkout/{plan}`, with or without a slash after it and `?session={configuration}`.
struct CheckoutAddress {
  var planID: String
  var configurationID: String?

  /// Takes an absolute URL, one that starts with `embedded:`, or a path.
  init?(_ url: String) {
    let target =
      url.hasPrefix("embedded:") ? String(url.dropFirst("embedded:".count)) : URLText.Origin(url)?.path ?? url
    let parts = target.prefix { $0 != "?" && $0 != "#" }.split(separator: "/")
    guard parts.count == 2, parts[0] == "checkout" else { return nil }
    planID = URLText.unescape(parts[1])
    configurationID = URLText.queryItems(of: target).last { $0.name == "session" }?.value
  }

  var path: String {
    let page = "/checkout/\(URLText.escape(planID))/"
    return configurationID.map { "\(page)?session=\(URLText.escape($0))" } ?? page
  }
}
