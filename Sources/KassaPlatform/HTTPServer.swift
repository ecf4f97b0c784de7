import CLinux
import CMicrohttpd
import Glibc
import KassaCore

/// How a server's handler answers a request.
public enum HTTPServerAnswer: Sendable {
  case response(HTTPResponse)
  /// Resets the connection without an answer.
  case reset
  /// The same answer at a snail's pace.
  case slow(HTTPResponse, bytesPerSecond: Int)
}

/// An HTTP server on 127.0.0.1 that runs on the loop, without a thread of its own. It listens until `stop`, or until
/// the loop stops, whether or not anybody keeps it.
public final class HTTPServer: @unchecked Sendable {
  public typealias Handler = @Sendable (HTTPRequest) async -> HTTPServerAnswer

  /// Longer bodies are answered with 413.
  public static let maximumBodyBytes = 1 << 20
  private static let idleSeconds: UInt32 = 60
  /// How long answers that are under way may take after `stop`.
  private static let graceNanoseconds: Int64 = 1_000_000_000

  /// The servers of one loop, which keeps them alive and ends them.
  private final class Running {
    var servers: [ObjectIdentifier: HTTPServer] = [:]
    init(loop: EventLoop) {
      loop.atStop { [self] in
        for server in servers.values { server.end() }
      }
    }
  }

  public private(set) var port: UInt16 = 0
  let loop: EventLoop
  let mhd: kassa_mhd
  let handler: Handler

  // Used on the loop only.
  private var daemon: OpaquePointer?
  private var timer: TimerID?
  private var isStopping = false
  private var exchanges: [ObjectIdentifier: HTTPServerExchange] = [:]

  /// Listens on that port of 127.0.0.1; 0 takes a free one. From any thread. The handler runs on the loop; its
  /// `request.url` is path and query as they were sent. When the server ends or the client is found to be gone, the
  /// handler's task is cancelled.
  public init(loop: EventLoop, port: UInt16 = 0, handler: @escaping Handler) throws(PlatformError) {
    var reason: UnsafePointer<CChar>?
    guard let mhd = kassa_mhd_load(&reason)?.pointee else {
      throw PlatformError(reason.map { String(cString: $0) } ?? "libmicrohttpd cannot be opened")
    }
    (self.loop, self.mhd, self.handler) = (loop, mhd, handler)
    // On the loop, so that a port which was freed there just before is free.
    let failure = loop.sync { start(port) }
    if let failure { throw failure }
  }

  private func start(_ wantedPort: UInt16) -> PlatformError? {
    let daemon = kassa_mhd_start(
      wantedPort, Self.idleSeconds,
      { data, url, connection in
        guard let data else { return nil }
        return Unmanaged<HTTPServer>.fromOpaque(data).takeUnretainedValue().begin(url, connection)
      },
      { _, connection, _, method, _, upload, count, context in
        guard let method, let count, let context = context?.pointee else { return .NO }
        let exchange = Unmanaged<HTTPServerExchange>.fromOpaque(context).takeUnretainedValue()
        let received = UnsafeRawBufferPointer(start: upload, count: upload == nil ? 0 : count.pointee)
        count.pointee = 0
        return exchange.proceed(method, received)
      },
      { _, _, context, _ in
        guard let context = context?.pointee else { return }
        Unmanaged<HTTPServerExchange>.fromOpaque(context).takeUnretainedValue().finish()
      },
      Unmanaged.passUnretained(self).toOpaque())
    guard let daemon else { return PlatformError.call("listening on 127.0.0.1:\(wantedPort)") }
    self.daemon = daemon
    port = kassa_mhd_port(daemon)
    loop.resident { Running(loop: loop) }.servers[ObjectIdentifier(self)] = self
    loop.watch(kassa_mhd_epoll(daemon), events: .readable) { [unowned self] _ in run() }
    return nil
  }

  /// Frees the port, and closes the connections as soon as the answers that are under way are sent, after a second at
  /// the latest. From any thread; does not wait.
  public func stop() {
    if loop.isCurrent { beginStop() } else { loop.post { [self] in beginStop() } }
  }

  private func beginStop() {
    guard let daemon, !isStopping else { return }
    isStopping = true
    // Now it is ours to close.
    close(mhd.quiesce_daemon(daemon))
    guard !exchanges.isEmpty else { return end() }
    _ = loop.timer(atBootNanoseconds: kassa_boot_nanoseconds().adding(Self.graceNanoseconds)) { [self] in end() }
  }

  private func end() {
    guard let daemon else { return }
    self.daemon = nil
    if let timer { loop.cancel(timer) }
    loop.unwatch(kassa_mhd_epoll(daemon))
    // libmicrohttpd must not end while it has suspended connections.
    for exchange in exchanges.values { exchange.resume() }
    mhd.stop_daemon(daemon)
    loop.resident { Running(loop: loop) }.servers[ObjectIdentifier(self)] = nil
  }

  /// Lets libmicrohttpd do what is due. Never called from inside it.
  func run() {
    guard let daemon else { return }
    _ = mhd.run(daemon)
    if isStopping, exchanges.isEmpty { return end() }
    if let timer { loop.cancel(timer) }
    timer = nil
    var milliseconds: UInt64 = 0
    guard mhd.get_timeout(daemon, &milliseconds) == .YES else { return }
    let wait = Int64(clamping: milliseconds).multiplied(by: 1_000_000)
    timer = loop.timer(atBootNanoseconds: kassa_boot_nanoseconds().adding(wait)) { [unowned self] in run() }
  }

  private func begin(_ url: UnsafePointer<CChar>, _ connection: OpaquePointer) -> UnsafeMutableRawPointer {
    let exchange = HTTPServerExchange(self, connection, url: String(cString: url))
    exchanges[ObjectIdentifier(exchange)] = exchange
    return Unmanaged.passUnretained(exchange).toOpaque()
  }

  func forget(_ exchange: HTTPServerExchange) { exchanges[ObjectIdentifier(exchange)] = nil }
}
