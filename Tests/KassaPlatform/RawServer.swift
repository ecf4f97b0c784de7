import Foundation
import KassaPlatform

/// A server that says what a test wants, byte by byte, to each connection in turn.
final class RawServer: @unchecked Sendable {
  let port: UInt16
  private let listener: Int32
  private let connections = Locked(0)

  init(_ serve: @escaping @Sendable (Connection) -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) | listen(listener, 64) | getsockname(listener, address, &length)
      }
    }
    guard code == 0 else { throw PlatformError("no listener") }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [connections] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else {
          close(listener)
          return
        }
        connections.with { $0 += 1 }
        Thread.detachNewThread {
          serve(Connection(descriptor: descriptor))
          close(descriptor)
        }
      }
    }
  }

  /// A server that reads one request and gives these bytes.
  convenience init(answer: String) throws {
    try self.init { connection in
      _ = connection.readRequest()
      connection.write(answer)
    }
  }

  deinit {
    // Ends the accept, and with it the thread, which closes.
    shutdown(listener, Int32(SHUT_RDWR))
  }

  var url: String { "http://127.0.0.1:\(port)/" }
  var connectionCount: Int { connections.with { $0 } }

  struct Connection: Sendable {
    let descriptor: Int32

    /// Head and body of one request; nil at the end of the connection.
    func readRequest() -> String? {
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let text = String(decoding: bytes, as: UTF8.self)
        if let end = text.range(of: "\r\n\r\n") {
          let length = text.range(of: "(?i)content-length: ", options: .regularExpression).flatMap {
            Int(text[$0.upperBound...].prefix { $0.isNumber })
          }
          if text[end.upperBound...].utf8.count >= length ?? 0 { return text }
        }
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return nil }
        bytes += buffer.prefix(count)
      }
    }

    /// False once the peer is gone.
    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    /// Waits until the peer closes.
    func waitForEnd() {
      var byte: UInt8 = 0
      while read(descriptor, &byte, 1) > 0 {}
    }

    /// Makes the close a reset.
    func prepareReset() {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
  }
}
