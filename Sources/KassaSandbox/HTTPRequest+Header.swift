import KassaCore

extension HTTPRequest {
  /// The first header of that name, whatever its case.
  func header(_ name: String) -> String? {
    headers.first { $0.isNamed(name) }?.value
  }
}
