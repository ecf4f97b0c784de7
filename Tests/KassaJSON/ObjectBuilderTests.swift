import KassaJSON
import Testing

@Suite struct ObjectBuilderTests {
  @Test func whatIsBuiltEqualsTheLiteralAndKeepsItsOrder() {
    let inner = ObjectBuilder()
    inner.add("a", JSON.array([1, "x"]))
    let builder = ObjectBuilder()
    builder.add("text", "München 日本 \u{0}")
    builder.add("no_text", nil as String?)
    builder.add("number", Int64.min)
    builder.add("no_number", nil as Int64?)
    builder.add("count", 3)
    builder.add("flag", false)
    builder.add("no_flag", nil as Bool?)
    builder.add("object", inner.build())
    let built = builder.build()
    #expect(
      built == [
        "text": "München 日本 \u{0}", "no_text": .null, "number": JSON(Int64.min), "no_number": .null, "count": 3,
        "flag": false, "no_flag": .null, "object": ["a": [1, "x"]],
      ])
    #expect(
      built.members.map(\.0) == ["text", "no_text", "number", "no_number", "count", "flag", "no_flag", "object"])
  }

  @Test func oneThatIsNeverBuiltIsGivenUp() {
    let value: JSON = ["a": 1]
    do {
      let builder = ObjectBuilder()
      builder.add("value", value)
    }
    #expect(value == ["a": 1])
  }
}
