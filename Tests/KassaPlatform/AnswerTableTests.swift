import CLinux
import Testing

@testable import KassaPlatform

@Suite struct AnswerTableTests {
  private let table = AnswerTable(random: SystemRandom())
  private var answers: Answers { table.answers }

  private func grant(_ product: String, _ end: AnswerTable.End = .never) -> AnswerTable.Grant {
    AnswerTable.Grant(product, end: end)
  }

  @Test func saysNoBeforeTheFirstPublication() {
    #expect(!answers.hasAccess("prod_a"))
    #expect(!answers.isSubscribed())
  }

  @Test func knowsIdsOfEveryLength() {
    // Every length around the hash's block sizes, and one far beyond.
    let products = (Array(0...70) + [10_000]).map { String(repeating: "é", count: $0 / 2) + ($0 % 2 == 1 ? "x" : "") }
    table.publish(products.map { grant($0) }, subscription: nil)
    for product in products {
      #expect(answers.hasAccess(product))
      #expect(!answers.hasAccess(product + "y"))
    }
    #expect(!answers.isSubscribed())
  }

  @Test func tellsIdsApartThatDifferInOneByte() {
    let product = "prod_0123456789abcdefghijklmnopqrstuv"
    table.publish([grant(product)], subscription: nil)
    for index in product.indices {
      #expect(!answers.hasAccess(product.replacingCharacters(at: index, with: "_-")))
    }
  }

  @Test func anIdWithNULInsideIsNotItsFirstHalf() {
    table.publish([grant("prod_a\0b")], subscription: nil)
    #expect(!answers.hasAccess("prod_a"))
  }

  @Test func aPublicationReplacesTheOneBefore() {
    for count in [1_000, 3, 0, 10_000, 50] {
      table.publish((0..<count).map { grant("prod_\($0)") }, subscription: count > 0 ? .never : nil)
      let granted = (0..<10_000).count { answers.hasAccess("prod_\($0)") }
      #expect(granted == count)
      #expect(answers.isSubscribed() == (count > 0))
    }
  }

  @Test func ofProductsThatMayNotBeAskedForNothingIsKnown() {
    table.setClock(.standing(bootNanoseconds: 100))
    let known: Set = ["prod_a", "prod_b", "prod_c"]
    table.publish(
      [grant("prod_a"), grant("prod_b", .at(bootNanoseconds: 200))], subscription: nil, known: known)
    func access() -> [Answers.Access] {
      ["prod_a", "prod_b", "prod_c", "prod_d"].map { (product: String) in answers.access(product) }
    }
    #expect(access() == [.granted, .granted, .notGranted, .unknown])
    table.setClock(.standing(bootNanoseconds: 200))
    #expect(access() == [.granted, .notGranted, .notGranted, .unknown])
    table.publish([grant("prod_a")], subscription: nil)
    #expect(access() == [.granted, .notGranted, .notGranted, .notGranted])
  }

  @Test func ofTwoGrantsOfAProductTheLaterEndCounts() {
    table.setClock(.standing(bootNanoseconds: 100))
    for ends in [
      [.at(bootNanoseconds: 200), .at(bootNanoseconds: 300)], [.at(bootNanoseconds: 300), .at(bootNanoseconds: 50)],
    ]
      as [[AnswerTable.End]]
    {
      table.setClock(.standing(bootNanoseconds: 100))
      table.publish(ends.map { grant("prod_a", $0) }, subscription: nil)
      table.setClock(.standing(bootNanoseconds: 299))
      #expect(answers.hasAccess("prod_a"))
      table.setClock(.standing(bootNanoseconds: 300))
      #expect(!answers.hasAccess("prod_a"))
    }
    table.publish([grant("prod_a", .at(bootNanoseconds: 400)), grant("prod_a")], subscription: nil)
    table.setClock(.standing(bootNanoseconds: .max))
    #expect(answers.hasAccess("prod_a"))
  }

  @Test func aStandingClockDecidesToTheNanosecond() {
    table.setClock(.standing(bootNanoseconds: 1_000))
    table.publish(
      [
        grant("prod_a", .at(bootNanoseconds: 2_000)), grant("prod_b", .at(bootNanoseconds: 5_000_000_000)),
        grant("prod_c"),
      ],
      subscription: .at(bootNanoseconds: 3_000))
    func now() -> [Bool] {
      [answers.hasAccess("prod_a"), answers.hasAccess("prod_b"), answers.hasAccess("prod_c"), answers.isSubscribed()]
    }
    let steps: [(Int64, [Bool])] = [
      (1_999, [true, true, true, true]), (2_000, [false, true, true, true]), (2_999, [false, true, true, true]),
      (3_000, [false, true, true, false]), (4_999_999_999, [false, true, true, false]),
      (5_000_000_000, [false, false, true, false]),
    ]
    for (moment, expected) in steps {
      table.setClock(.standing(bootNanoseconds: moment))
      #expect(now() == expected)
    }
  }

