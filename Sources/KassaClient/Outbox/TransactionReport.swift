import KassaCore
import KassaJSON

/// What `kassa_report_transaction` takes, checked.
struct TransactionReport {
  /// Empty where only the signed text says it.
  var transactionID = ""
  var signedText: String?
  var purchaseToken: String?
  var isRestore = false

  /// - Parameter document: an id or a signed text, alone or in an object.
  init(_ document: JSON, platform: StoreTransaction.Platform) throws(KassaError) {
    if let text = document.string {
      try read(text, at: "transaction")
    } else {
      do throws(JSONShapeError) { try read(Fields(document, path: "transaction")) } catch {
        throw KassaError(.invalidArgument, error.description)
      }
      if signedText == nil { try check(transactionID, at: "transaction.id") }
    }
    guard platform == .apple || purchaseToken != nil else {
      throw KassaError(.invalidTransaction, "transaction.purchase_token is missing: the service asks Google for it")
    }
  }

  private mutating func read(_ fields: Fields) throws(JSONShapeError) {
    // A whole transaction document is as good as its id, and has keys of its own.
    if !fields.has("original_id") { try fields.allowOnly(["id", "jws", "is_restore", "purchase_token"]) }
    isRestore = try fields.optionalBool("is_restore") ?? false
    purchaseToken = try fields.optionalString("purchase_token")
    signedText = try fields.optionalString("jws")
    if let number = fields.json["id"]?.integer {
      throw JSONShapeError(
        path: fields.place(of: "id"), problem: "must be text, so that no digit is lost (got the number \(number))")
    }
    transactionID = try fields.optionalString("id") ?? ""
  }

  private mutating func read(_ text: String, at place: String) throws(KassaError) {
    let isSigned = text.utf8.filter { $0 == UInt8(ascii: ".") }.count == 2
    if isSigned {
      signedText = text
    } else {
      try check(text, at: place)
      transactionID = text
    }
  }

  private func check(_ text: String, at place: String) throws(KassaError) {
    guard !text.utf8.allSatisfy({ $0 == 0x20 || (9...13).contains($0) }) else {
      throw KassaError(.invalidTransaction, "\(place) must not be empty")
    }
    guard text.utf8.count <= 256, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw KassaError(
        .invalidTransaction, "\(place) must be the transaction's id, up to 256 bytes (got \"\(text.quoted)\")")
    }
  }
}
