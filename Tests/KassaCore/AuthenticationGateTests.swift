import KassaCore
import Testing

@Suite struct AuthenticationGateTests {
  private func paused(at now: Int64 = 0) -> AuthenticationGate {
    var gate = AuthenticationGate()
    #expect(gate.ended(.free, .refused, now: now) == .paused)
    return gate
  }

  @Test("Everything passes until the key is refused, then nothing does") func pausing() {
    var gate = AuthenticationGate()
    #expect(gate.passage(mayProbe: false) == .free)
    #expect(gate.ended(.free, .known, now: 0) == nil)
    #expect(gate.ended(.free, .none, now: 0) == nil)
    #expect(!gate.isPaused)
    #expect(gate.ended(.free, .refused, now: 0) == .paused)
    #expect(gate.isPaused)
    #expect(gate.passage(mayProbe: false) == .refused)
    #expect(gate.passage(mayProbe: true) == .refused)
  }

  @Test("A pause is told once, however many requests were under way") func once() {
    var gate = paused()
    #expect(gate.ended(.free, .refused, now: 1) == nil)
    #expect(gate.ended(.free, .refused, now: 2) == nil)
  }

  @Test("Success of a request that was under way opens nothing") func underWay() {
    var gate = paused()
    #expect(gate.ended(.free, .known, now: 1) == nil)
    #expect(gate.isPaused)
  }

  @Test("A probe needs better conditions and a minute") func minute() {
    var gate = paused(at: 1_000)
    #expect(gate.conditionsImproved(now: 60_999) == false)
    #expect(gate.passage(mayProbe: true) == .refused)
    #expect(gate.conditionsImproved(now: 61_000) == true)
    #expect(gate.passage(mayProbe: false) == .refused)
    #expect(gate.passage(mayProbe: true) == .probe)
    #expect(gate.passage(mayProbe: true) == .refused)
  }

  @Test(
    "What the probe hears decides; a failure starts the minute again",
    arguments: [(.known, .recovered, false), (.refused, nil, true), (.none, nil, true)]
      as [(AuthenticationGate.Verdict, AuthenticationGate.Change?, Bool)])
  func probe(_ verdict: AuthenticationGate.Verdict, _ change: AuthenticationGate.Change?, _ isPaused: Bool) {
    var gate = paused()
    #expect(gate.conditionsImproved(now: 60_000) == true)
    #expect(gate.passage(mayProbe: true) == .probe)
    #expect(gate.ended(.probe, verdict, now: 65_000) == change)
    #expect(gate.isPaused == isPaused)
    #expect(gate.conditionsImproved(now: 124_999) == false)
    #expect(gate.conditionsImproved(now: 125_000) == isPaused)
  }

  @Test("While a probe is under way no other is permitted, and one that was never sent is permitted anew") func single()
  {
    var gate = paused()
    #expect(gate.conditionsImproved(now: 60_000) == true)
    #expect(gate.conditionsImproved(now: 60_001) == false)
    #expect(gate.conditionsImproved(now: 120_000) == true)
    #expect(gate.passage(mayProbe: true) == .probe)
    #expect(gate.conditionsImproved(now: 180_000) == false)
  }

  @Test("After a recovery the next refusal is a new pause") func again() {
    var gate = paused()
    #expect(gate.conditionsImproved(now: 60_000) == true)
    #expect(gate.passage(mayProbe: true) == .probe)
    #expect(gate.ended(.probe, .known, now: 60_000) == .recovered)
    #expect(gate.passage(mayProbe: false) == .free)
    #expect(gate.ended(.free, .refused, now: 60_001) == .paused)
  }

  @Test("Better conditions mean nothing while it is open, and clocks at their ends do not trap") func extremes() {
    var gate = AuthenticationGate()
    #expect(gate.conditionsImproved(now: .max) == false)
    var early = paused(at: .min)
    #expect(early.conditionsImproved(now: .max) == true)
  }
}
