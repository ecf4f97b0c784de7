import KassaJSON

/// What a signed text says of itself, believed or not: for reports of texts that cannot be verified. Nothing may be
/// granted by it.
public struct ClaimedTransaction: Sendable, Equatable {
  public let id: String?
  public let productID: String?

  public init(signedText text: String) {
    let fields: Fields? = try? Array(text.utf8).lend { text throws(Refusal) in
      let jws = try CompactJWS(text)
      let payload = try JSON.parse(
        jws.payload, "payload", .malformedPayload, maximumDepth: SignedDataVerifier.maximumDepth)
      return try? Fields(payload)
    }
    func short(_ key: String) -> String? {
      guard let text = try? fields?.optionalString(key), 1...Self.maximumBytes ~= text.utf8.count else { return nil }
      return text
    }
    id = short("transactionId")
    productID = short("productId")
  }

  /// Apple's ids have some 16.
  private static let maximumBytes = 200
}
