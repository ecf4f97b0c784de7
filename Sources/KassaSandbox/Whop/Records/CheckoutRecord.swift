import KassaCore
import KassaJSON

/// A checkout configuration: one plan on sale, with what its buyers' memberships shall carry.
struct CheckoutRecord: Record {
  static let kind = "checkout_configuration"

  var id: String
  /// Nil in mode `setup`.
  var planID: String?
  var mode: String
  var redirectURL: String?
  var metadata: JSON
  var affiliateCode: String?
  var currency: String?
  var threeDSLevel: String?
  var paymentMethodConfiguration: JSON
  var createdAt: Int64
}

extension CheckoutRecord {
  init(_ fields: Fields) throws(JSONShapeError) {
    id = try fields.string("id")
    planID = try fields.optionalString("plan_id")
    mode = try fields.string("mode")
    redirectURL = try fields.optionalString("redirect_url")
    metadata = try fields.optionalObject("metadata")?.json ?? [:]
    affiliateCode = try fields.optionalString("affiliate_code")
    currency = try fields.optionalString("currency")
    threeDSLevel = try fields.optionalString("three_ds_level")
    paymentMethodConfiguration = try fields.optionalObject("payment_method_configuration")?.json ?? .null
    createdAt = try fields.integer("created_at")
  }

  var document: JSON {
    [
      "id": JSON(id), "plan_id": JSON(planID), "mode": JSON(mode), "redirect_url": JSON(redirectURL),
      "metadata": metadata, "affiliate_code": JSON(affiliateCode), "currency": JSON(currency),
      "three_ds_level": JSON(threeDSLevel), "payment_method_configuration": paymentMethodConfiguration,
      "created_at": JSON(createdAt),
    ]
  }
}
