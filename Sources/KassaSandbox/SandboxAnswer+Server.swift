import KassaCore
import KassaPlatform

extension SandboxAnswer {
  /// The same for a server, after its delay.
  public func served(by time: any TimeSource) async -> HTTPServerAnswer {
    switch self {
    case .response(let response): return .response(response)
    case .reset: return .reset
    case .slow(let response, let bytesPerSecond): return .slow(response, bytesPerSecond: bytesPerSecond)
    case .delayed(let response, let milliseconds):
      // A server that stops answers at once.
      try? await time.sleep(milliseconds: milliseconds)
      return .response(response)
    }
  }
}
