import KassaCore
import KassaJSON

/// What plans sell and memberships open. Products come from the catalogue alone.
struct ProductRecord {
  var id: String
  var title: String
  var headline: String?
  var summary: String?
  /// Names its page.
  var route: String
  var visibility: String
  var metadata: JSON
  /// Every membership gets a license key.
  var hasLicenses: Bool
  var createdAt: Int64

  init(_ fields: Fields) throws(JSONShapeError) {
    try fields.allowOnly([
      "id", "title", "headline", "description", "route", "visibility", "metadata", "software_licensing", "created_at",
    ])
    id = try fields.string("id")
    title = try fields.string("title")
    headline = try fields.optionalString("headline")
    summary = try fields.optionalString("description")
    route = try fields.optionalString("route") ?? id
    visibility = try fields.word("visibility", among: PlanRecord.visibilities) ?? "visible"
    metadata = try fields.optionalObject("metadata")?.json ?? [:]
    hasLicenses = try fields.optionalBool("software_licensing") ?? false
    createdAt = try fields.time("created_at") ?? Catalogue.beginning
  }
}
