import CAres
import CLinux
import Glibc
import KassaCore

/// Names looked up by c-ares on the loop: libcurl would start a thread for each, and wait for it when a transfer is
/// cancelled. One resolver for each loop, used on the loop only.
final class Resolver: @unchecked Sendable {
  private struct Answer {
    var addresses: [String]
    var end: Int64
  }

  /// As long as libcurl keeps names.
  private static let keepNanoseconds: Int64 = 60_000_000_000
  private static let maximumAnswers = 256
  private static let isPrepared = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS

  private let loop: EventLoop
  private var answers: [String: Answer] = [:]
  private var lookups: [ObjectIdentifier: Lookup] = [:]
  private var isClosed = false

  static func shared(on loop: EventLoop) -> Resolver { loop.resident { Resolver(loop: loop) } }

  private init(loop: EventLoop) {
    self.loop = loop
    loop.atStop { [self] in
      isClosed = true
      for lookup in lookups.values { lookup.cancel() }
    }
  }

  /// Ends `pending` with the addresses in the order in which to try them, IPv6 in brackets; with none if c-ares does
  /// not know the name: it reads the hosts file and asks name servers, but the system may have other sources.
  func lookUp(_ host: String, _ pending: Pending<[String]>) {
    let now = kassa_boot_nanoseconds()
    if let answer = answers[host], answer.end > now { return pending.end(.success(answer.addresses)) }
    guard !isClosed else { return pending.end(.failure(.cancelled)) }
    guard Self.isPrepared, let lookup = Lookup(loop: loop, pending) else { return pending.end(.success([])) }
    let key = ObjectIdentifier(lookup)
    lookups[key] = lookup
    pending.onEnd { [self] in
      lookups[key] = nil
      lookup.close()
    }
    lookup.start(host) { [self] addresses in
      if answers.count >= Self.maximumAnswers { answers = [:] }
      answers[host] = Answer(addresses: addresses, end: now.adding(Self.keepNanoseconds))
    }
  }
}

/// One look-up. It has a c-ares channel of its own, so that it can be given up alone, and so that name servers are read
/// anew from the system's configuration, which changes as a laptop moves.
private final class Lookup: @unchecked Sendable {
  private let loop: EventLoop
  private let pending: Pending<[String]>
  private var channel: ares_channel?
  private var descriptors: Set<Int32> = []
  private var timer: TimerID?
  private var keep: (([String]) -> Void)?

  init?(loop: EventLoop, _ pending: Pending<[String]>) {
    self.loop = loop
    self.pending = pending
    var options = ares_options()
    options.sock_state_cb_data = Unmanaged.passUnretained(self).toOpaque()
    options.sock_state_cb = { data, descriptor, isReadable, isWritable in
      guard let data else { return }
      Unmanaged<Lookup>.fromOpaque(data).takeUnretainedValue()
        .watch(descriptor, isReadable: isReadable != 0, isWritable: isWritable != 0)
    }
    guard ares_init_options(&channel, &options, ARES_OPT_SOCK_STATE_CB) == ARES_SUCCESS else { return nil }
  }

  func start(_ host: String, keep: @escaping ([String]) -> Void) {
    self.keep = keep
    var hints = ares_addrinfo_hints()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    // c-ares calls back exactly once, also when the channel is destroyed.
    ares_getaddrinfo(
      channel, host, nil, &hints,
      { data, status, _, result in
        guard let data else { return }
        Unmanaged<Lookup>.fromOpaque(data).takeRetainedValue().finish(status, result)
      }, Unmanaged.passRetained(self).toOpaque())
    arm()
  }

  func cancel() { pending.end(.failure(.cancelled)) }

  /// Gives up the channel, after the c-ares function that may be on the stack has returned.
  func close() {
    if let timer { loop.cancel(timer) }
    for descriptor in descriptors { loop.unwatch(descriptor) }
    (timer, descriptors, keep) = (nil, [], nil)
    loop.post { [self] in
      ares_destroy(channel)
      channel = nil
    }
  }

  private func finish(_ status: Int32, _ result: UnsafeMutablePointer<ares_addrinfo>?) {
    defer { ares_freeaddrinfo(result) }
    switch status {
    case ARES_SUCCESS:
      let addresses = Self.addresses(in: result)
      keep?(addresses)
      pending.end(.success(addresses))
    case ARES_ENOTFOUND, ARES_ENODATA, ARES_ENONAME, ARES_EBADNAME: pending.end(.success([]))
    case ARES_ETIMEOUT: pending.end(.failure(.timedOut))
    case ARES_ECANCELLED, ARES_EDESTRUCTION: cancel()
    default: pending.end(.failure(.offline("name look-up: \(String(cString: ares_strerror(status)))")))
    }
  }

  private static func addresses(in result: UnsafeMutablePointer<ares_addrinfo>?) -> [String] {
    var addresses: [String] = []
    var next = result?.pointee.nodes
    while let node = next?.pointee {
      next = node.ai_next
      let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer -> String? in
        guard let start = buffer.baseAddress,
          getnameinfo(node.ai_addr, node.ai_addrlen, start, socklen_t(NI_MAXHOST), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        return String(cString: start)
      }
      if let text { addresses.append(node.ai_family == AF_INET6 ? "[\(text)]" : text) }
    }
    return addresses
  }

  private func watch(_ descriptor: Int32, isReadable: Bool, isWritable: Bool) {
    var events: EventLoop.Readiness = []
    if isReadable { events.insert(.readable) }
    if isWritable { events.insert(.writable) }
    guard !events.isEmpty else {
      descriptors.remove(descriptor)
      return loop.unwatch(descriptor)
    }
    descriptors.insert(descriptor)
    loop.watch(descriptor, events: events) { [unowned self] ready in
      let bad = ares_socket_t(ARES_SOCKET_BAD)
      process(read: ready == .writable ? bad : descriptor, write: ready.contains(.writable) ? descriptor : bad)
    }
  }

  private func process(read: ares_socket_t, write: ares_socket_t) {
    guard let channel else { return }
    ares_process_fd(channel, read, write)
    arm()
  }

  /// Lets c-ares try again, or give up, when it wants to.
  private func arm() {
    if let timer { loop.cancel(timer) }
    timer = nil
    var wait = timeval()
    guard keep != nil, ares_timeout(channel, nil, &wait) != nil else { return }
    let nanoseconds = Int64(wait.tv_sec) * 1_000_000_000 + Int64(wait.tv_usec) * 1_000
    timer = loop.timer(atBootNanoseconds: kassa_boot_nanoseconds().adding(nanoseconds)) { [unowned self] in
      process(read: ares_socket_t(ARES_SOCKET_BAD), write: ares_socket_t(ARES_SOCKET_BAD))
    }
  }
}
