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
