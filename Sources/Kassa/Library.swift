import CKassa
import Glibc

/// The version of the library; `Makefile` and packages read it from here.
let version = "0.1.0"

/// The same as static C text.
private nonisolated(unsafe) let versionText = UnsafePointer(strdup(version))

@_cdecl("kassa_version") @implementation
public func kassa_version() -> UnsafePointer<CChar>? { versionText }

@_cdecl("kassa_free") @implementation
public func kassa_free(_ pointer: UnsafeMutableRawPointer?) { free(pointer) }
