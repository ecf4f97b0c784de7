import Foundation
import KassaPlatform
import Testing

@testable import KassaReceipts

/// Against Foundation's base64, for every length around a group of three.
@Suite struct StrictBase64Tests {
  @Test("Base64 of every length reads and writes as Foundation does, in both alphabets", arguments: 0...67)
  func everyLength(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 89 &+ count &* 31) }
    let padded = Data(bytes).base64EncodedString()
    let unpadded = padded.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    for (text, alphabet) in [(padded, StrictBase64.Alphabet.standard), (unpadded, .url)] {
      #expect((alphabet == .standard ? Base64.encode(bytes) : Base64.encodeURL(bytes)) == text)
      #expect(StrictBase64.decode(text, alphabet) == bytes)
      // A character of no alphabet is found wherever it stands.
      for place in 0..<text.utf8.count {
        var wrong = Array(text.utf8)
        wrong[place] = UInt8(ascii: "*")
        #expect(StrictBase64.decode(String(decoding: wrong, as: UTF8.self), alphabet) == nil)
      }
    }
  }

  @Test("Every byte is written, and read again") func everyByte() {
    for first in UInt8.min...UInt8.max {
      let bytes = [first, ~first, first &* 7]
      #expect(StrictBase64.decode(Base64.encodeURL(bytes), .url) == bytes)
    }
  }
}
