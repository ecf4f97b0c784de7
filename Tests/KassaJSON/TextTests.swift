import KassaJSON
import Testing

@Suite struct TextTests {
  private func error(_ bytes: [UInt8]) throws -> JSONSyntaxError {
    try #require(throws: JSONSyntaxError.self) { try JSON.parse(bytes) }
  }

  @Test(
    "A compact text reads and writes as itself",
    arguments: [
      "null", "true", "false", "0", "-1", #""""#, "[]", "{}", #"{"b":1,"a":[2,{"c":null}]}"#, #""a\"\\/\n""#,
      #""é€😀""#, #""\u0000""#, "9007199254740993", "9223372036854775807", "-9223372036854775808",
    ])
  func roundTrip(_ text: String) throws {
    #expect(try JSON.parse(text).text() == text)
    #expect(try JSON.parse(" \r\n\t\(text)\n").bytes() == Array(text.utf8))
  }

  @Test("Sorted keys make equal documents equal texts") func sorting() throws {
    let text = try JSON.parse(#"{"b":{"d":1,"c":2},"a":3}"#).text(sortingKeys: true)
    #expect(text == #"{"a":3,"b":{"c":2,"d":1}}"#)
  }

  @Test(
    "What is not one JSON value is refused, with its place",
    arguments: [
      "[1,2", "[1,]", #"{"a":1,}"#, "{a:1}", "1 2", "[] x", "nul", "'a'", "01", "+1", "1.", ".5", "NaN", "Infinity",
      #""\x""#, #""\ud800""#, #""\udc00\ud800""#, "\"a\nb\"", "// 1", "1e400",
      "9223372036854775808", "-9223372036854775809", "123456789012345678901234567890",
    ])
  func syntax(_ text: String) throws {
    let error = try error(Array(text.utf8))
    #expect(!error.message.isEmpty)
    #expect(error.line >= 1)
    #expect(error.column >= 0)
  }

  @Test("The place is the line and column of the fault") func place() throws {
    let error = try error(Array("{\n  \"a\": 1,\n  \"b\": x\n}".utf8))
    #expect(error.line == 3)
    #expect(error.column == 8)
  }

  @Test("A text without anything in it is refused", arguments: [[], Array(" \n".utf8), [0xEF, 0xBB, 0xBF]])
  func empty(_ bytes: [UInt8]) throws {
    #expect(try !error(bytes).message.isEmpty)
  }

  @Test("S111 a repeated key is refused, at every level") func duplicates() throws {
    #expect(try error(Array(#"{"a":1,"a":1}"#.utf8)).message.contains("duplicate"))
    #expect(try error(Array(#"[{"b":{"a":1,"c":2,"a":3}}]"#.utf8)).message.contains("duplicate"))
    #expect(try JSON.parse(#"{"a":1,"A":2}"#).members.count == 2)
  }

  @Test("S111 a byte order mark is skipped at the start, and no letter anywhere else") func byteOrderMark() throws {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    #expect(try JSON.parse(mark + Array("[1]".utf8)) == [1])
    #expect(throws: JSONSyntaxError.self) { try JSON.parse(mark + mark + Array("[1]".utf8)) }
    #expect(throws: JSONSyntaxError.self) { try JSON.parse(Array("[1".utf8) + mark + Array("]".utf8)) }
    #expect(try JSON.parse(Array("\"".utf8) + mark + Array("\"".utf8)).string?.utf8.count == 3)
  }

  @Test(
    "S111 bytes that are no UTF-8 are refused",
    arguments: [
      [0xFF], [0x80], [0xC0, 0x80], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
      [0xF0, 0x9F, 0x98],
    ] as [[UInt8]])
  func invalidUTF8(_ bytes: [UInt8]) throws {
    let quote = UInt8(ascii: "\"")
    #expect(try error([quote] + bytes + [quote]).message.contains("decode"))
  }

  @Test("A NUL is a character of a string like any other, and never part of a text") func nul() throws {
    let text = try JSON.parse(#"["a\u0000b"]"#)
    #expect(text.elements.first?.string == "a\0b")
    #expect(JSON("a\0b") == text.elements.first)
    for text in ["1\0", "[1]\0", "[1]\0[2]", "\0[1]", "[1,\0 2]", "\0"] {
      #expect(throws: JSONSyntaxError.self) { try JSON.parse(text) }
    }
    #expect(throws: JSONSyntaxError.self) { try JSON.parse(Array("\"a\0b\"".utf8)) }
  }

  @Test("S111 2,048 levels are read, more are refused", arguments: [("[", "[]", "]"), (#"{"a":"#, "{}", "}")])
  func depth(open: String, innermost: String, close: String) throws {
    func nested(_ levels: Int) -> [UInt8] {
      let outer = levels - 1
      return Array((String(repeating: open, count: outer) + innermost + String(repeating: close, count: outer)).utf8)
    }
    #expect(try JSON.parse(nested(2_048)).bytes() == nested(2_048))
    for levels in [2_049, 10_000, 1_000_000] {
      #expect(try error(nested(levels)).message.contains("depth"))
    }
  }

  @Test("S111 a text beyond the limit is refused unread") func size() throws {
    // Fresh memory of this size takes no room before it is read.
    let text = UnsafeMutableRawBufferPointer.allocate(byteCount: JSON.maximumBytes + 1, alignment: 1)
    defer { text.deallocate() }
    let error = try #require(throws: JSONSyntaxError.self) { try JSON.parse(UnsafeRawBufferPointer(text)) }
    #expect(error.message.contains("\(JSON.maximumBytes)"))
  }
}
