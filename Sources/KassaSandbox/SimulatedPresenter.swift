import KassaCore
import KassaJSON

/// Nobody shows the checkout: it is paid at once with a test card (`"presenter":"simulated"`).
public struct SimulatedPresenter: CheckoutPresenter {
  private let sandbox: Sandbox
  private let card: String?

  public init(_ sandbox: Sandbox, card: String?) {
    self.sandbox = sandbox
    self.card = card
  }

  public var offersApplePay: Bool { false }
  public func open(_ url: String) async throws(KassaError) {}

  public func prepare() async throws(KassaError) -> any PreparedCheckout {
    SimulatedCheckout(sandbox: sandbox, card: card)
  }
}

private final class SimulatedCheckout: PreparedCheckout {
  let returnURL: String? = nil
  private let sandbox: Sandbox
  private let card: String?

  init(sandbox: Sandbox, card: String?) {
    self.sandbox = sandbox
    self.card = card
  }

  func present(_ checkout: Checkout, of attempt: PurchaseAttempt) async throws(KassaError) -> CheckoutEnding {
    var order: [(String, JSON)] = [("action", "complete_checkout"), ("url", JSON(checkout.url))]
    if let card { order.append(("card", JSON(card))) }
    let result = try sandbox.perform(.object(order))
    switch result["outcome"]?.string {
    case "canceled": return .cancelled
    case "declined": return .failed(message: result["message"]?.string ?? "the payment was declined")
    default: return .returned(url: nil)
    }
  }
}
