import KassaCore
import KassaJSON
import KassaPlatform

/// Signed promotional offers. Voidhash's own route is not published; this one is the sandbox's.
extension VoidhashService {
  /// Signs what Apple's scheme for promotional offers says, with the parts joined by U+2063 (App Store documentation,
  /// "Generating a signature for promotional offers").
  func signOffer(_ caller: VoidhashCaller, _ body: Fields) throws(VoidhashRefusal) -> JSON {
    let (slug, offerID, token) = try Self.read { () throws(JSONShapeError) in
      (
        try body.string("productSlug"), try body.string("offerId"), try body.optionalString("appAccountToken") ?? ""
      )
    }
    guard let product = catalogue.product(slug), let productID = product.storeProductID(.apple),
      let offer = product.offers.first(where: { $0.id == offerID || $0.storeOfferID == offerID })
    else {
      throw VoidhashRefusal(
        404, "Api/SdkOfferNotFoundError", "The App Store mapping of \"\(slug)\" has no offer \"\(offerID)\".")
    }
    guard let (keyID, key) = offerKey() else { throw .failed("libcrypto failed; memory may be short") }
    let nonce = state.makeUUID()
    let parts = [
      caller.bundleID, keyID, productID, offer.storeOfferID, token.lowercased(), nonce, String(now),
    ]
    guard let signature = key.sign(parts.joined(separator: "\u{2063}")) else {
      throw .failed("libcrypto failed; memory may be short")
    }
    return [
      "keyId": JSON(keyID), "nonce": JSON(nonce), "timestamp": JSON(now),
      "signature": JSON(Base64.encode(signature)),
    ]
  }

  /// The key that was made at first need.
  private func offerKey() -> (String, VoidhashOfferKey)? {
    if let known = knownOfferKey { return known }
    guard let key = VoidhashOfferKey() else { return nil }
    let id = state.randomText(length: 10).uppercased()
    state.store.voidhash.offerKeys.put(VoidhashOfferKeyRecord(id: id, key: Base64.encodeURL(key.der)))
    return (id, key)
  }

  private var knownOfferKey: (String, VoidhashOfferKey)? {
    state.store.voidhash.offerKeys.all.first.flatMap { record in
      Base64.decode(record.key, .url).flatMap { VoidhashOfferKey(der: $0) }.map { (record.id, $0) }
    }
  }

  /// For the state: the public half, which checks signatures. Null before there was anything to sign.
  var offerKeyDocument: JSON {
    guard let (id, key) = knownOfferKey else { return .null }
    return ["key_id": JSON(id), "public_key": JSON(Base64.encode(key.publicDER))]
  }
}
