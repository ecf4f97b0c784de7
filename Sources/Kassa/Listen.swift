import CJansson
import CKassa
import KassaClient
import KassaCore
import KassaJSON
import KassaPlatform

@_cdecl("kassa_next_event") @implementation
public func kassa_next_event(_ handle: OpaquePointer?, _ timeoutMilliseconds: Int32) -> UnsafeMutablePointer<json_t>? {
  guard let client = client(handle) else { return forkedDiagnostic(handle)?.copy() }
  return client.nextEvent(timeoutMilliseconds: timeoutMilliseconds)?.copy()
}

/// In a child made by fork, said once: the client that was inherited does not work there.
private func forkedDiagnostic(_ handle: OpaquePointer?) -> JSON? {
  guard let handle, ClientHandles.isForked(handle), saidForked.with({ $0.set() }) ?? false else { return nil }
  return [
    "type": "diagnostic", "code": JSON(ErrorCode.forked.rawValue), "details": [:],
    "message": "this client belongs to the process that opened it; a child made by fork opens its own",
  ]
}

private let saidForked = ProcessWide(zeroed: Bool.self)

extension Bool {
  /// Turns it true; whether it was false.
  fileprivate mutating func set() -> Bool {
    defer { self = true }
    return !self
  }
}

@_cdecl("kassa_wait") @implementation
public func kassa_wait(
  _ handle: OpaquePointer?, _ op: kassa_op, _ timeoutMilliseconds: Int32
) -> UnsafeMutablePointer<json_t>? {
  client(handle)?.wait(op, timeoutMilliseconds: timeoutMilliseconds)?.copy()
}

@_cdecl("kassa_event_fd") @implementation
public func kassa_event_fd(_ handle: OpaquePointer?) -> Int32 { client(handle)?.eventDescriptor ?? -1 }

@_cdecl("kassa_set_wakeup") @implementation
public func kassa_set_wakeup(
  _ handle: OpaquePointer?, _ wakeup: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
  _ userdata: UnsafeMutableRawPointer?
) { client(handle)?.setWakeup(wakeup, userdata) }

@_cdecl("kassa_respond") @implementation
public func kassa_respond(_ handle: OpaquePointer?, _ requestID: UInt64, _ reply: UnsafePointer<json_t>?) -> Bool {
  guard let client = client(handle), let reply = object(reply) else { return false }
  return client.respond(requestID, reply)
}

@_cdecl("kassa_notify") @implementation
public func kassa_notify(_ handle: OpaquePointer?, _ event: UnsafePointer<json_t>?) -> Bool {
  guard let client = client(handle), let event = object(event) else { return false }
  return client.notify(event)
}
