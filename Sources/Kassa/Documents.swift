import CJansson
import CKassa
import KassaCore
import KassaJSON

@_cdecl("kassa_json_parse") @implementation
public func kassa_json_parse(
  _ text: UnsafePointer<CChar>?, _ length: Int, _ error: UnsafeMutablePointer<UnsafeMutablePointer<json_t>?>?
) -> UnsafeMutablePointer<json_t>? {
  error?.pointee = nil
  guard let text, length >= 0 else {
    report(KassaError(.invalidArgument, "text must not be NULL"), to: error)
    return nil
  }
  do throws(JSONSyntaxError) {
    return try JSON.parse(UnsafeRawBufferPointer(start: text, count: length)).copy()
  } catch let problem {
    report(
      KassaError(
        .invalidArgument, "not JSON: \(problem.message), line \(problem.line), column \(problem.column)"), to: error)
    return nil
  }
}

@_cdecl("kassa_json_dump") @implementation
public func kassa_json_dump(_ document: UnsafePointer<json_t>?) -> UnsafeMutablePointer<CChar>? {
  JSON(viewing: document)?.cText()
}

@_cdecl("kassa_json_release") @implementation
public func kassa_json_release(_ document: UnsafeMutablePointer<json_t>?) { json_decref(document) }

/// Hands out an error document where the caller wants one.
func report(_ error: KassaError, to place: UnsafeMutablePointer<UnsafeMutablePointer<json_t>?>?) {
  place?.pointee = error.document.copy()
}
