import CJansson
import CKassa
import Glibc
import KassaClient
import KassaJSON
import KassaPlatform

@_cdecl("kassa_is_initialized") @implementation
public func kassa_is_initialized(_ handle: OpaquePointer?) -> Bool { client(handle)?.isInitialized ?? false }

@_cdecl("kassa_is_subscribed") @implementation
public func kassa_is_subscribed(_ handle: OpaquePointer?) -> Bool { ClientHandles.isSubscribed(handle) }

@_cdecl("kassa_has_access") @implementation @inline(__always)
public func kassa_has_access(_ handle: OpaquePointer?, _ productID: UnsafePointer<CChar>?) -> Bool {
  ClientHandles.hasAccess(handle, productID)
}

@_cdecl("kassa_has_perk") @implementation
public func kassa_has_perk(_ handle: OpaquePointer?, _ perk: UnsafePointer<CChar>?) -> Bool {
  ClientHandles.hasPerk(handle, perk)
}

@_cdecl("kassa_supports_external_purchases") @implementation
public func kassa_supports_external_purchases(_ handle: OpaquePointer?) -> Bool {
  client(handle)?.supportsExternalPurchases ?? false
}

@_cdecl("kassa_device_id") @implementation
public func kassa_device_id(_ handle: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
  client(handle).flatMap { strdup($0.deviceID) }
}

@_cdecl("kassa_app_user_id") @implementation
public func kassa_app_user_id(_ handle: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
  client(handle)?.appUserID.flatMap { strdup($0) }
}

@_cdecl("kassa_plans") @implementation
public func kassa_plans(_ handle: OpaquePointer?) -> UnsafeMutablePointer<json_t>? { client(handle)?.plans.copy() }

@_cdecl("kassa_memberships") @implementation
public func kassa_memberships(_ handle: OpaquePointer?) -> UnsafeMutablePointer<json_t>? {
  client(handle)?.memberships.copy()
}

@_cdecl("kassa_entitlements") @implementation
public func kassa_entitlements(_ handle: OpaquePointer?) -> UnsafeMutablePointer<json_t>? {
  client(handle)?.entitlements.copy()
}

@_cdecl("kassa_person") @implementation
public func kassa_person(_ handle: OpaquePointer?) -> UnsafeMutablePointer<json_t>? { client(handle)?.person.copy() }

@_cdecl("kassa_pending") @implementation
public func kassa_pending(_ handle: OpaquePointer?) -> UnsafeMutablePointer<json_t>? {
  client(handle)?.pending?.copy()
}

@_cdecl("kassa_explain") @implementation
public func kassa_explain(
  _ handle: OpaquePointer?, _ productID: UnsafePointer<CChar>?
) -> UnsafeMutablePointer<json_t>? {
  guard let productID = text(productID) else { return nil }
  return client(handle)?.explain(productID).copy()
}

@_cdecl("kassa_revision") @implementation
public func kassa_revision(_ handle: OpaquePointer?) -> UInt64 { client(handle)?.revision ?? 0 }
