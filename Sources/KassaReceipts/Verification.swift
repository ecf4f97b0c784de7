import KassaCore
import KassaJSON

/// What `kassa_verify` answers: a payload that may be believed, or why not. docs/documents.md, "Verification".
public enum Verification {
  /// Anything that is no valid request is refused too, with the reason `invalid_request`.
  public static func document(for request: JSON) -> JSON {
    do throws(Refusal) {
      let terms = try VerificationTerms.of(request)
      return verified(try terms.check(VerificationTerms.text(of: request)), terms)
    } catch { return refused(error) }
  }

  private static func verified(_ data: SignedDataVerifier.Verified, _ terms: VerificationTerms) -> JSON {
    let reply = ObjectBuilder()
    reply.add("verified", true)
    reply.add("payload", data.payload)
    reply.add("root", data.root)
    if terms.readsTransaction {
      do throws(Refusal) {
        reply.add("transaction", try StoreTransaction(applePayload: data.payload, proof: "").document)
      } catch { reply.add("transaction_problem", error.message) }
    }
    return reply.build()
  }

  private static func refused(_ refusal: Refusal) -> JSON {
    ["verified": false, "reason": JSON(refusal.reason), "message": JSON(refusal.message)]
  }
}
