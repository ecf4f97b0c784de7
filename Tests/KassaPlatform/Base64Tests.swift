import Foundation
import KassaPlatform
import Testing

/// Against Foundation's base64, for every length around a group of three.
@Suite struct Base64Tests {
  @Test("Base64 of every length reads and writes as Foundation does, in both alphabets", arguments: 0...67)
  func everyLength(count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 89 &+ count &* 31) }
    let padded = Data(bytes).base64EncodedString()
    let unpadded = padded.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    for (text, alphabet) in [(padded, Base64.Alphabet.standard), (unpadded, .url)] {
      #expect((alphabet == .standard ? Base64.encode(bytes) : Base64.encodeURL(bytes)) == text)
      #expect(Base64.decode(text, alphabet) == bytes)
      // A character of no alphabet is found wherever it stands.
      for place in 0..<text.utf8.count {
        var wrong = Array(text.utf8)
        wrong[place] = UInt8(ascii: "*")
        #expect(Base64.decode(String(decoding: wrong, as: UTF8.self), alphabet) == nil)
      }
    }
  }

  @Test("Every byte is written, and read again") func everyByte() {
    for first in UInt8.min...UInt8.max {
      let bytes = [first, ~first, first &* 7]
      #expect(Base64.decode(Base64.encodeURL(bytes), .url) == bytes)
    }
  }

  @Test("Only the canonical text is read") func canonical() {
    #expect(Base64.decode("", .standard) == [])
    #expect(Base64.decode("AQI=", .standard) == [1, 2])
    for wrong in ["A", "AQI", "AQJ=", "AQ==AQ==", "AQ I", " AQI=", "AQI=\n\n\n\n", "AQ-_", "=AQI", "===="] {
      #expect(Base64.decode(wrong, .standard) == nil, "\(wrong)")
    }
    for wrong in ["A", "AQI=", "AQJ", "AQ+/", "AQ I", "AQI\n"] {
      #expect(Base64.decode(wrong, .url) == nil, "\(wrong)")
    }
  }
}
