import CJansson
import Testing

@testable import KassaJSON

@Suite struct QuickReaderTests {
  private func quick(_ bytes: [UInt8]) -> JSON? {
    bytes.withUnsafeBytes { QuickReader.read($0) }.map { JSON(taking: $0) }
  }

  private func jansson(_ bytes: [UInt8]) -> JSON? {
    let flags = Int(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL)
    return bytes.map { CChar(bitPattern: $0) }.withUnsafeBufferPointer {
      json_loadb($0.baseAddress, $0.count, flags, nil)
    }
    .map { JSON(taking: $0) }
  }

  @Test func plainTextIsRead() throws {
    let text = #" { "a" : [ 1 , -20, 999999999999999999, true,false, null ], "ü€😀" : { "b" : "" } , "c":[],"d":{} } "#
    let value = try #require(quick(Array(text.utf8)))
    #expect(value == jansson(Array(text.utf8)))
    #expect(value["a"]?.elements.compactMap(\.integer) == [1, -20, 999_999_999_999_999_999])
    #expect(value.members.map(\.0) == ["a", "ü€😀", "c", "d"])
  }

  @Test(arguments: [
    "", " ", "{", "}", "[", "[1", "[1,", "[1,]", "[,1]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "01",
    "-", "-0", "-01", "1.5", "1e3", "1E3", "1.", "9223372036854775807", "1234567890123456789012", "tru", "trues",
    "nul", "\"", "\"a", "\"\\n\"", "\"\u{1}\"", "{\"a\":1,\"a\":2}", "1 2", "[] x", "'a'", "+1", "NaN", "//",
    "[\"\\u0000\"]", "{\"a\":1}\0",
  ])
  func whatIsNotPlainIsLeftToJansson(_ text: String) { #expect(quick(Array(text.utf8)) == nil) }

  @Test func deepNestingIsLeftToJansson() {
    for (depth, isRead) in [(32, true), (33, false), (100_000, false)] {
      let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      #expect((quick(Array(text.utf8)) != nil) == isRead)
    }
  }

  /// Whatever is done to the bytes of a text, the two never read different values, and nothing is read that Jansson
  /// refuses.
  @Test func itNeverDiffersFromJansson() {
    let texts = [
      #"{"a":[1,2,{"b":"c"}],"d":-5,"e":true,"f":null,"g":"äöü😀","h":12345678901234567}"#,
      #"[[],{},"",0,-1,false,{"":{"":[]}}]"#, #"{"x":1.5,"y":"\n\\","z":1e5,"x2":"a/b"}"#,
    ]
    var random = SystemRandomNumberGenerator()
    var read = 0
    for text in texts {
      for _ in 0..<1_500 {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 0...2, using: &random) where !bytes.isEmpty {
          let place = Int.random(in: 0..<bytes.count, using: &random)
          switch Int.random(in: 0..<4, using: &random) {
          case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
          case 1: bytes.remove(at: place)
          case 2: bytes.insert(Array(#"{}[]",:0123456789-.eE\tfn u"#.utf8).randomElement() ?? 0, at: place)
          default: bytes.swapAt(place, Int.random(in: 0..<bytes.count, using: &random))
          }
        }
        guard let value = quick(bytes) else { continue }
        read += 1
        #expect(value == jansson(bytes), "\(String(decoding: bytes, as: UTF8.self))")
      }
    }
    #expect(read > 500)
  }
}
