/// One request to a service, before any transport.
public struct HTTPRequest: Sendable {
  public var method: String
  /// An absolute URL, or `embedded:` and a path for the sandbox in this process.
  public var url: String
  public var headers: [HTTPHeader]
  public var body: [UInt8]

  public init(_ method: String, _ url: String, headers: [HTTPHeader] = [], body: [UInt8] = []) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

public struct HTTPHeader: Sendable, Equatable {
  public var name: String
  public var value: String
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether it has that name, in whatever case (RFC 9110, section 5.1).
  public func isNamed(_ other: String) -> Bool {
    func folded(_ byte: UInt8) -> UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte }
    return name.utf8.count == other.utf8.count && zip(name.utf8, other.utf8).allSatisfy { folded($0) == folded($1) }
  }
}

public struct HTTPResponse: Sendable {
  public var status: Int
  public var headers: [HTTPHeader]
  public var body: [UInt8]
  /// When the service answered, by its own `Date`, in milliseconds since 1970 UTC.
  public var date: Int64?

  public init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = [], date: Int64? = nil) {
    self.status = status
    self.headers = headers
    self.body = body
    self.date = date
  }

  /// The first header of that name, whatever its case.
  public func header(_ name: String) -> String? {
    headers.first { $0.isNamed(name) }?.value
  }
}

/// Why there is no response at all.
public enum TransportError: Error, Sendable, Equatable {
  /// The task that waited was cancelled.
  case cancelled
  /// No connection: name not found, refused, unreachable, reset. The text is for people.
  case offline(String)
  case timedOut
  /// The certificate or the TLS handshake was refused.
  case insecure(String)
  /// Longer than the limit, a lying length, or a broken encoding: the peer speaks, but not HTTP we accept.
  case malformed(String)
  /// libcurl could not be loaded.
  case unavailable(String)
}

/// What carries a request to a service: libcurl, or the sandbox in this process.
public protocol HTTPTransport: Sendable {
  /// One attempt, without retries. Redirects are answers, not followed.
  func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse

  /// Makes a request ready, which is sent when the result is called, once: a queue makes the next one ready while one is
  /// under way.
  func prepare(_ request: HTTPRequest) -> PreparedRequest

  /// Milliseconds since 1970 UTC of a date in one of HTTP's three forms (RFC 9110, section 5.6.7).
  func milliseconds(ofHTTPDate text: String) -> Int64?
}

public typealias PreparedRequest = () async throws(TransportError) -> HTTPResponse

extension HTTPTransport {
  public func prepare(_ request: HTTPRequest) -> PreparedRequest {
    { () async throws(TransportError) in try await self.send(request) }
  }
}
