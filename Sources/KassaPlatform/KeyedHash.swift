import KassaCore

/// A 64-bit hash under a secret key, read from the bytes where they lie.
///
/// The secrets are what keeps somebody who chooses ids from making two of them meet: with known ones a crafted id could
/// turn a factor into zero.
struct KeyedHash {
  private let first: UInt64
  private let second: UInt64
  private let third: UInt64

  init(random: some RandomSource) {
    let bytes = random.bytes(24)
    func word(_ index: Int) -> UInt64 {
      bytes.dropFirst(8 * index).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
    (first, second, third) = (word(0), word(1), word(2))
  }

  /// Blocks of 16 bytes, the last of which may overlap the one before; a short text is one block of its own.
  @inline(__always)
  func callAsFunction(_ bytes: UnsafeRawPointer, count: Int) -> UInt64 {
    var state = first ^ UInt64(truncatingIfNeeded: count)
    if count >= 16 {
      var offset = 0
      while offset &+ 16 < count {
        state = mixed(bytes.word(at: offset) ^ second, bytes.word(at: offset &+ 8) ^ state)
        offset &+= 16
      }
      state = mixed(bytes.word(at: count &- 16) ^ second, bytes.word(at: count &- 8) ^ state)
    } else if count >= 8 {
      state = mixed(bytes.word(at: 0) ^ second, bytes.word(at: count &- 8) ^ state)
    } else {
      state = mixed(bytes.shortWord(count: count) ^ second, state)
    }
    return mixed(state, third)
  }

  @inline(__always)
  private func mixed(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
  }
}

extension UnsafeRawPointer {
  @inline(__always)
  fileprivate func word(at offset: Int) -> UInt64 { loadUnaligned(fromByteOffset: offset, as: UInt64.self) }

  /// Fewer than 8 bytes as one word.
  @inline(__always)
  fileprivate func shortWord(count: Int) -> UInt64 {
    if count >= 4 {
      let head = loadUnaligned(as: UInt32.self)
      let tail = loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
      return UInt64(head) << 32 | UInt64(tail)
    }
    var word: UInt64 = 0
    for offset in 0..<count { word = word << 8 | UInt64(loadUnaligned(fromByteOffset: offset, as: UInt8.self)) }
    return word
  }
}
