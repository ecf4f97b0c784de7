import KassaCore
import KassaJSON

/// The host shows the checkout, in a web view or however it likes (`"presenter":"host"`).
struct HostPresenter: CheckoutPresenter {
  let requests: HostRequests
  let returnURL: String?
  let timeoutSeconds: Int64

  var offersApplePay: Bool { true }

  func open(_ url: String) async throws(KassaError) {
    let reply = try await requests.ask("checkout", "open", ["url": JSON(url)])
    if let message = reply.hostError { throw KassaError(.checkoutFailed, message) }
  }

  func prepare() async throws(KassaError) -> any PreparedCheckout {
    HostCheckout(requests: requests, returnURL: returnURL, timeoutSeconds: timeoutSeconds)
  }
}

private final class HostCheckout: PreparedCheckout {
  let returnURL: String?
  private let requests: HostRequests
  private let timeoutSeconds: Int64

  init(requests: HostRequests, returnURL: String?, timeoutSeconds: Int64) {
    (self.requests, self.returnURL, self.timeoutSeconds) = (requests, returnURL, timeoutSeconds)
  }

  func present(_ checkout: Checkout, of attempt: PurchaseAttempt) async throws(KassaError) -> CheckoutEnding {
    var parameters: [(String, JSON)] = [
      ("url", JSON(checkout.url)), ("plan_id", JSON(attempt.planID)), ("nonce", JSON(attempt.nonce)),
      ("return_url", JSON(checkout.returnURL)),
    ]
    if let applePay = checkout.applePay {
      parameters += [
        ("label", JSON(applePay.label)), ("amount", JSON(applePay.price.amountText)),
        ("currency", JSON(applePay.price.currency)),
      ]
    }
    let method = checkout.applePay == nil ? "present" : "apple_pay"
    let reply: JSON
    do throws(KassaError) {
      reply = try await requests.ask("checkout", method, .object(parameters), within: timeoutSeconds)
    } catch {
      // As in a browser, a checkout that stays open for so long was left.
      if error.code == .timedOut { return .cancelled }
      throw error
    }
    if let message = reply.hostError {
      throw KassaError(reply["error"]?["code"]?.string == "unsupported" ? .unsupported : .checkoutFailed, message)
    }
    switch reply["outcome"]?.string {
    case "returned": return .returned(url: reply["url"]?.string)
    case "cancelled": return .cancelled
    case "failed": return .failed(message: reply["message"]?.string ?? "the host's checkout failed")
    case let word:
      throw KassaError(
        .checkoutFailed,
        "the host's reply to checkout/\(method) has the outcome \"\((word ?? "").quoted)\"; "
          + "it must be \"returned\", \"cancelled\" or \"failed\"")
    }
  }
}
