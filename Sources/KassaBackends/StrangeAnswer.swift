import KassaCore

/// What every back end says when there is no answer, or none of the service's own.
extension KassaError {
  /// There is no answer at all.
  init(_ failure: TransportError) {
    switch failure {
    case .cancelled: self.init(.cancelled, "the operation was cancelled")
    case .offline(let text): self.init(.offline, "no connection to the service: \(text)", retryable: true)
    case .timedOut: self.init(.timedOut, "the service did not answer in time", retryable: true)
    case .insecure(let text):
      self.init(
        .notServiceAnswer, "the connection is not secure: \(text). Check the network, the clock and base_url",
        retryable: true)
    case .malformed(let text): self = .notTheService("a broken response: \(text)", status: nil)
    case .unavailable(let text): self.init(.unsupported, "no HTTP client on this machine: \(text)")
    }
  }

  /// Somebody else answered, such as a captive portal: nothing may be concluded from it.
  static func notTheService(_ what: String, status: Int?) -> KassaError {
    KassaError(
      .notServiceAnswer, "what answered is not the service: \(what). Check the network and base_url", retryable: true,
      status: status)
  }
}

extension HTTPResponse {
  /// What there is instead of the service's answer, in words.
  var strangeness: String {
    if (300..<400).contains(status) { return "a redirect" }
    if status == 511 { return "a network that wants a login" }
    if body.isEmpty { return "an empty body" }
    let type = header("Content-Type").map { " (\($0.quoted))" } ?? ""
    return "something that is not a JSON object\(type)"
  }
}
