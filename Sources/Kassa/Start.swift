import CJansson
import CKassa
import KassaClient
import KassaJSON

@_cdecl("kassa_configure") @implementation
public func kassa_configure(_ handle: OpaquePointer?, _ config: UnsafePointer<json_t>?) -> kassa_op {
  guard let client = client(handle), let config = object(config) else { return 0 }
  return client.configure(config)
}

@_cdecl("kassa_refresh_plans") @implementation
public func kassa_refresh_plans(_ handle: OpaquePointer?) -> kassa_op { client(handle)?.refreshPlans() ?? 0 }

@_cdecl("kassa_get_products") @implementation
public func kassa_get_products(_ handle: OpaquePointer?, _ slugs: UnsafePointer<json_t>?) -> kassa_op {
  guard let client = client(handle) else { return 0 }
  guard slugs != nil else { return client.products(nil) }
  guard let slugs = JSON(copying: slugs), slugs.isArray else { return 0 }
  let words = slugs.elements.compactMap(\.string)
  return words.count == slugs.elements.count ? client.products(words) : 0
}

@_cdecl("kassa_purchase") @implementation
public func kassa_purchase(
  _ handle: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ options: UnsafePointer<json_t>?
) -> kassa_op {
  guard let client = client(handle), let name = text(name), let options = optionalObject(options) else { return 0 }
  return client.purchase(name, options)
}

@_cdecl("kassa_log_in") @implementation
public func kassa_log_in(
  _ handle: OpaquePointer?, _ appUserID: UnsafePointer<CChar>?, _ attributes: UnsafePointer<json_t>?
) -> kassa_op {
  guard let client = client(handle), let appUserID = text(appUserID), let attributes = optionalObject(attributes) else {
    return 0
  }
  return client.logIn(appUserID, attributes)
}

@_cdecl("kassa_set_attributes") @implementation
public func kassa_set_attributes(
  _ handle: OpaquePointer?, _ set: UnsafePointer<json_t>?, _ setOnce: UnsafePointer<json_t>?
) -> kassa_op {
  guard let client = client(handle), let set = optionalObject(set), let setOnce = optionalObject(setOnce) else {
    return 0
  }
  return client.setAttributes(set, setOnce)
}

@_cdecl("kassa_log_out") @implementation
public func kassa_log_out(_ handle: OpaquePointer?) { client(handle)?.logOut() }

@_cdecl("kassa_restore_purchases") @implementation
public func kassa_restore_purchases(_ handle: OpaquePointer?) -> kassa_op { client(handle)?.restorePurchases() ?? 0 }

@_cdecl("kassa_report_transaction") @implementation
public func kassa_report_transaction(_ handle: OpaquePointer?, _ transaction: UnsafePointer<json_t>?) -> kassa_op {
  guard let client = client(handle), let transaction = JSON(copying: transaction),
    transaction.isObject || transaction.string != nil
  else { return 0 }
  return client.report(transaction: transaction)
}

@_cdecl("kassa_sync_purchases") @implementation
public func kassa_sync_purchases(_ handle: OpaquePointer?) -> kassa_op { client(handle)?.syncPurchases() ?? 0 }

@_cdecl("kassa_sync_pending_work") @implementation
public func kassa_sync_pending_work(_ handle: OpaquePointer?) -> kassa_op { client(handle)?.syncPendingWork() ?? 0 }

@_cdecl("kassa_store_call") @implementation
public func kassa_store_call(
  _ handle: OpaquePointer?, _ method: UnsafePointer<CChar>?, _ params: UnsafePointer<json_t>?
) -> kassa_op {
  guard let client = client(handle), let method = text(method), let params = optionalObject(params) else { return 0 }
  return client.storeCall(method, params)
}

@_cdecl("kassa_simulate") @implementation
public func kassa_simulate(_ handle: OpaquePointer?, _ action: UnsafePointer<json_t>?) -> kassa_op {
  guard let client = client(handle), let action = object(action) else { return 0 }
  return client.simulate(action)
}

@_cdecl("kassa_cancel") @implementation
public func kassa_cancel(_ handle: OpaquePointer?, _ op: kassa_op) -> Bool { client(handle)?.cancel(op) ?? false }

/// The host's document, copied; nil unless it is an object.
func object(_ document: UnsafePointer<json_t>?) -> JSON? {
  guard let json = JSON(copying: document), json.isObject else { return nil }
  return json
}

/// The same where NULL stands for an empty object.
private func optionalObject(_ document: UnsafePointer<json_t>?) -> JSON? {
  document == nil ? [:] : object(document)
}
