import KassaCore

/// 2026-10-20T10:00:00Z
let moment: Int64 = 1_792_490_400_000
let hour: Int64 = 3_600_000
let day: Int64 = 86_400_000

/// A membership of this device, active and without an end, apart from what a test says.
func membership(
  _ id: String = "mem_1", product: String = "prod_pro", status: String = "active", createdAt: Int64 = moment - day,
  expiresAt: Int64? = nil, periodEnd: Int64? = nil, cancels: Bool = false, device: String? = "device",
  user: String? = nil, confirmedAt: Int64 = moment
) -> Membership {
  Membership(
    id: id, productID: product, planID: "plan_1", status: MembershipStatus(status), createdAt: createdAt,
    expiresAt: expiresAt, renewalPeriodEnd: periodEnd, cancelAtPeriodEnd: cancels, manageURL: nil, receiptID: nil,
    deviceID: device, appUserID: user.map(AppUserID.init), nonce: nil, buyerID: nil, confirmedAt: confirmedAt,
    isFromNetwork: true)
}

func identity(_ user: String? = nil, device: String = "device") -> Identity {
  Identity(deviceID: device, appUserID: user.map(AppUserID.init))
}

/// The same numbers for the same seed (SplitMix64).
struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }
}
