import KassaCore
public enum HTTPServerAnswer: Sendable { case response(HTTPResponse), reset, slow(HTTPResponse, bytesPerSecond: Int) }
public final class HTTPServer: Sendable {
  public let port: UInt16
  public init(loop: EventLoop, port: UInt16 = 0, handler: @escaping @Sendable (HTTPRequest) async -> HTTPServerAnswer) throws(PlatformError) { throw PlatformError("stub") }
  public func stop() {}
}
