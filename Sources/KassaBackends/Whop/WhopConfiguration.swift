import KassaCore
import KassaJSON

/// The `backend` object of a configuration whose `kind` is `whop`.
public struct WhopConfiguration: Sendable {
  public enum Credential: Sendable { case key(String), host }

  public var companyID: String
  public var credential: Credential
  public var baseURL: String
  public var apiVersionDate: String
  public var productIDs: [String]?
  public var planMappings: [PlanMapping]
  /// The sandbox's catalogue, or the path of a file with it; only with `embedded:`.
  public var catalogue: JSON?

  public var isEmbedded: Bool { baseURL == Self.embedded }
  public static let embedded = embeddedService

  public init(_ backend: JSON) throws(KassaError) {
    do throws(JSONShapeError) {
      let fields = try Fields(backend, path: "backend")
      try fields.allowOnly([
        "kind", "company_id", "api_key", "access_token", "base_url", "api_version", "product_ids", "plan_mappings",
        "catalogue",
      ])
      companyID = try fields.identifier("company_id", prefix: "biz_")
      credential = try Self.credential(fields)
      baseURL = try Self.baseURL(fields)
      apiVersionDate = try Self.apiVersionDate(fields)
      productIDs = try Self.productIDs(fields)
      catalogue = try fields.catalogue("catalogue", for: baseURL)
      planMappings = try Self.planMappings(fields)
    } catch {
      throw KassaError(.invalidConfiguration, error.description)
    }
  }

  private static func credential(_ fields: Fields) throws(JSONShapeError) -> Credential {
    let key = try fields.optionalString("api_key"), token = try fields.optionalString("access_token")
    switch (key, token) {
    case (let key?, nil):
      // A key goes into a header: printable ASCII, or it would end the header or be refused far away.
      guard !key.isEmpty, key.utf8.count <= 4_096, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw JSONShapeError(path: fields.place(of: "api_key"), problem: "must be printable ASCII without spaces")
      }
      return .key(key)
    case (nil, "host"): return .host
    case (nil, .some):
      throw JSONShapeError(
        path: fields.place(of: "access_token"),
        problem: "must be \"host\": tokens come by the request auth/access_token")
    case (nil, nil):
      throw JSONShapeError(
        path: fields.path, problem: "needs \"api_key\", or \"access_token\":\"host\" with a provider in the host")
    case (.some, .some):
      throw JSONShapeError(path: fields.path, problem: "must have one of \"api_key\" and \"access_token\", not both")
    }
  }

  private static func baseURL(_ fields: Fields) throws(JSONShapeError) -> String {
    let url = try fields.serviceURL("base_url", default: WhopConstants.baseURL)
    return url.hasSuffix(WhopConstants.apiPath) ? String(url.dropLast(WhopConstants.apiPath.count)) : url
  }

  private static func apiVersionDate(_ fields: Fields) throws(JSONShapeError) -> String {
    guard let date = try fields.optionalString("api_version") else { return WhopConstants.apiVersionDate }
    // Year, month and day, and a number where a day had several versions.
    let parts = date.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    let lengths = parts.map(\.count)
    guard parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }), lengths.prefix(3) == [4, 2, 2],
      lengths.count == 3 || (lengths.count == 4 && (1...3).contains(lengths[3]))
    else {
      throw JSONShapeError(
        path: fields.place(of: "api_version"),
        problem: "must be a date such as \"\(WhopConstants.apiVersionDate)\" (got \"\(date.quoted)\")")
    }
    return date
  }

  /// An empty list limits nothing, as in the example of the documentation.
  private static func productIDs(_ fields: Fields) throws(JSONShapeError) -> [String]? {
    guard let ids = try fields.strings("product_ids"), !ids.isEmpty else { return nil }
    for (index, id) in ids.enumerated() {
      try checkIdentifier(id, at: "\(fields.place(of: "product_ids"))[\(index)]", prefix: "prod_")
    }
    return ids
  }

  /// Mappings count with a store only, but a wrong one is a mistake in any case.
  private static func planMappings(_ fields: Fields) throws(JSONShapeError) -> [PlanMapping] {
    var mappings: [PlanMapping] = []
    for (index, fields) in try fields.objects("plan_mappings").enumerated() {
      try fields.allowOnly(["whop_id", "apple_id"])
      let mapping = PlanMapping(
        planID: try fields.identifier("whop_id", prefix: "plan_"), storeProductID: try fields.string("apple_id"))
      guard !mapping.storeProductID.isEmpty else {
        throw JSONShapeError(path: fields.place(of: "apple_id"), problem: "must not be empty")
      }
      // A purchase in the store has to say which plan it was.
      if let other = mappings.first(where: {
        $0.planID == mapping.planID || $0.storeProductID == mapping.storeProductID
      }) {
        throw JSONShapeError(
          path: "backend.plan_mappings[\(index)]",
          problem: "repeats \"\(other.planID)\" or \"\(other.storeProductID.quoted)\": each may be mapped once")
      }
      mappings.append(mapping)
    }
    return mappings
  }
}
