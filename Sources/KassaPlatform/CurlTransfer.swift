import CCurl
import Glibc
import KassaCore

/// One request on its way through libcurl. Used on the loop only.
final class CurlTransfer: @unchecked Sendable {
  let easy: UnsafeMutableRawPointer
  let pending: Pending<HTTPResponse>
  private let curl: kassa_curl
  private let handles: EasyHandles
  private let target: CurlTarget
  private let limits: CurlTransport.Limits

  // What libcurl reads while the transfer runs.
  private let body: UnsafeMutableBufferPointer<UInt8>
  private let errorText = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var lists: [UnsafeMutablePointer<curl_slist>] = []

  private var received = HTTPResponse(status: 0)
  private var receivedHeaderBytes = 0
  /// Why we, not libcurl, ended the transfer.
  private var refusal: TransportError?

  init(
    _ request: HTTPRequest, to target: CurlTarget, at addresses: [String], milliseconds: Int64,
    _ limits: CurlTransport.Limits, _ handles: EasyHandles, _ pending: Pending<HTTPResponse>
  ) throws(TransportError) {
    guard let easy = handles.take() else { throw .unavailable("libcurl is out of memory") }
    (self.easy, self.handles, self.target, self.limits, self.pending) = (easy, handles, target, limits, pending)
    curl = handles.curl
    body = .allocate(capacity: request.body.count)
    _ = body.initialize(from: request.body)
    errorText.initialize(repeating: 0)
    try setRules(milliseconds: milliseconds)
    try setRequest(request)
    if !addresses.isEmpty {
      // The plus lets the entry expire.
      try setList(CURLOPT_RESOLVE, ["+\(target.host):\(target.port):\(addresses.joined(separator: ","))"])
    }
  }

  deinit {
    handles.giveBack(easy)
    for list in lists { curl.slist_free_all(list) }
    body.deallocate()
    errorText.deallocate()
  }

  // MARK: Options

  private func check(_ code: CURLcode) throws(TransportError) {
    guard code == CURLE_OK else { throw .unavailable("libcurl: \(words(for: code))") }
  }

  private func set(_ option: CURLoption, _ value: Int) throws(TransportError) {
    try check(kassa_curl_set_number(easy, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) throws(TransportError) {
    guard !value.utf8.contains(0) else { throw .malformed("the request has a NUL in it") }
    try check(kassa_curl_set_text(easy, option, value))
  }

  private func setList(_ option: CURLoption, _ lines: [String]) throws(TransportError) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines {
      guard let longer = curl.slist_append(list, line) else { break }
      list = longer
    }
    if let list { lists.append(list) }
    try check(kassa_curl_set_list(easy, option, list))
  }

  /// What holds for every request.
  private func setRules(milliseconds: Int64) throws(TransportError) {
    if let start = errorText.baseAddress { try check(kassa_curl_set_buffer(easy, CURLOPT_ERRORBUFFER, start)) }
    try check(kassa_curl_restrict(easy))
    try set(CURLOPT_NOSIGNAL, 1)
    try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
    // Requests that start together share one HTTP/2 connection. Without TLS they would wait for the first answer.
    if target.scheme == "https" { try set(CURLOPT_PIPEWAIT, 1) }
    try set(CURLOPT_ACCEPT_ENCODING, "gzip")
    try set(CURLOPT_TIMEOUT_MS, Int(milliseconds))
    try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    try check(kassa_curl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(limits.bodyBytes)))
    // Not known to older versions: their own look-ups, which are rare here, hold up whoever cancels them.
    _ = kassa_curl_set_number(easy, CURLOPT_QUICK_EXIT, 1)
    for (option, path) in Self.certificates { try set(option, path) }
    let this = Unmanaged.passUnretained(self).toOpaque()
    try check(
      kassa_curl_set_receiver(
        easy, CURLOPT_HEADERFUNCTION,
        { bytes, size, count, data in
          CurlTransfer.receive(bytes, size * count, data) { (transfer, line) throws(TransportError) in
            try transfer.takeHeader(line)
          }
        }, this))
    try check(
      kassa_curl_set_receiver(
        easy, CURLOPT_WRITEFUNCTION,
        { bytes, size, count, data in
          CurlTransfer.receive(bytes, size * count, data) { (transfer, bytes) throws(TransportError) in
            try transfer.takeBody(bytes)
          }
        }, this))
  }

  /// Where the curl tool would look for certificates; read once.
  private static let certificates: [(CURLoption, String)] = {
    func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
    if let file = value("CURL_CA_BUNDLE") { return [(CURLOPT_CAINFO, file)] }
    let file = value("SSL_CERT_FILE").map { (CURLOPT_CAINFO, $0) }
    let directory = value("SSL_CERT_DIR").map { (CURLOPT_CAPATH, $0) }
    return [file, directory].compactMap(\.self)
  }()

