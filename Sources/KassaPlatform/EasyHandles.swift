import CCurl
import Glibc
import KassaCore

/// libcurl's handles for one request each, with the rules that hold for every request. A few that are not in use are
/// kept: making one takes longer than using it. Used on the loop only.
final class EasyHandles: @unchecked Sendable {
  let curl: kassa_curl
  private var idle: [UnsafeMutableRawPointer] = []
  private static let maximumIdle = 2

  init(_ curl: kassa_curl) { self.curl = curl }

  deinit { clear() }

  func take() throws(TransportError) -> UnsafeMutableRawPointer {
    if let easy = idle.popLast() { return easy }
    guard let easy = curl.easy_init() else { throw .unavailable("libcurl is out of memory") }
    let code = setRules(easy)
    guard code == CURLE_OK else {
      curl.easy_cleanup(easy)
      throw .unavailable("libcurl: \(curl.words(for: code))")
    }
    return easy
  }

  /// Nothing of the request stays with it.
  func giveBack(_ easy: UnsafeMutableRawPointer) {
    guard idle.count < Self.maximumIdle, kassa_curl_forget_request(easy) == CURLE_OK else {
      return curl.easy_cleanup(easy)
    }
    idle.append(easy)
  }

  func clear() {
    for easy in idle { curl.easy_cleanup(easy) }
    idle = []
  }

  private func setRules(_ easy: UnsafeMutableRawPointer) -> CURLcode {
    // Not known to older versions: their own look-ups, which are rare here, hold up whoever cancels them.
    _ = kassa_curl_set_number(easy, CURLOPT_QUICK_EXIT, 1)
    let numbers = [
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS), (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
    ]
    let texts = [(CURLOPT_ACCEPT_ENCODING, "gzip")] + Self.certificates
    let codes =
      [kassa_curl_restrict(easy)] + numbers.map { kassa_curl_set_number(easy, $0, $1) }
      + texts.map { kassa_curl_set_text(easy, $0, $1) }
      + [
        kassa_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, data in
          CurlTransfer.receive(bytes, size * count, data) { (transfer, line) throws(TransportError) in
            try transfer.takeHeader(line)
          }
        },
        kassa_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, data in
          CurlTransfer.receive(bytes, size * count, data) { (transfer, bytes) throws(TransportError) in
            try transfer.takeBody(bytes)
          }
        },
      ]
    return codes.first { $0 != CURLE_OK } ?? CURLE_OK
  }

  /// Where the curl tool would look for certificates; read once.
  private static let certificates: [(CURLoption, String)] = {
    func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
    if let file = value("CURL_CA_BUNDLE") { return [(CURLOPT_CAINFO, file)] }
    let file = value("SSL_CERT_FILE").map { (CURLOPT_CAINFO, $0) }
    let directory = value("SSL_CERT_DIR").map { (CURLOPT_CAPATH, $0) }
    return [file, directory].compactMap(\.self)
  }()
}

extension kassa_curl {
  func words(for code: CURLcode) -> String {
    easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
  }
}
