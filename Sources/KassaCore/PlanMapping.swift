/// Which product of a store stands for which plan (WhopCheckout, `PlanMapping`).
public struct PlanMapping: Sendable, Equatable {
  public var planID: String
  public var storeProductID: String
  public init(planID: String, storeProductID: String) {
    self.planID = planID
    self.storeProductID = storeProductID
  }
}
