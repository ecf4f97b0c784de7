import CCurl
import Glibc
import KassaCore

/// One request on its way through libcurl. Used on the loop only.
final class CurlTransfer: @unchecked Sendable {
  let easy: UnsafeMutableRawPointer
  private(set) var pending: Pending<HTTPResponse>?
  private let curl: kassa_curl
  private let handles: EasyHandles
  private let target: CurlTarget
  private let limits: CurlTransport.Limits

  // What libcurl reads while the transfer runs.
  private let body: UnsafeMutableBufferPointer<UInt8>
  private let errorText = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var lists: [CurlList] = []

  private var received = HTTPResponse(status: 0)
  private var receivedHeaderBytes = 0
  /// Why we, not libcurl, ended the transfer.
  private var refusal: TransportError?

  init(
    _ request: HTTPRequest, to target: CurlTarget, _ limits: CurlTransport.Limits, _ handles: EasyHandles
  ) throws(TransportError) {
    let easy = try handles.take()
    (self.easy, self.handles, self.target, self.limits) = (easy, handles, target, limits)
    curl = handles.curl
    body = .allocate(capacity: request.body.count)
    _ = body.initialize(from: request.body)
    errorText.initialize(repeating: 0)
    try setPlaces()
    try setRequest(request)
  }

  /// What is known only when it is sent.
  func prepare(
    at addresses: [String], milliseconds: Int64, _ pending: Pending<HTTPResponse>
  ) throws(TransportError) {
    self.pending = pending
    try set(CURLOPT_TIMEOUT_MS, Int(milliseconds))
    if !addresses.isEmpty {
      // The plus lets the entry expire.
      let entries = CurlList(curl)
      entries.add("+\(target.host):\(target.port):\(addresses.joined(separator: ","))")
      try setList(CURLOPT_RESOLVE, entries)
    }
  }

  deinit {
    handles.giveBack(easy)
    body.deallocate()
    errorText.deallocate()
  }

  // MARK: Options

  private func check(_ code: CURLcode) throws(TransportError) {
    guard code == CURLE_OK else { throw .unavailable("libcurl: \(curl.words(for: code))") }
  }

  private func set(_ option: CURLoption, _ value: Int) throws(TransportError) {
    try check(kassa_curl_set_number(easy, option, value))
  }

  private func set(_ option: CURLoption, _ value: String) throws(TransportError) {
    guard !value.utf8.contains(0) else { throw .malformed("the request has a NUL in it") }
    try check(kassa_curl_set_text(easy, option, value))
  }

  private func setList(_ option: CURLoption, _ list: CurlList) throws(TransportError) {
    lists.append(list)
    try check(kassa_curl_set_list(easy, option, list.first))
  }

  private func setPlaces() throws(TransportError) {
    let this = Unmanaged.passUnretained(self).toOpaque()
    for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA] { try check(kassa_curl_set_buffer(easy, option, this)) }
    if let start = errorText.baseAddress { try check(kassa_curl_set_buffer(easy, CURLOPT_ERRORBUFFER, start)) }
    // Requests that start together share one HTTP/2 connection. Without TLS they would wait for the first answer.
    try set(CURLOPT_PIPEWAIT, target.scheme == "https" ? 1 : 0)
    try check(kassa_curl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(limits.bodyBytes)))
  }

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
    let lines = CurlList(curl)
    for header in request.headers { try lines.add(header) }
    // libcurl would add these by itself.
    if !request.headers.contains(where: { $0.isNamed("content-type") }) { lines.add("Content-Type:") }
    lines.add("Expect:")
    try setList(CURLOPT_HTTPHEADER, lines)
  }

  private func setBody() throws(TransportError) {
    try check(kassa_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
    if let start = body.baseAddress { try check(kassa_curl_set_buffer(easy, CURLOPT_POSTFIELDS, start)) }
  }

  // MARK: The answer

  /// Called by libcurl; anything but `count` ends the transfer.
  static func receive(
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

  func takeHeader(_ line: UnsafeRawBufferPointer) throws(TransportError) {
    receivedHeaderBytes += line.count
    guard receivedHeaderBytes <= limits.headerBytes else {
      throw .malformed("\(target.host): headers of more than \(limits.headerBytes) bytes")
    }
    // A status line begins an answer; one of 100 to 199 comes before the real one.
    if line.starts(with: "HTTP/".utf8) {
      received.headers = []
    } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
      received.headers.append(
        HTTPHeader(Self.text(line[..<colon]), Self.text(Self.trimmed(line[colon...].dropFirst()))))
    }
  }

  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    String(decoding: UnsafeRawBufferPointer(rebasing: bytes), as: UTF8.self)
  }

  private static func trimmed(_ line: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
    var text = line.drop(while: isSpace)
    while let last = text.last, isSpace(last) { text.removeLast() }
    return text
  }

  func takeBody(_ bytes: UnsafeRawBufferPointer) throws(TransportError) {
    guard bytes.count <= limits.bodyBytes - received.body.count else { throw tooLong }
    received.body.append(contentsOf: bytes)
  }

  private var tooLong: TransportError { .malformed("\(target.host): a body of more than \(limits.bodyBytes) bytes") }

  func finish(_ code: CURLcode) {
    pending?.end(result(code))
  }

  private func result(_ code: CURLcode) -> Result<HTTPResponse, TransportError> {
    if let refusal { return .failure(refusal) }
    guard code == CURLE_OK else { return .failure(failure(code)) }
    var status = 0
    _ = kassa_curl_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
    received.status = status
    return .success(received)
  }

  /// Only the host is named: paths, queries and headers may hold what is nobody's business.
  private func failure(_ code: CURLcode) -> TransportError {
    let text = "\(target.host): \(curl.words(for: code))"
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

  private var systemError: String {
    var number = 0
    guard kassa_curl_get_number(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK, number != 0 else { return "" }
    return " (\(systemErrorName(Int32(truncatingIfNeeded: number))))"
  }
}

extension UInt8 {
  fileprivate var isMethodCharacter: Bool { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self }
}
