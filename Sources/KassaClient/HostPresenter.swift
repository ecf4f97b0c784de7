import KassaCore
import KassaJSON

/// The host shows the checkout, in a web view or however it likes (`"presenter":"host"`).
struct HostPresenter: CheckoutPresenter {
  let requests: HostRequests
  let returnURL: String?

  func prepare() async throws(KassaError) -> any PreparedCheckout {
    HostCheckout(requests: requests, returnURL: returnURL)
  }
}

private final class HostCheckout: PreparedCheckout {
  let returnURL: String?
  private let requests: HostRequests

  init(requests: HostRequests, returnURL: String?) {
    self.requests = requests
    self.returnURL = returnURL
  }

  func present(_ checkout: Checkout, of attempt: PurchaseAttempt) async throws(KassaError) -> CheckoutEnding {
    let reply = try await requests.ask(
      "checkout", "present",
      [
        "url": JSON(checkout.url), "plan_id": JSON(attempt.planID), "nonce": JSON(attempt.nonce),
        "return_url": JSON(checkout.returnURL),
      ])
    if let message = reply.hostError { throw KassaError(.checkoutFailed, message) }
    switch reply["outcome"]?.string {
    case "returned": return .returned(url: reply["url"]?.string)
    case "cancelled": return .cancelled
    case "failed": return .failed(message: reply["message"]?.string ?? "the host's checkout failed")
    case let word:
      throw KassaError(
        .checkoutFailed,
        "the host's reply to checkout/present has the outcome \"\((word ?? "").quoted)\"; "
          + "it must be \"returned\", \"cancelled\" or \"failed\"")
    }
  }
}
