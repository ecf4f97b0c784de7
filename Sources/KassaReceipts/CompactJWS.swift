import Glibc
import KassaJSON
import KassaPlatform

/// The parts of a signed text in compact form (RFC 7515, section 3.1): header, payload and signature, with points
/// between. The text is lent by the caller.
struct CompactJWS: ~Copyable {
  /// Longer texts are not read. Apple's are a few thousand bytes, a notification with both its parts some 15,000.
  static let maximumBytes = 1 << 20

  /// The header as it is written, which is also what a verified chain is kept by.
  let encodedHeader: UnsafeRawBufferPointer
  /// Point and payload as they are written. The signature covers the header and this, exactly as written.
  let encodedRest: UnsafeRawBufferPointer
  let payload: UnsafeRawBufferPointer
  /// r and s, 32 bytes each, if it is well made.
  let signature: UnsafeRawBufferPointer
  /// Where payload and signature lie.
  private let decoded: UnsafeMutableRawBufferPointer

  init(_ text: UnsafeRawBufferPointer) throws(Refusal) {
    guard text.count <= Self.maximumBytes else {
      throw Refusal(.tooLarge, "the text has \(text.count) bytes; at most \(Self.maximumBytes) are read")
    }
    guard let first = Self.point(in: text, from: 0), let second = Self.point(in: text, from: first + 1),
      Self.point(in: text, from: second + 1) == nil
    else {
      let points = text.reduce(0) { $0 + ($1 == UInt8(ascii: ".") ? 1 : 0) }
      throw Refusal(
        .malformedText, "the text has \(points) points; there are two between header, payload and signature")
    }
    guard first > 0 else { throw Refusal(.malformedText, "the header (first part) is empty") }
    let parts = (
      payload: UnsafeRawBufferPointer(rebasing: text[(first + 1)..<second]),
      signature: UnsafeRawBufferPointer(rebasing: text[(second + 1)...])
    )
    let room = Base64.room(for: parts.payload)
    let decoded = UnsafeMutableRawBufferPointer.allocate(
      byteCount: room + Base64.room(for: parts.signature), alignment: 1)
    let payload: UnsafeRawBufferPointer, signature: UnsafeRawBufferPointer
    do throws(Refusal) {
      payload = try Self.decode(
        parts.payload, "payload (second part)", into: UnsafeMutableRawBufferPointer(rebasing: decoded[..<room]))
      signature = try Self.decode(
        parts.signature, "signature (third part)", into: UnsafeMutableRawBufferPointer(rebasing: decoded[room...]))
    } catch {
      decoded.deallocate()
      throw error
    }
    encodedHeader = UnsafeRawBufferPointer(rebasing: text[..<first])
    encodedRest = UnsafeRawBufferPointer(rebasing: text[first..<second])
    self.payload = payload
    self.signature = signature
    self.decoded = decoded
  }

  deinit { decoded.deallocate() }

  private static func point(in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = text.baseAddress,
      let found = memchr(base + start, Int32(UInt8(ascii: ".")), text.count - start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  func header() throws(Refusal) -> JWSHeader {
    let room = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Base64.room(for: encodedHeader), alignment: 1)
    defer { room.deallocate() }
    return try JWSHeader(Self.decode(encodedHeader, "header (first part)", into: room))
  }

  private static func decode(
    _ part: UnsafeRawBufferPointer, _ name: String, into room: UnsafeMutableRawBufferPointer
  ) throws(Refusal) -> UnsafeRawBufferPointer {
    guard let count = Base64.decode(part, .url, into: room) else {
      throw Refusal(.malformedText, "the \(name) is not base64url without padding and with zero unused bits")
    }
    return UnsafeRawBufferPointer(rebasing: room[..<count])
  }
}

/// What the header of Apple's signed data must say.
struct JWSHeader {
  /// DER, the signer first.
  let certificates: [[UInt8]]

  /// No certificate is longer; Apple's have some 1,000 bytes.
  static let maximumCertificateBytes = 16 << 10
  /// Apple's headers have two levels.
  private static let maximumDepth = 8

  init(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
    let json = try JSON.parse(bytes, "header", .malformedHeader, maximumDepth: Self.maximumDepth)
    guard json.isObject else { throw Refusal(.malformedHeader, "the header is \(json.kind); it must be an object") }
    let algorithm = json["alg"] ?? .null
    guard algorithm.string == "ES256" else {
      let found = algorithm.string.map { "\"\($0.prefix(32))\"" } ?? algorithm.kind
      throw Refusal(.wrongAlgorithm, "header.alg is \(found); it must be \"ES256\"")
    }
    // RFC 7515, section 4.1.11: what is critical and not understood must be refused; b64 (RFC 7797) changes what is
    // signed.
    if json["crit"] != nil {
      throw Refusal(.criticalHeader, "header.crit names extensions that must be understood; none is")
    }
    if let b64 = json["b64"], b64.bool != true {
      throw Refusal(.criticalHeader, "header.b64 says that the payload is not encoded; that is not read")
    }
    guard let chain = json["x5c"] else {
      throw Refusal(.missingChain, "header.x5c is missing: there are no certificates to verify the signature with")
    }
    guard chain.isArray else {
      throw Refusal(.malformedHeader, "header.x5c is \(chain.kind); it must be an array of certificates")
    }
    var certificates: [[UInt8]] = []
    let elements = chain.elements
    guard elements.count <= 3 else {
      throw Refusal(.chainTooLong, "header.x5c has \(elements.count) certificates; signer, intermediate and root are 3")
    }
    for (index, element) in elements.enumerated() {
      let place = "header.x5c[\(index)]"
      guard let text = element.string else {
        throw Refusal(.malformedHeader, "\(place) is \(element.kind); it must be a string")
      }
      guard text.utf8.count <= Self.maximumCertificateBytes, let der = Base64.decode(text, .standard) else {
        throw Refusal(.malformedCertificate, "\(place) is not padded base64 with zero unused bits, or too long")
      }
      certificates.append(der)
    }
    self.certificates = certificates
  }
}

extension JSON {
  /// Parses signed JSON, which is bounded: a text that nests deeper is refused before it is parsed.
  static func parse(
    _ bytes: UnsafeRawBufferPointer, _ name: String, _ reason: RefusalReason, maximumDepth: Int
  ) throws(Refusal) -> JSON {
    guard isShallow(bytes, maximumDepth) else {
      throw Refusal(reason, "the \(name) nests deeper than \(maximumDepth) levels")
    }
    do throws(JSONSyntaxError) { return try parse(bytes) } catch {
      throw Refusal(
        reason, "the \(name) is not JSON: \(error.message), line \(error.line), column \(error.column)")
    }
  }

  private static func count(of byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int {
    guard var start = bytes.baseAddress else { return 0 }
    let end = start + bytes.count
    var count = 0
    while let found = memchr(start, Int32(byte), end - start) {
      count += 1
      start = UnsafeRawPointer(found) + 1
    }
    return count
  }

  /// Whether brackets outside strings nest at most so deep.
  private static func isShallow(_ bytes: UnsafeRawBufferPointer, _ maximumDepth: Int) -> Bool {
    // As a rule there are fewer brackets than levels allowed, wherever they stand.
    if count(of: UInt8(ascii: "{"), in: bytes) + count(of: UInt8(ascii: "["), in: bytes) <= maximumDepth { return true }
    var depth = 0
    var isInString = false
    var isEscaped = false
    for byte in bytes {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        if depth > maximumDepth { return false }
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
    return true
  }
}
