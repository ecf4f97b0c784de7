import Testing

@testable import KassaReceipts

@Suite struct RefusalTests {
  @Test func aRefusalSaysWhy() { #expect("\(Refusal("a_code", "words"))" == "words") }
}
