import KassaCore
import KassaJSON
import Testing

@testable import KassaBackends

/// When nothing is sent: a service that fails, a key that was refused.
@Suite struct VoidhashPauseTests {
  private func codes(_ bench: VoidhashBench) -> [String] { bench.diagnostics.map(\.code) }
  private func ask(_ bench: VoidhashBench, _ times: Int = 1) async {
    for _ in 0..<times { _ = try? await bench.backend.submit(receipt()) }
  }

  // MARK: The breaker

  @Test(
    "Five failures in a row open the breaker, and it is told once",
    arguments: [
      .tagged(408), .tagged(500), .html(502), .html(503), .json(504, ""), .failure(.offline("text")),
      .failure(.timedOut), .failure(.insecure("text")),
    ] as [Reply])
  func opens(_ reply: Reply) async throws {
    let bench = try VoidhashBench(reply)
    await ask(bench, 4)
    #expect(bench.backend.pause == nil)
    await ask(bench, 3)
    #expect(bench.requests.count == 5)
    #expect(bench.backend.pause == .failing(milliseconds: 30_000))
    #expect(codes(bench) == ["circuit_open"])
    #expect(bench.diagnostics.first?.details == ["retryable": true, "retry_after_ms": 30_000])
    let error = try await bench.error { try await $0.person(user) }
    #expect(error.code == .circuitOpen)
    #expect(error.retryable)
    #expect(error.retryAfterMilliseconds == 30_000)
  }

  @Test(
    "Refusals, waits, and strangers open nothing",
    arguments: [
      .tagged(400), .tagged(404), .tagged(409), .tagged(429), .html(429), .tagged(501), .html(403), .html(200),
      .json(200, "{}"), .failure(.malformed("text")), .failure(.cancelled),
    ] as [Reply])
  func staysClosed(_ reply: Reply) async throws {
    let bench = try VoidhashBench(reply)
    await ask(bench, 8)
    #expect(bench.requests.count == 8)
    #expect(bench.diagnostics.isEmpty)
  }

  @Test("They do not close it either: the next request is the probe again") func neutral() async throws {
    for reply in [Reply.tagged(400), .tagged(429), .html(200), .failure(.cancelled)] {
      let bench = try VoidhashBench { _, number in number < 5 ? .tagged(500) : number == 5 ? reply : .person() }
      await ask(bench, 5)
      bench.time.clocks.advance(milliseconds: 30_000)
      await ask(bench)
      #expect(bench.requests.count == 6)
      #expect(codes(bench) == ["circuit_open"])
      _ = try await bench.backend.person(user)
      #expect(codes(bench) == ["circuit_open", "circuit_closed"])
    }
  }

  @Test("A failed probe doubles the wait; better conditions let one through at once; a success closes") func probes()
    async throws
  {
    let bench = try VoidhashBench { _, number in number < 7 ? .tagged(500) : .ok(["accepted": true]) }
    await ask(bench, 5)
    bench.time.clocks.advance(milliseconds: 30_000)
    #expect(bench.backend.pause == nil)
    await ask(bench)
    #expect(bench.backend.pause == .failing(milliseconds: 60_000))
    #expect(bench.backend.conditionsImproved() == false)
    #expect(bench.backend.pause == nil)
    await ask(bench)
    #expect(bench.backend.pause == .failing(milliseconds: 120_000))
    _ = bench.backend.conditionsImproved()
    #expect(try await bench.backend.submit(receipt()) == .accepted)
    #expect(codes(bench) == ["circuit_open", "circuit_open", "circuit_open", "circuit_closed"])
    await ask(bench, 3)
    #expect(bench.requests.count == 11)
  }

  // MARK: The gate

  @Test(
    "A refused key pauses everything, and is told once",
    arguments: [
      .keyRefused, .tagged(401, "Api/AuthenticationError", nil), .tagged(403, "Api/ActionForbiddenError"),
      .tagged(500, "Api/AuthenticationError"),
    ] as [Reply])
  func pauses(_ reply: Reply) async throws {
    let bench = try VoidhashBench(reply)
    let first = try await bench.error { try await $0.submit(receipt()) }
    #expect(first.code == .unauthorized)
    #expect(!first.retryable)
    #expect(bench.backend.pause == .unauthorized)
    for call in 0..<3 {
      let error = try await bench.error { backend in
        if call == 0 { _ = try await backend.submit(receipt()) }
        if call == 1 { _ = try await backend.person(user) }
        _ = try await backend.catalogue(known: nil)
      }
      #expect(error.code == .outboundPaused)
      #expect(error.retryable)
    }
    #expect(bench.requests.count == 1)
    #expect(codes(bench) == ["authentication_failed"])
    #expect(bench.diagnostics.first?.details["status"]?.integer == Int64(first.status ?? 0))
  }

  @Test("After a minute better conditions permit one reading of the person, and nothing else") func probe() async throws
  {
    let bench = try VoidhashBench { request, number in number == 0 ? .keyRefused : .person() }
    await ask(bench)
    bench.time.clocks.advance(milliseconds: 59_999)
    #expect(!bench.backend.conditionsImproved())
    bench.time.clocks.advance(milliseconds: 1)
    #expect(bench.backend.conditionsImproved())
    await ask(bench)
    #expect(bench.requests.count == 1, "a receipt is no probe")
    #expect(try await bench.backend.person(user)?.distinctID == user)
    #expect(bench.backend.pause == nil)
    #expect(codes(bench) == ["authentication_failed", "authentication_recovered"])
    _ = try await bench.backend.person(user)
    #expect(bench.requests.count == 3)
  }

  @Test(
    "What the probe hears decides",
    arguments: [
      (.keyRefused, false), (.html(200), false), (.html(401), false), (.failure(.offline("text")), false),
      (.html(503), false), (.tagged(404, "Api/SdkPersonNotFoundError"), true), (.tagged(400), true),
      (.tagged(500), true), (.person(), true),
    ] as [(Reply, Bool)])
  func verdict(_ reply: Reply, _ recovers: Bool) async throws {
    let bench = try VoidhashBench(.keyRefused, reply)
    await ask(bench)
    bench.time.clocks.advance(milliseconds: 60_000)
    #expect(bench.backend.conditionsImproved())
    _ = try? await bench.backend.person(user)
    #expect((bench.backend.pause == nil) == recovers)
    #expect(
      codes(bench) == (recovers ? ["authentication_failed", "authentication_recovered"] : ["authentication_failed"]))
    #expect(!bench.backend.conditionsImproved(), "the minute starts again")
  }
}
