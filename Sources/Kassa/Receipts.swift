import CJansson
import CKassa
import KassaJSON
import KassaReceipts

@_cdecl("kassa_verify") @implementation
public func kassa_verify(_ request: UnsafePointer<json_t>?) -> UnsafeMutablePointer<json_t>? {
  guard let request = JSON(viewing: request), request.isObject else { return nil }
  return Verification.document(for: request).handOver()
}
