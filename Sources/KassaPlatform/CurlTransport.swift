import CCurl
import CLinux
import Glibc
import KassaCore

/// HTTP over libcurl, on the loop: connections are kept alive and shared by all transports of the loop, HTTP/2 is used
/// where it is offered, TLS is always verified, and no more of an answer is taken than the limits allow. Proxies and
/// certificates are configured as for the curl tool: `https_proxy` and its like, `CURL_CA_BUNDLE`, `SSL_CERT_FILE`,
/// `SSL_CERT_DIR`.
public final class CurlTransport: HTTPTransport {
  public struct Limits: Sendable {
    /// From name look-up to last byte.
    public var requestMilliseconds: Int64
    /// Of one answer's body, decompressed.
    public var bodyBytes: Int
    /// Of all header lines of one answer.
    public var headerBytes: Int

    public init(
      requestMilliseconds: Int64 = Constants.requestMilliseconds, bodyBytes: Int = 8 << 20, headerBytes: Int = 64 << 10
    ) {
      self.requestMilliseconds = requestMilliseconds
      self.bodyBytes = bodyBytes
      self.headerBytes = headerBytes
    }
  }

  private let loop: EventLoop
  private let limits: Limits
  /// Queues send many requests to one place.
  private let lastTarget = Locked<(url: String, target: CurlTarget)?>(nil)
  /// The answers to them often have one second in common.
  private let lastDate = Locked<(text: String, milliseconds: Int64?)?>(nil)

  public init(loop: EventLoop, limits: Limits = Limits()) {
    self.loop = loop
    self.limits = limits
  }

  public func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
    try await send(request, nil)
  }

  public func prepare(_ request: HTTPRequest) -> PreparedRequest {
    // What stands in the way is told when it is sent.
    let transfer = loop.isCurrent ? try? transfer(request) : nil
    return { () async throws(TransportError) in try await self.send(request, transfer) }
  }

  private func send(
    _ request: HTTPRequest, _ prepared: CurlTransfer?
  ) async throws(TransportError) -> HTTPResponse {
    let curl = try Self.curl.get()
    let target = try target(of: request.url, curl)
    let deadline = kassa_boot_nanoseconds().adding(limits.requestMilliseconds.multiplied(by: 1_000_000))
    let addresses = target.needsLookup ? try await addresses(of: target.host, until: deadline) : []
    let left = (deadline - kassa_boot_nanoseconds()) / 1_000_000
    guard left > 0 else { throw .timedOut }
    var response: HTTPResponse = try await loop.pending { [self] pending in
      do throws(TransportError) {
        let transfer = if let prepared { prepared } else { try transfer(request) }
        try transfer.prepare(at: addresses, milliseconds: left, pending)
        try CurlConnections.shared(on: loop, curl).start(transfer)
      } catch {
        pending.end(.failure(error))
      }
    }
    response.date = response.header("Date").flatMap(date)
    return response
  }

  /// On the loop only.
  private func transfer(_ request: HTTPRequest) throws(TransportError) -> CurlTransfer {
    let curl = try Self.curl.get()
    return try CurlTransfer(
      request, to: target(of: request.url, curl), limits, CurlConnections.shared(on: loop, curl).handles)
  }

  private func date(_ text: String) -> Int64? {
    lastDate.with { last in
      if let last, last.text == text { return last.milliseconds }
      let milliseconds = milliseconds(ofHTTPDate: text)
      last = (text, milliseconds)
      return milliseconds
    }
  }

  private func target(of url: String, _ curl: kassa_curl) throws(TransportError) -> CurlTarget {
    if let last = lastTarget.with({ $0 }), last.url == url { return last.target }
    let target = try CurlTarget(url, curl)
    lastTarget.with { $0 = (url, target) }
    return target
  }

  private func addresses(of host: String, until deadline: Int64) async throws(TransportError) -> [String] {
    try await loop.pending { [loop] pending in
      let timer = loop.timer(atBootNanoseconds: deadline) { pending.end(.failure(.timedOut)) }
      pending.onEnd { loop.cancel(timer) }
      Resolver.shared(on: loop).lookUp(host, pending)
    }
  }

  public func milliseconds(ofHTTPDate text: String) -> Int64? {
    guard case .success(let curl) = Self.curl else { return nil }
    return HTTPDate.milliseconds(text, curl)
  }

  /// libcurl, opened by whoever asks first.
  private static let curl: Result<kassa_curl, TransportError> = {
    guard OpenSSL.isPrepared else { return .failure(.unavailable("libcrypto cannot be initialized")) }
    var reason: UnsafePointer<CChar>?
    guard let curl = kassa_curl_load(&reason) else {
      return .failure(.unavailable(reason.map { String(cString: $0) } ?? "libcurl cannot be opened"))
    }
    return .success(curl.pointee)
  }()
}

/// Where a URL leads, as libcurl reads it.
struct CurlTarget: Sendable {
  let scheme: String
  let host: String
  let port: String

  init(_ text: String, _ curl: kassa_curl) throws(TransportError) {
    let url = curl.url()
    defer { curl.url_cleanup(url) }
    func part(_ part: CURLUPart) -> String? {
      var value: UnsafeMutablePointer<CChar>?
      guard curl.url_get(url, part, &value, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let value else { return nil }
      defer { curl.free(value) }
      return String(cString: value)
    }
    guard !text.utf8.contains(0), curl.url_set(url, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK,
      let scheme = part(CURLUPART_SCHEME), let host = part(CURLUPART_HOST), let port = part(CURLUPART_PORT),
      scheme == "http" || scheme == "https"
    else { throw .malformed("not an absolute http or https URL without a user name") }
    (self.scheme, self.host, self.port) = (scheme, host, port)
  }

  /// Numbers and localhost need none; behind a proxy the proxy does it; and what is not ASCII libcurl encodes.
  var needsLookup: Bool {
    var address = in_addr()
    let isNumber = host.hasPrefix("[") || inet_pton(AF_INET, host, &address) == 1
    let isLocal = host == "localhost" || host.hasSuffix(".localhost")
    return !isNumber && !isLocal && host.utf8.allSatisfy { $0 < 0x80 } && !hasProxy
  }

  /// The variables that libcurl reads; HTTP_PROXY in capitals is not one of them.
  private var hasProxy: Bool {
    let names = scheme == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
    return (names + ["all_proxy", "ALL_PROXY"]).contains { getenv($0).map { $0.pointee != 0 } ?? false }
  }
}
