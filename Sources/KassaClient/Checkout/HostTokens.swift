import KassaCore
import KassaJSON
import KassaPlatform

/// Access tokens that the host provides (WhopIAP, `accessTokenProvider`): asked for once for any number of calls that
/// wait, kept until a minute before their end, asked for again after a refusal, and not at all for a while after the
/// host failed.
actor HostTokens: AccessTokenSource {
  private struct Token {
    var text: String
    var goodUntil: Int64
  }

  private let loop: EventLoop
  private let requests: HostRequests
  private let time: any TimeSource
  private let random: any RandomSource
  private let now: @Sendable () -> Int64
  private let companyID: String
  private var token: Token?
  /// The calls that wait for the token which is being fetched.
  private var waiting: [UInt64: CheckedContinuation<Result<String, KassaError>, Never>] = [:]
  private var lastWaiter: UInt64 = 0
  private var failures = 0
  private var lastFailure: KassaError?
  private var notBefore: Int64 = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(
    loop: EventLoop, requests: HostRequests, time: any TimeSource, random: any RandomSource, companyID: String,
    now: @escaping @Sendable () -> Int64
  ) {
    self.loop = loop
    self.requests = requests
    self.time = time
    self.random = random
    self.now = now
    self.companyID = companyID
  }

  func token(refused: String?) async throws(KassaError) -> String {
    // Another call may have fetched a new one since that one was sent.
    if let token, token.text != refused, now() < token.goodUntil { return token.text }
    let reason = refused != nil && token?.text == refused ? "refused" : token == nil ? "first" : "expiring"
    token = nil
    if waiting.isEmpty {
      if let lastFailure, time.bootNanoseconds / 1_000_000 < notBefore { throw lastFailure }
      Task(executorPreference: loop) { await self.fetch(reason: reason) }
    }
    return try await wait().get()
  }

  /// Waits for the fetch that is under way; a call that is cancelled waits no longer, and the fetch goes on.
  private func wait() async -> Result<String, KassaError> {
    lastWaiter += 1
    let waiter = lastWaiter
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiting[waiter] = continuation
        if Task.isCancelled { abandon(waiter) }
      }
    } onCancel: {
      loop.post { self.assumeIsolated { $0.abandon(waiter) } }
    }
  }

  private func abandon(_ waiter: UInt64) {
    waiting.removeValue(forKey: waiter)?
      .resume(returning: .failure(KassaError(.cancelled, "the operation was cancelled")))
  }

  private func fetch(reason: String) async {
    let result = await answer(reason: reason)
    let waiters = waiting.values
    waiting = [:]
    for waiter in waiters { waiter.resume(returning: result) }
  }

  private func answer(reason: String) async -> Result<String, KassaError> {
    do throws(KassaError) {
      let reply = try await requests.ask(
        "auth", "access_token", ["reason": JSON(reason), "company_id": JSON(companyID)])
      let token = try read(reply)
      self.token = token
      failures = 0
      lastFailure = nil
      return .success(token.text)
    } catch {
      let error = error.code == .timedOut ? unavailable(error.message) : error
      if error.code == .tokenUnavailable {
        failures += 1
        lastFailure = error
        notBefore =
          time.bootNanoseconds / 1_000_000
          + RetryPolicy.interactive.delay(retry: failures, jitter: random.fraction())
      }
      return .failure(error)
    }
  }

  private func read(_ reply: JSON) throws(KassaError) -> Token {
    if let message = reply.hostError { throw unavailable(message) }
    guard let text = reply["token"]?.string ?? reply["access_token"]?.string, !text.isEmpty else {
      throw unavailable("the host's reply has no \"token\"")
    }
    guard text.utf8.count <= 16_384, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw unavailable("the host's token is not printable ASCII without spaces")
    }
    let now = self.now()
    var end = Self.expiry(ofJWT: text) ?? now.adding(Constants.tokenWithoutEndMilliseconds)
    if let stated = reply["expires_at"], !stated.isNull {
      guard let time = Timestamp.milliseconds(stated) else { throw unavailable("the host's \"expires_at\" is no time") }
      end = time
    }
    return Token(text: text, goodUntil: end.subtracting(Constants.tokenMarginMilliseconds))
  }

  private func unavailable(_ message: String) -> KassaError {
    KassaError(.tokenUnavailable, message, retryable: true)
  }

  /// A token's own `exp`, read without checking the signature: good for knowing when to ask again, and for no more.
  static func expiry(ofJWT token: String) -> Int64? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64.decode(String(parts[1]), .url) else { return nil }
    guard let exp = (try? JSON.parse(payload))?["exp"]?.integer, exp > 0, exp < 1 << 40 else { return nil }
    return exp * 1_000
  }
}
