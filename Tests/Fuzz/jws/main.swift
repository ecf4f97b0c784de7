import CFuzzer
import Glibc
import KassaCore
import KassaJSON
import KassaReceipts

/// What libFuzzer calls. Input is a signed text; or, behind a first byte of 1, a payload, which is signed here, so that
/// what lies behind the signature is reached too.
@_cdecl("LLVMFuzzerTestOneInput")
func verifySignedText(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  let input = UnsafeBufferPointer(start: start, count: size)
  let (authority, verifier) = shared
  if input.first == 1 {
    guard let payload = try? JSON.parse(Array(input.dropFirst())), let text = try? authority.sign(payload) else {
      return 0
    }
    check(text, verifier)
    return 0
  }
  let text = String(decoding: input, as: UTF8.self)
  check(text, verifier)
  _ = Verification.document(for: ["text": JSON(text), "kind": "transaction", "environments": ["xcode"]])
  return 0
}

let shared = try {
  let authority = try SigningAuthority(at: 1_796_040_000_000)
  return (authority, SignedDataVerifier(anchors: [authority.root]) { 1_796_040_000_000 })
}()

func check(_ text: String, _ verifier: SignedDataVerifier) {
  for kind in SignedDataExpectation.Kind.allCases {
    guard let payload = try? verifier.verify(text, SignedDataExpectation(kind)) else { continue }
    if kind == .transaction, let transaction = try? StoreTransaction(applePayload: payload, proof: text) {
      // What is believed was for production, and is the same when it is read again.
      if transaction.environment != .production || transaction.document.isNull { fatalError("a wrong grant") }
    }
  }
}

var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
exit(LLVMFuzzerRunDriver(&count, &arguments, verifySignedText))
