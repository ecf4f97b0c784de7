import CCurl
import CLinux
import KassaCore

/// The connections of one loop: a libcurl multi handle whose sockets and timer are the loop's. Used on the loop only.
///
/// The handle keeps a socket pair that is not close-on-exec, and libcurl has no way to name it; hence one for each loop.
final class CurlConnections: @unchecked Sendable {
  private let curl: kassa_curl
  private let loop: EventLoop
  private let multi: UnsafeMutableRawPointer
  let handles: EasyHandles
  private var transfers: [UnsafeMutableRawPointer: CurlTransfer] = [:]
  private var timer: TimerID?
  /// libcurl wants to be called as soon as it has returned.
  private var isDue = false
  private var isClosed = false

  static func shared(on loop: EventLoop, _ curl: kassa_curl) throws(TransportError) -> CurlConnections {
    try loop.resident { () throws(TransportError) in try CurlConnections(loop: loop, curl) }
  }

  private init(loop: EventLoop, _ curl: kassa_curl) throws(TransportError) {
    guard let multi = curl.multi_init() else { throw .unavailable("libcurl is out of memory") }
    (self.loop, self.curl, self.multi) = (loop, curl, multi)
    handles = EasyHandles(curl)
    let this = Unmanaged.passUnretained(self).toOpaque()
    kassa_curl_multi_on_socket(
      multi,
      { _, socket, what, data, _ in
        if let data { Unmanaged<CurlConnections>.fromOpaque(data).takeUnretainedValue().watch(socket, what) }
        return 0
      }, this)
    kassa_curl_multi_on_timer(
      multi,
      { _, milliseconds, data in
        if let data { Unmanaged<CurlConnections>.fromOpaque(data).takeUnretainedValue().arm(milliseconds) }
        return 0
      }, this)
    loop.atStop { [self] in close() }
  }

  func start(_ transfer: CurlTransfer) throws(TransportError) {
    guard !isClosed else { throw .cancelled }
    guard curl.multi_add_handle(multi, transfer.easy) == CURLM_OK else {
      throw .unavailable("libcurl is out of memory")
    }
    transfers[transfer.easy] = transfer
    transfer.pending?.onEnd { [self] in
      _ = curl.multi_remove_handle(multi, transfer.easy)
      transfers[transfer.easy] = nil
    }
    // What libcurl wants to do at once needs no round of the loop.
    if isDue { actNow() }
  }

  private func close() {
    isClosed = true
    for transfer in transfers.values { transfer.pending?.end(.failure(.cancelled)) }
    handles.clear()
    _ = curl.multi_cleanup(multi)
  }

  private func watch(_ socket: Int32, _ what: Int32) {
    var events: EventLoop.Readiness = []
    if what == CURL_POLL_IN || what == CURL_POLL_INOUT { events.insert(.readable) }
    if what == CURL_POLL_OUT || what == CURL_POLL_INOUT { events.insert(.writable) }
    guard !events.isEmpty else { return loop.unwatch(socket) }
    loop.watch(socket, events: events) { [unowned self] ready in
      var mask: Int32 = 0
      if ready.contains(.readable) { mask |= CURL_CSELECT_IN }
      if ready.contains(.writable) { mask |= CURL_CSELECT_OUT }
      if !ready.isDisjoint(with: .broken) { mask |= CURL_CSELECT_ERR }
      act(on: socket, mask)
    }
  }

  /// libcurl may ask for 0 ms in the middle of its work, and must not be called from here.
  private func arm(_ milliseconds: Int) {
    if let timer { loop.cancel(timer) }
    timer = nil
    guard milliseconds != 0 else { return actSoon() }
    isDue = false
    guard milliseconds > 0 else { return }
    let time = kassa_boot_nanoseconds().adding(Int64(milliseconds).multiplied(by: 1_000_000))
    timer = loop.timer(atBootNanoseconds: time) { [unowned self] in
      timer = nil
      act(on: CURL_SOCKET_BAD, 0)
    }
  }

  private func actSoon() {
    guard !isDue else { return }
    isDue = true
    loop.post { [weak self] in self?.actNow() }
  }

  private func actNow() {
    guard isDue, !isClosed else { return }
    isDue = false
    act(on: CURL_SOCKET_BAD, 0)
  }

  private func act(on socket: Int32, _ mask: Int32) {
    var running: Int32 = 0
    _ = curl.multi_socket_action(multi, socket, mask, &running)
    var ended: [(CurlTransfer, CURLcode)] = []
    var left: Int32 = 0
    while let message = curl.multi_info_read(multi, &left)?.pointee {
      guard message.msg == CURLMSG_DONE, let easy = message.easy_handle, let transfer = transfers[easy] else {
        continue
      }
      ended.append((transfer, message.data.result))
    }
    for (transfer, code) in ended { transfer.finish(code) }
  }
}
