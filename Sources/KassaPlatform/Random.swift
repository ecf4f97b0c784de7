import CLinux
import KassaCore

/// The kernel's random bytes.
public struct SystemRandom: RandomSource {
  public init() {}

  public func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = kassa_random_bytes(buffer.baseAddress, count) ? count : 0
    }
  }
}

/// The same bytes for the same seed, so that a run can be replayed (SplitMix64). Never for anything secret.
public final class SeededRandom: RandomSource {
  private let state: Locked<UInt64>
  public init(seed: UInt64) { state = Locked(seed) }

  public func bytes(_ count: Int) -> [UInt8] {
    state.with { state in
      (0..<count).map { _ in
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return UInt8(truncatingIfNeeded: word ^ (word >> 31))
      }
    }
  }
}
