import Glibc

/// What the process was given by its user. Read once where it is needed; never changed.
public enum ProcessEnvironment {
  public static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// The locale for prices, as POSIX chooses it; `en-US` where it says nothing.
  public static var locale: String {
    let chosen = ["LC_ALL", "LC_MONETARY", "LANG"].lazy.compactMap { value($0) }.first { !$0.isEmpty } ?? ""
    let name = chosen.prefix { $0 != "." && $0 != "@" }
    return ["", "C", "POSIX"].contains(name) ? "en-US" : String(name)
  }
}

/// The bytes of a file; nil if it cannot be read or is longer than the limit.
public func readFile(_ path: String, limit: Int) -> [UInt8]? {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0, errno == EINTR { continue }
    guard count >= 0, bytes.count + count <= limit else { return nil }
    if count == 0 { return bytes }
    bytes += buffer.prefix(count)
  }
}
