import KassaCore

/// Why signed data was not believed: one code for each rule, and words for people.
public struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
  public var reason: String
  public var message: String
  public init(_ reason: String, _ message: String) {
    self.reason = reason
    self.message = message
  }
  public var description: String { message }
}
