import KassaCore

extension HTTPRequest {
  /// The first header of that name, whatever its case.
  func header(_ name: String) -> String? {
    let name = name.lowercased()
    return headers.first { $0.name.lowercased() == name }?.value
  }
}
