import COpenSSL
import KassaCore
import KassaPlatform

extension [UInt8] {
  /// `withUnsafeBytes` for what throws refusals.
  func lend<Value>(_ body: (UnsafeRawBufferPointer) throws(Refusal) -> Value) throws(Refusal) -> Value {
    let result: Result<Value, Refusal> = withUnsafeBytes { bytes in
      do throws(Refusal) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

/// libcrypto's names of the curves.
enum Curves {
  static let p256 = "prime256v1"
  static let p384 = "secp384r1"
}

enum KeyUsage {
  static let signing = Int32(KU_DIGITAL_SIGNATURE)
  static let certificateSigning = Int32(KU_KEY_CERT_SIGN)
}

/// SHA-256 of a text of which the beginning is the same each time: it is hashed once.
final class HashedPrefix: @unchecked Sendable {
  private let context: OpaquePointer

  init(_ prefix: UnsafeRawBufferPointer) throws(Refusal) {
    guard let context = EVP_MD_CTX_new() else { throw Refusal.outOfMemory }
    self.context = context
    guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1,
      EVP_DigestUpdate(context, prefix.baseAddress, prefix.count) == 1
    else {
      throw Refusal.outOfMemory
    }
  }

  deinit { EVP_MD_CTX_free(context) }

  /// The hash of the prefix with `rest` behind it. The prefix stays.
  func digest(followedBy rest: UnsafeRawBufferPointer) throws(Refusal) -> SHA256Digest {
    guard let copy = EVP_MD_CTX_new() else { throw Refusal.outOfMemory }
    defer { EVP_MD_CTX_free(copy) }
    var digest = SHA256Digest(repeating: 0)
    var bytes = digest.mutableSpan
    let isDone = bytes.withUnsafeMutableBufferPointer { bytes in
      EVP_MD_CTX_copy_ex(copy, context) == 1 && EVP_DigestUpdate(copy, rest.baseAddress, rest.count) == 1
        && EVP_DigestFinal_ex(copy, bytes.baseAddress, nil) == 1
    }
    guard isDone else { throw Refusal.outOfMemory }
    return digest
  }
}

typealias SHA256Digest = InlineArray<32, UInt8>

extension Refusal {
  static let outOfMemory = Refusal(.cryptographyFailed, "libcrypto failed; memory may be short")
}

/// A key on P-256 that verifies or signs hashes, from any thread.
final class P256Key: @unchecked Sendable {
  enum Use { case verifying, signing }

  private let key: OpaquePointer
  private let use: Use
  /// Prepared contexts that nobody uses at the moment: preparing one costs a third of a verification.
  private let idle = Locked<[OpaquePointer]>([])
  private static let maximumIdle = 8

  /// Takes over one reference to the key.
  init(taking key: OpaquePointer, for use: Use) {
    self.key = key
    self.use = use
  }

  deinit {
    idle.with { contexts in
      for context in contexts { EVP_PKEY_CTX_free(context) }
    }
    EVP_PKEY_free(key)
  }

  /// r and s, 32 bytes each.
  func verifies(_ signature: UnsafeRawBufferPointer, of digest: SHA256Digest) throws(Refusal) -> Bool {
    guard let der = ECDSASignature(raw: signature) else { return false }
    let context = try lend()
    defer { giveBack(context) }
    return der.withDER { der in
      digest.span.withUnsafeBufferPointer { digest in
        EVP_PKEY_verify(context, der.baseAddress, der.count, digest.baseAddress, digest.count) == 1
      }
    }
  }

  /// r and s, 32 bytes each.
  func sign(_ digest: SHA256Digest) throws(Refusal) -> [UInt8] {
    let context = try lend()
    defer { giveBack(context) }
    var der = [UInt8](repeating: 0, count: 80)
    var count = der.count
    let isSigned = digest.span.withUnsafeBufferPointer { digest in
      EVP_PKEY_sign(context, &der, &count, digest.baseAddress, digest.count) == 1
    }
    guard isSigned, let raw = ECDSASignature.raw(der: der.prefix(count)) else { throw Refusal.outOfMemory }
    return raw
  }

  private func lend() throws(Refusal) -> OpaquePointer {
    if let context = idle.with({ $0.popLast() }) { return context }
    guard let context = EVP_PKEY_CTX_new(key, nil) else { throw Refusal.outOfMemory }
    guard (use == .verifying ? EVP_PKEY_verify_init(context) : EVP_PKEY_sign_init(context)) == 1 else {
      EVP_PKEY_CTX_free(context)
      throw Refusal.outOfMemory
    }
    return context
  }

  private func giveBack(_ context: OpaquePointer) {
    let isKept = idle.with { contexts in
      guard contexts.count < Self.maximumIdle else { return false }
      contexts.append(context)
      return true
    }
    if !isKept { EVP_PKEY_CTX_free(context) }
  }
}

/// An ECDSA signature on P-256 as libcrypto wants it, in DER. Elsewhere it is r and s with 32 bytes each (RFC 7518,
/// section 3.4).
struct ECDSASignature {
  private var der = InlineArray<72, UInt8>(repeating: 0)
  private var count = 2

  /// nil for anything but 64 bytes.
  init?(raw: UnsafeRawBufferPointer) {
    guard raw.count == 64 else { return nil }
    append(UnsafeRawBufferPointer(rebasing: raw[..<32]))
    append(UnsafeRawBufferPointer(rebasing: raw[32...]))
    (der[0], der[1]) = (0x30, UInt8(count - 2))
  }

  /// A DER integer is as short as it can be, and its first bit is its sign; both lengths fit into one byte.
  private mutating func append(_ number: UnsafeRawBufferPointer) {
    var start = 0
    while start < number.count, number[start] == 0 { start += 1 }
    let needsZero = start == number.count || number[start] & 0x80 != 0
    let digits = UnsafeRawBufferPointer(rebasing: number[start...])
    (der[count], der[count + 1]) = (0x02, UInt8(digits.count + (needsZero ? 1 : 0)))
    count += needsZero ? 3 : 2
    var bytes = der.mutableSpan
    bytes.withUnsafeMutableBytes { UnsafeMutableRawBufferPointer(rebasing: $0[count...]).copyMemory(from: digits) }
    count += digits.count
  }

  func withDER<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    der.span.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<count])) }
  }

  static func raw(der: ArraySlice<UInt8>) -> [UInt8]? {
    var rest = der
    guard rest.popFirst() == 0x30, let length = rest.popFirst(), Int(length) == rest.count else { return nil }
    var raw: [UInt8] = []
    for _ in 0..<2 {
      guard rest.popFirst() == 0x02, let length = rest.popFirst(), Int(length) <= rest.count else { return nil }
      let digits = rest.prefix(Int(length)).drop { $0 == 0 }
      guard digits.count <= 32 else { return nil }
      raw += [UInt8](repeating: 0, count: 32 - digits.count) + digits
      rest = rest.dropFirst(Int(length))
    }
    return rest.isEmpty ? raw : nil
  }
}
