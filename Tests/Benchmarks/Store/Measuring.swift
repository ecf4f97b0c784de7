import Glibc

/// Two ways to do something, timed in turn, so that a machine that changes its speed changes both.
struct Comparison {
  /// Medians: of the ratios of the rounds, and of the nanoseconds that each way took.
  let ratio: Double
  let nanoseconds: Double
  let yardstickNanoseconds: Double

  init(rounds: Int, repetitions: Int, _ body: () -> Void, against yardstick: () -> Void) {
    var ratios: [Double] = [], times: [Double] = [], yardsticks: [Double] = []
    for round in -1..<rounds {
      let time = nanosecondsEach(repetitions, body), yardstick = nanosecondsEach(repetitions, yardstick)
      // The first round builds what is built once.
      guard round >= 0 else { continue }
      times.append(time)
      yardsticks.append(yardstick)
      ratios.append(time / yardstick)
    }
    (ratio, nanoseconds, yardstickNanoseconds) = (median(ratios), median(times), median(yardsticks))
  }

  /// Nanoseconds of both ways, round by round.
  init(_ rounds: [(Double, Double)]) {
    ratio = median(rounds.map { $0.0 / $0.1 })
    (nanoseconds, yardstickNanoseconds) = (median(rounds.map(\.0)), median(rounds.map(\.1)))
  }

  func print(_ figure: String, gate: Double) {
    let micros = [nanoseconds, yardstickNanoseconds].map { "\(($0 / 100).rounded() / 10) µs" }
    let numbers = [ratio, gate].map { "\(($0 * 100).rounded() / 100)" }
    Swift.print(figure, numbers[0], numbers[1], "\(micros[0]), \(micros[1])", separator: "\t")
  }
}

private func nanosecondsEach(_ count: Int, _ body: () -> Void) -> Double {
  let start = now()
  for _ in 0..<count { body() }
  return Double(now() - start) / Double(count)
}

func now() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

private func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }

/// Keeps the compiler from leaving out what nobody uses.
@inline(never) func consume<Value>(_ value: Value) {}

func contents(_ path: String) -> [UInt8]? {
  guard let file = fopen(path, "r") else { return nil }
  defer { fclose(file) }
  var bytes: [UInt8] = [], part = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = fread(&part, 1, part.count, file)
    guard count > 0 else { return bytes }
    bytes += part[..<count]
  }
}
