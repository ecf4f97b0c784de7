import KassaJSON
import Testing

@Suite struct FieldsTests {
  private func fields(_ text: String) throws -> Fields { try Fields(JSON.parse(text)) }

  /// What a reader says about a document that has the wrong shape.
  private func complaint(_ text: String, _ read: (Fields) throws -> Void) throws -> String {
    try #require(throws: JSONShapeError.self) { try read(fields(text)) }.description
  }

  @Test("Members are read as what they are") func reading() throws {
    let fields = try fields(#"{"s":"x","i":7,"w":30.0,"b":false,"o":{"p":1},"a":[1],"l":["x","y"],"r":[{},{}]}"#)
    #expect(try fields.string("s") == "x")
    #expect(try fields.integer("i") == 7)
    #expect(try fields.integer("w") == 30)
    #expect(try fields.bool("b") == false)
    #expect(try fields.object("o").integer("p") == 1)
    #expect(try fields.array("a") == [1])
    #expect(try fields.strings("l") == ["x", "y"])
    #expect(try fields.objects("r").count == 2)
  }

  @Test("An absent member and a null one read the same", arguments: ["{}", #"{"x":null}"#])
  func absent(_ text: String) throws {
    let fields = try fields(text)
    #expect(!fields.has("x"))
    #expect(try fields.optionalString("x") == nil)
    #expect(try fields.optionalInteger("x") == nil)
    #expect(try fields.optionalBool("x") == nil)
    #expect(try fields.optionalObject("x") == nil)
    #expect(try fields.optionalArray("x") == nil)
    #expect(try fields.strings("x") == nil)
    #expect(try fields.objects("x").isEmpty)
    #expect(try complaint(text) { _ = try $0.string("x") } == "x is missing")
    #expect(try complaint(text) { _ = try $0.object("x") } == "x is missing")
  }

  @Test("A value of the wrong kind is reported with its place") func places() throws {
    #expect(throws: JSONShapeError(path: "", problem: "must be an object (got an array)")) { try self.fields("[]") }
    #expect(try complaint("[]") { _ in } == "the document must be an object (got an array)")
    #expect(try complaint(#"{"x":1}"#) { _ = try $0.string("x") } == "x must be a string (got a number)")
    #expect(try complaint(#"{"x":"1"}"#) { _ = try $0.integer("x") } == "x must be a whole number (got a string)")
    #expect(try complaint(#"{"x":1.5}"#) { _ = try $0.integer("x") } == "x must be a whole number (got a number)")
    #expect(try complaint(#"{"x":0}"#) { _ = try $0.bool("x") } == "x must be true or false (got a number)")
    #expect(try complaint(#"{"x":{}}"#) { _ = try $0.array("x") } == "x must be an array (got an object)")
    #expect(try complaint(#"{"x":true}"#) { _ = try $0.object("x") } == "x must be an object (got a boolean)")
    #expect(try complaint(#"{"x":["y",1]}"#) { _ = try $0.strings("x") } == "x[1] must be a string (got a number)")
    #expect(try complaint(#"{"x":[{},null]}"#) { _ = try $0.objects("x") } == "x[1] must be an object (got null)")
    let deep = #"{"plans":[{},{},{"price":{"currency":5}}]}"#
    let read: (Fields) throws -> Void = { fields in
      _ = try fields.objects("plans").last?.object("price").string("currency")
    }
    #expect(try complaint(deep, read) == "plans[2].price.currency must be a string (got a number)")
  }

  @Test("S091 a key that nobody reads is refused, and the probable one named") func unknownKeys() throws {
    let known = ["base_url", "api_key", "company_id"]
    try fields(#"{"api_key":1}"#).allowOnly(known)
    #expect(
      try complaint(#"{"o":{"api_kye":1}}"#) { try $0.object("o").allowOnly(known) }
        == #"o.api_kye is not a known key; did you mean "api_key"?"#)
    #expect(try complaint(#"{"colour":1}"#) { try $0.allowOnly(known) } == "colour is not a known key")
    #expect(try complaint(#"{"api_key":1,"x":null}"#) { try $0.allowOnly([]) } == "api_key is not a known key")
  }

  @Test(
    "The nearest word is the one with the fewest typing errors",
    arguments: [
      ("ofline", "offline"), ("OFFLINE", nil), ("offlien", "offline"), ("checkout_", "checkout"),
      ("chekcout", "checkout"),
      ("timeout", "timeout_s"), ("timeout_sec", "timeout_s"), ("", nil), ("xyz", nil),
      (String(repeating: "x", count: 10_000), nil),
    ] as [(String, String?)])
  func nearestWord(_ word: String, _ expected: String?) {
    #expect(nearest(to: word, in: ["offline", "checkout", "timeout_s"]) == expected)
    #expect(nearest(to: word, in: []) == nil)
  }
}