  @Test func simulatedTimeCountsAtOnce() {
    let end = kassa_exact_boot_nanoseconds() + 3_600_000_000_000
    table.publish([grant("prod_a", .at(bootNanoseconds: end))], subscription: .at(bootNanoseconds: end))
    // The second question is answered by what the first found out.
    #expect(answers.hasAccess("prod_a") && answers.hasAccess("prod_a") && answers.isSubscribed())
    table.setClock(.machine(ahead: 3_599_000_000_000))
    #expect(answers.hasAccess("prod_a") && answers.isSubscribed())
    table.setClock(.machine(ahead: 3_600_000_000_000))
    #expect(!answers.hasAccess("prod_a") && !answers.isSubscribed())
    table.setClock(.machine(ahead: .max))
    #expect(!answers.hasAccess("prod_a"))
  }

  @Test func whatHasEndedBeforeThePublicationIsOff() {
    let now = kassa_exact_boot_nanoseconds()
    for end in [now, now - 1, 0, -1, .min] {
      table.publish([grant("prod_a", .at(bootNanoseconds: end))], subscription: .at(bootNanoseconds: end))
      #expect(!answers.hasAccess("prod_a") && !answers.isSubscribed())
    }
  }

  /// Each answer was asked for between two looks at the exact clock, so both an early and a late one show.
  @Test func noGrantEndsEarlyOrLate() {
    let start = kassa_exact_boot_nanoseconds()
    let ends = [50, 240, 260, 300, 700].map { start + Int64($0) * 1_000_000 }
    table.publish(ends.enumerated().map { grant("prod_\($0)", .at(bootNanoseconds: $1)) }, subscription: nil)
    var wrong = 0
    var lastOff = 0
    while lastOff < ends.count {
      lastOff = 0
      for (index, end) in ends.enumerated() {
        let before = kassa_exact_boot_nanoseconds()
        let answer = answers.hasAccess("prod_\(index)")
        let after = kassa_exact_boot_nanoseconds()
        if answer { wrong += before >= end ? 1 : 0 } else { wrong += after < end ? 1 : 0 }
        lastOff += after >= end ? 1 : 0
      }
    }
    #expect(wrong == 0)
  }

  @Test func quietEndsAQuarterOfASecondBeforeTheNextEndAndLastsASecondAtMost() throws {
    let publication = QuietWord(publication: 77)
    #expect(!publication.covers(0) && !publication.covers(.max >> 8))
    for coarse in stride(from: Int64(0), to: 3_000_000_000_000_000, by: 99_999_999_999_993) {
      #expect(publication.extended(from: coarse, nanosecondsToEarliestEnd: 250_000_000) == nil)
      for rest in [270_000_000, 600_000_000, 1_250_000_000, 1_300_000_000, 900_000_000_000, UInt64.max - 1] {
        let quiet = try #require(publication.extended(from: coarse, nanosecondsToEarliestEnd: rest))
        let length = Int64(min(1_000_000_000, rest - 250_000_000))
        #expect(quiet.covers(coarse) && quiet.covers(coarse + length - 17_000_000))
        #expect(!quiet.covers(coarse + length))
        #expect(quiet.bits >> 36 == 77)
      }
    }
  }

  /// A writer at full speed replaces publications of changing size; what is in all of them is never missed, what is in
  /// none never found, and what has ended never revived.
  @Test func readersSeeWholePublications() {
    let end = AnswerTable.End.at(bootNanoseconds: kassa_exact_boot_nanoseconds() + 3_600_000_000_000)
    let publications = [40, 700, 3, 160].map { size in
      (0..<size).map { grant("prod_\(size)_\($0)", $0 % 2 == 0 ? .never : end) }
        + [grant("prod_always"), grant("prod_long", end)]
    }
    table.publish(publications[0], subscription: .never)
    let isDone = SharedWord()
    let published = SharedWord()
    let writer = TestThread { [table] in
      while isDone.value == 0 {
        published.value += 1
        let turn = published.value
        table.publish(publications[turn % publications.count], subscription: turn % 2 == 0 ? .never : end)
      }
    }
    let wrong = (0..<250_000).count { _ in
      !answers.hasAccess("prod_always") || !answers.hasAccess("prod_long") || answers.hasAccess("prod_never")
        || !answers.isSubscribed()
    }
    isDone.value = 1
    writer.join()
    #expect(wrong == 0)
    #expect(published.value > 100)
  }

  @Test func aGrantThatIsTakenAwayStaysAway() {
    // Told after each publication what is over from then on.
    let revoked = SharedWord()
    table.publish([grant("prod_0")], subscription: nil)
    let writer = TestThread { [table] in
      for turn in 1...20_000 {
        table.publish([AnswerTable.Grant("prod_\(turn)", end: .never)], subscription: nil)
        revoked.value = turn
      }
    }
    var wrong = 0
    while revoked.value < 20_000 {
      let turn = revoked.value - 1
      wrong += answers.hasAccess("prod_\(turn)") ? 1 : 0
    }
    writer.join()
    #expect(wrong == 0)
    #expect(answers.hasAccess("prod_20000"))
  }
}

extension String {
  /// The text with another character at the index: the first of the candidates that differs from it.
  fileprivate func replacingCharacters(at index: Index, with candidates: String) -> String {
    var text = self
    let other = candidates.first { $0 != self[index] } ?? "?"
    text.replaceSubrange(index...index, with: [other])
    return text
  }
}
