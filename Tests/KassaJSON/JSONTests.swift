import CJansson
import Dispatch
import KassaJSON
import Testing

@Suite struct JSONTests {
  @Test("A number is whole however it was written, and nothing else is a number") func integers() throws {
    #expect(try JSON.parse("30.0").integer == 30)
    #expect(try JSON.parse("-3e2").integer == -300)
    #expect(try JSON.parse("9223372036854775807").integer == .max)
    for text in ["30.5", "1e300", "-1e300", "9.3e18", "true", #""30""#, "[30]", "null"] {
      #expect(try JSON.parse(text).integer == nil)
    }
    #expect(try JSON.parse("2").double == 2)
    #expect(try JSON.parse(#""2""#).double == nil)
  }

  @Test(
    "S039 a decimal text is the shortest that reads back as the same number",
    arguments: [
      ("39.99", "39.99"), ("114.99", "114.99"), ("0.1", "0.1"), ("9.9900000000000002", "9.99"), ("9800", "9800"),
      ("9007199254740993", "9007199254740993"),
    ])
  func decimalText(_ text: String, _ expected: String) throws {
    #expect(try JSON.parse(text).decimalText == expected)
  }

  @Test("A member that is null is told from one that is not there") func members() throws {
    let object = try JSON.parse(#"{"null":null,"":1,"é":2}"#)
    #expect(object["null"] == .null)
    #expect(object["absent"] == nil)
    #expect(object[""]?.integer == 1)
    #expect(object["é"]?.integer == 2)
    // The same letter in two code points is another key.
    #expect(object["e\u{301}"] == nil)
    #expect(JSON("text")["null"] == nil)
    #expect(JSON.null["null"] == nil)
  }

  @Test("Every kind has its own words and accessors") func kinds() throws {
    let kinds = try JSON.parse(#"[{},[],"",1,1.5,true,false,null]"#).elements
    #expect(
      kinds.map(\.kind) == [
        "an object", "an array", "a string", "a number", "a number", "a boolean", "a boolean", "null",
      ])
    #expect(kinds.map(\.isObject) == [true, false, false, false, false, false, false, false])
    #expect(kinds.map(\.isArray) == [false, true, false, false, false, false, false, false])
    #expect(kinds.map { $0.string != nil } == [false, false, true, false, false, false, false, false])
    #expect(kinds.map(\.bool) == [nil, nil, nil, nil, nil, true, false, nil])
    #expect(kinds.map(\.isNull) == [false, false, false, false, false, false, false, true])
    #expect(kinds.allSatisfy { $0.elements.isEmpty && $0.members.isEmpty })
  }

  @Test("Objects keep the order of their keys; of two equal ones the later wins") func building() {
    let object: JSON = ["z": 1, "a": ["x", nil, true], "z": 2]
    #expect(object.text() == #"{"z":2,"a":["x",null,true]}"#)
    #expect(object.merging([("a", 5), ("b", 6)]).text() == #"{"z":2,"a":5,"b":6}"#)
    #expect(JSON(nil as String?) == .null)
    #expect(JSON(Double.nan) == .null)
    #expect(JSON(Double.infinity) == .null)
  }

  @Test("Equality is of kind and value, not of the order of keys") func equality() throws {
    #expect(try JSON.parse(#"{"a":1,"b":2}"#) == JSON.parse(#"{"b":2,"a":1}"#))
    #expect(try JSON.parse("[1,2]") != JSON.parse("[2,1]"))
    #expect(try JSON.parse("1") != JSON.parse("1.0"))
    #expect(try JSON.parse("null") == .null)
    #expect(JSON(false) != .null)
  }

  @Test("A copy of a host's document does not change with it") func copying() throws {
    let host = try #require((["a": ["b": 1]] as JSON).copy())
    defer { json_decref(host) }
    let copy = try #require(JSON(copying: host))
    let view = try #require(JSON(viewing: host))
    json_object_set_new(json_object_get(host, "a"), "b", json_integer(2))
    #expect(copy["a"]?["b"]?.integer == 1)
    #expect(view["a"]?["b"]?.integer == 2)
    #expect(JSON(copying: nil) == nil)
    #expect(JSON(viewing: nil) == nil)
  }

  @Test("A document that is given away is the receiver's own") func givingAway() throws {
    let document: JSON = ["a": ["b": 1]]
    let copy = try #require(document.copy())
    defer { json_decref(copy) }
    json_object_set_new(json_object_get(copy, "a"), "b", json_integer(2))
    json_object_clear(copy)
    #expect(document.text() == #"{"a":{"b":1}}"#)
    #expect(JSON.null.copy()?.pointee.type == JSON_NULL)
  }

  @Test("Many threads read, copy and drop one document") func threads() throws {
    let document = try JSON.parse(#"{"a":[{"b":"text"},1.5,null],"c":{"d":[true]}}"#)
    func references() -> Int { document.withPointer { $0.map { Int($0.pointee.refcount) } ?? 0 } }
    let before = references()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<500 {
        let copy = document.copy()
        let isSame = JSON(viewing: copy) == document && document["a"]?.elements.first?["b"]?.string == "text"
        json_decref(copy)
        if !isSame { Issue.record("the document changed") }
      }
    }
    #expect(references() == before)
  }
}