  private func setRequest(_ request: HTTPRequest) throws(TransportError) {
    try set(CURLOPT_URL, request.url)
    switch request.method {
    case "GET" where request.body.isEmpty: break
    case "HEAD": try set(CURLOPT_NOBODY, 1)
    default:
      guard request.method.utf8.allSatisfy(\.isMethodCharacter), !request.method.isEmpty else {
        throw .malformed("not an HTTP method")
      }
      try set(CURLOPT_CUSTOMREQUEST, request.method)
      if request.method != "DELETE" || !request.body.isEmpty { try setBody() }
    }
    var lines = try request.headers.map { (header) throws(TransportError) in try Self.line(of: header) }
    // libcurl would add these by itself.
    if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) { lines.append("Content-Type:") }
    lines.append("Expect:")
    try setList(CURLOPT_HTTPHEADER, lines)
  }

  private func setBody() throws(TransportError) {
    try check(kassa_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
    if let start = body.baseAddress { try check(kassa_curl_set_buffer(easy, CURLOPT_POSTFIELDS, start)) }
  }

  /// A header for libcurl, which wants a semicolon where there is no value.
  private static func line(of header: HTTPHeader) throws(TransportError) -> String {
    guard header.name.isOneLine, header.value.isOneLine, !header.name.isEmpty, !header.name.utf8.contains(UInt8(ascii: ":")) else {
      throw .malformed("a header of the request has a line break in it, or no name")
    }
    return header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)"
  }

  // MARK: The answer

  /// Called by libcurl; anything but `count` ends the transfer.
  private static func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ data: UnsafeMutableRawPointer?,
    _ take: (CurlTransfer, UnsafeRawBufferPointer) throws(TransportError) -> Void
  ) -> Int {
    guard let data else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(data).takeUnretainedValue()
    do {
      try take(transfer, UnsafeRawBufferPointer(start: bytes, count: count))
      return count
    } catch {
      transfer.refusal = error
      // Never the count, which may be 0.
      return count == 0 ? 1 : 0
    }
  }

  private func takeHeader(_ line: UnsafeRawBufferPointer) throws(TransportError) {
    receivedHeaderBytes += line.count
    guard receivedHeaderBytes <= limits.headerBytes else {
      throw .malformed("\(target.host): headers of more than \(limits.headerBytes) bytes")
    }
    let text = String(decoding: line, as: UTF8.self)
    // A status line begins an answer; one of 100 to 199 comes before the real one.
    if text.hasPrefix("HTTP/") {
      received.headers = []
    } else if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) {
      let value = text.utf8[colon...].dropFirst()
      received.headers.append(HTTPHeader(String(text[..<colon]), Self.trimmed(value)))
    }
  }

  private static func trimmed(_ text: Substring.UTF8View) -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
    var text = text.drop(while: isSpace)
    while let last = text.last, isSpace(last) { text.removeLast() }
    return String(decoding: text, as: UTF8.self)
  }

  private func takeBody(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
    guard bytes.count <= limits.bodyBytes - received.body.count else { throw tooLong }
    received.body.append(contentsOf: bytes)
  }

  private var tooLong: TransportError { .malformed("\(target.host): a body of more than \(limits.bodyBytes) bytes") }

  func finish(_ code: CURLcode) {
    pending.end(result(code))
  }

  private func result(_ code: CURLcode) -> Result<HTTPResponse, TransportError> {
    if let refusal { return .failure(refusal) }
    guard code == CURLE_OK else { return .failure(failure(code)) }
    var status = 0
    _ = kassa_curl_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
    received.status = status
    received.date = received.header("Date").flatMap { HTTPDate.milliseconds($0, curl) }
    return .success(received)
  }

  /// Only the host is named: paths, queries and headers may hold what is nobody's business.
  private func failure(_ code: CURLcode) -> TransportError {
    let text = "\(target.host): \(words(for: code))"
    switch code {
    case CURLE_OPERATION_TIMEDOUT: return .timedOut
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ENGINE_INITFAILED:
      return .insecure("\(text) (\(details))")
    case CURLE_FILESIZE_EXCEEDED: return tooLong
    case CURLE_PARTIAL_FILE, CURLE_BAD_CONTENT_ENCODING, CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL,
      CURLE_URL_MALFORMAT, CURLE_WRITE_ERROR:
      return .malformed(text)
    // Only its words tell a broken encoding from a broken connection.
    case CURLE_RECV_ERROR where errorText.baseAddress.map { strstr($0, "chunk") != nil } ?? false:
      return .malformed("\(target.host): \(details)")
    default: return .offline(text + systemError)
    }
  }

  private var details: String { errorText.baseAddress.map { String(cString: $0) } ?? "" }

  private func words(for code: CURLcode) -> String {
    curl.easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
  }

  private var systemError: String {
    var number = 0
    guard kassa_curl_get_number(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK, number != 0 else { return "" }
    return " (\(systemErrorName(Int32(truncatingIfNeeded: number))))"
  }
}

extension String {
  fileprivate var isOneLine: Bool {
    var text = self
    return text.withUTF8 { bytes in
      for byte in bytes where byte == 0 || byte == 0x0A || byte == 0x0D { return false }
      return true
    }
  }
}

extension UInt8 {
  fileprivate var isMethodCharacter: Bool { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self }
}

/// libcurl's handles for one request each. A few that are not in use are kept: making one takes longer than using it.
/// Used on the loop only.
final class EasyHandles: @unchecked Sendable {
  let curl: kassa_curl
  private var idle: [UnsafeMutableRawPointer] = []
  private static let maximumIdle = 2

  init(_ curl: kassa_curl) { self.curl = curl }

  deinit { clear() }

  func take() -> UnsafeMutableRawPointer? { idle.popLast() ?? curl.easy_init() }

  /// Nothing of the request stays with it.
  func giveBack(_ easy: UnsafeMutableRawPointer) {
    guard idle.count < Self.maximumIdle else { return curl.easy_cleanup(easy) }
    curl.easy_reset(easy)
    idle.append(easy)
  }

  func clear() {
    for easy in idle { curl.easy_cleanup(easy) }
    idle = []
  }
}
