import CJansson
import CKassa
import KassaClient
import KassaCore
import KassaJSON
import KassaPlatform

@_cdecl("kassa_open") @implementation
public func kassa_open(
  _ options: UnsafePointer<json_t>?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<json_t>?>?
) -> OpaquePointer? {
  error?.pointee = nil
  do throws(KassaError) {
    return try open(JSON(copying: options))
  } catch let problem {
    report(problem, to: error)
    return nil
  }
}

private func open(_ options: JSON?) throws(KassaError) -> OpaquePointer {
  let client = try Client(try ClientOptions(options), assembly: assemble)
  guard let handle = ClientHandles.insert(client, answers: client.answers) else {
    client.close()
    throw KassaError(.internalError, "too many clients are open")
  }
  return handle
}

/// The handle of the process-wide client, as a number; 0 for none.
private let shared = ProcessWide(zeroed: Int.self)

@_cdecl("kassa_shared") @implementation
public func kassa_shared() -> OpaquePointer? {
  shared.with { number -> OpaquePointer? in
    if let handle = OpaquePointer(bitPattern: number), client(handle) != nil { return handle }
    let handle = try? open(nil)
    number = Int(bitPattern: handle)
    return handle
  } ?? nil
}

@_cdecl("kassa_close") @implementation
public func kassa_close(_ handle: OpaquePointer?) {
  guard let handle, let client = ClientHandles.remove(handle) as? Client else { return }
  client.close()
}

/// The client behind a handle; nil for NULL, a closed one, an invented one, and one inherited through fork.
func client(_ handle: OpaquePointer?) -> Client? {
  guard let handle else { return nil }
  return ClientHandles.client(handle) as? Client
}

/// C text as a string; nil for NULL and for what is not UTF-8.
func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.flatMap { String(validatingCString: $0) } }
