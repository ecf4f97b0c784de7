import KassaCore

/// The fixed words of Voidhash's interface. Numbers are in `KassaCore.Constants`.
///
/// Sources: the API contract and the SDKs for iOS and Android of Voidhash's public repository; *Kassa*: ours.
enum VoidhashConstants {
  static let baseURL = "https://api.voidhash.com"
  static let apiPath = "/api/v1/sdk"
  static let anonymousPrefix = "vh:anon:"
  /// UUIDv5 of the DNS namespace and `appaccounttoken.voidhash.com`.
  static let accountTokenNamespace = "3919eb4e-3466-593c-8c1e-84554e13a0a6"
  /// Kassa: UUIDv5 of the DNS namespace and `development-purchase.kassa`.
  static let developmentPurchaseNamespace = "e6452bee-76dc-5687-8b63-9b4aa1e90a13"

  /// The API contract, `x-sdk`: a word that is not in this set is refused with 400, and none of them means C or Linux.
  static let sdks = ["ios", "android", "react-native", "web"]
  static let environments = ["production", "development", "all"]

  /// The errors' `_tag`s that say more than their status.
  enum Tag {
    /// Older servers send it with status 500.
    static let authentication = "Api/AuthenticationError"
    static let alreadyIdentified = "Api/SdkPersonAlreadyIdentifiedError"
  }

  /// SDKs, network policy: failures of the service. A 429 is none.
  static func isFailure(_ status: Int) -> Bool { status == 408 || status == 500 || 502...504 ~= status }

  /// SDKs, network policy: what may succeed when it is sent again.
  static func isRetryable(_ status: Int) -> Bool { status == 429 || isFailure(status) }
}
