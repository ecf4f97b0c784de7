import KassaCore
import KassaJSON

/// The sandbox in this process, in the place of an address.
let embeddedService = "embedded:"

extension Fields {
  /// The address of a service without slashes at its end: https, or http to this machine, or `embedded:`.
  func serviceURL(_ key: String, default standard: String) throws(JSONShapeError) -> String {
    guard let url = try optionalString(key) else { return standard }
    if url == embeddedService { return url }
    guard let origin = URLText.Origin(url), url.utf8.count <= 2_048, !url.contains("?"), !url.contains("#") else {
      throw JSONShapeError(
        path: place(of: key),
        problem: "must be an https URL without user, query and fragment, or \"embedded:\" (got \"\(url.quoted)\")")
    }
    guard origin.scheme == "https" || (origin.scheme == "http" && origin.isLoopback) else {
      throw JSONShapeError(
        path: place(of: key),
        problem: "must use https; http is allowed for loopback addresses only (got \"\(url.quoted)\")"
      )
    }
    var trimmed = Substring(url)
    while trimmed.hasSuffix("/") { trimmed = trimmed.dropLast() }
    return String(trimmed)
  }

  /// The sandbox's catalogue or the path of a file with it, which needs the sandbox in this process.
  func catalogue(_ key: String, for url: String) throws(JSONShapeError) -> JSON? {
    guard has(key), let catalogue = json[key] else { return nil }
    guard url == embeddedService, catalogue.isObject || catalogue.string != nil else {
      throw JSONShapeError(
        path: place(of: key),
        problem: "must be an object or a file's path, and needs \"base_url\":\"embedded:\" (got \(catalogue.kind))")
    }
    return catalogue
  }
}
