import KassaJSON

struct UsageError: Error { var text: String }

/// What the command line says.
struct Options {
  /// 0: any free one.
  var port: UInt16 = 0
  var catalogue: String?
  var state = ":memory:"
  var seed: UInt64?
  var isQuiet = false
  var wantsHelp = false

  static let usage = """
    usage: kassa-sandbox [--port N] [--catalogue FILE] [--state FILE] [--seed N] [--quiet]

    A local service that speaks Whop's wire format, with a checkout page, and Voidhash's: for programs under test.

      --port N          listen on 127.0.0.1:N; without it, on a free port
      --catalogue FILE  what it sells, as JSON (docs/sandbox.md); without it, a built-in catalogue
      --state FILE      remember in this file; without it, in memory
      --seed N          make the same ids in every run
      --quiet           do not write a line to standard error for each request
    """

  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      // `--name value` and `--name=value`
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts.first ?? ""
      func value() throws(UsageError) -> String {
        guard let value = parts.count > 1 ? parts.last : rest.popFirst() else {
          throw UsageError(text: "\(name) needs a value")
        }
        return value
      }
      switch name {
      case "--port": port = try number(value(), for: name)
      case "--catalogue": catalogue = try value()
      case "--state": state = try value()
      case "--seed": seed = try number(value(), for: name)
      case "--quiet": isQuiet = true
      case "--help", "-h": wantsHelp = true
      default:
        let names = ["--port", "--catalogue", "--state", "--seed", "--quiet", "--help"]
        let hint = nearest(to: name, in: names).map { "; did you mean \($0)?" } ?? ""
        throw UsageError(text: "unknown option \(name)\(hint)")
      }
    }
  }
}

private func number<Number: FixedWidthInteger>(_ text: String, for name: String) throws(UsageError) -> Number {
  guard let number = Number(text) else {
    throw UsageError(text: "\(name) must be a whole number from 0 to \(Number.max)")
  }
  return number
}
