import KassaCore
import KassaJSON
import KassaPlatform

/// The user's own browser shows the checkout, and comes back to a listener on this machine (RFC 8252, section 7.3):
/// bound to the loopback address, open while the checkout is, good for one return that carries a random state.
public struct BrowserPresenter: CheckoutPresenter {
  private let loop: EventLoop
  private let time: any TimeSource
  private let random: any RandomSource
  private let timeoutSeconds: Int64
  private let returnURL: String?
  private let open: @Sendable (String) -> Bool
  /// Serves what is not the return: the checkout page of the sandbox in this process.
  private let page: (@Sendable (HTTPRequest) async -> HTTPServerAnswer)?

  public init(
    loop: EventLoop, time: any TimeSource, random: any RandomSource, timeoutSeconds: Int64, returnURL: String?,
    open: @escaping @Sendable (String) -> Bool, page: (@Sendable (HTTPRequest) async -> HTTPServerAnswer)? = nil
  ) {
    self.loop = loop
    self.time = time
    self.random = random
    self.timeoutSeconds = timeoutSeconds
    self.returnURL = returnURL
    self.open = open
    self.page = page
  }

  public var offersApplePay: Bool { false }

  public func open(_ url: String) async throws(KassaError) {
    guard open(url) else { throw KassaError(.checkoutFailed, "no browser could be started to show the page") }
  }

  public func prepare() async throws(KassaError) -> any PreparedCheckout {
    let listener = ReturnListener(state: random.uuid(), page: page)
    do throws(PlatformError) {
      try listener.start(on: loop)
    } catch {
      // Without a way back the purchase still works: the service is asked every few seconds.
      if page != nil { throw KassaError(.checkoutFailed, "the checkout page cannot be served: \(error)") }
    }
    return BrowserCheckout(
      listener: listener, returnURL: returnURL ?? listener.returnURL, timeoutSeconds: timeoutSeconds, time: time,
      open: open)
  }
}

private final class BrowserCheckout: PreparedCheckout {
  let returnURL: String?
  private let listener: ReturnListener
  private let timeoutSeconds: Int64
  private let time: any TimeSource
  private let open: @Sendable (String) -> Bool

  init(
    listener: ReturnListener, returnURL: String?, timeoutSeconds: Int64, time: any TimeSource,
    open: @escaping @Sendable (String) -> Bool
  ) {
    self.listener = listener
    self.returnURL = returnURL
    self.timeoutSeconds = timeoutSeconds
    self.time = time
    self.open = open
  }

  deinit { listener.stop() }

  func present(_ checkout: Checkout, of attempt: PurchaseAttempt) async throws(KassaError) -> CheckoutEnding {
    defer { listener.stop() }
    let url = listener.reachable(checkout.url)
    guard open(url) else {
      throw KassaError(
        .checkoutFailed,
        "no browser could be opened; show this address to the user, or use the \"host\" presenter: \(url)")
    }
    let time = self.time, milliseconds = timeoutSeconds * 1_000, listener = self.listener
    return await withTaskGroup(of: CheckoutEnding?.self) { group in
      group.addTask { await listener.returned().map { .returned(url: $0) } }
      group.addTask {
        do throws(CancellationError) { try await time.sleep(milliseconds: milliseconds) } catch { return nil }
        return .cancelled
      }
      defer { group.cancelAll() }
      // Nothing: this task was cancelled, and whoever did that knows what it means.
      let first: CheckoutEnding?? = await group.next()
      return (first ?? nil) ?? .cancelled
    }
  }
}
