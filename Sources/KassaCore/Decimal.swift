import KassaJSON

/// An exact decimal number: a 64-bit whole number and at most 18 digits after the point.
///
/// Equal numbers are equal whatever way they were written (`1.50` is `1.5`), and no operation rounds unless its name
/// says so. A result that does not fit is nil; nothing traps.
public struct Decimal: Sendable, Hashable {
  /// The number without its point, and how many of its digits stand after the point: as few as possible.
  private let coefficient: Int64
  /// How many digits stand after the point: 2 for 9.99, 1 for 9.90, 0 for 500.
  public let fractionDigits: Int

  /// The most digits after the point.
  public static let maximumFractionDigits = 18

  public static let zero = Decimal(0)

  public init(_ whole: Int64) {
    coefficient = whole
    fractionDigits = 0
  }

  public init(micros: Int64) {
    (coefficient, fractionDigits) = Self.shortest(micros, 6)
  }

  /// `coefficient` with its last `fractionDigits` digits after the point: 499 and 2 make 4.99. Nil for more than 18 of
  /// them, or less than none.
  public init?(_ coefficient: Int64, fractionDigits: Int) {
    guard 0...Self.maximumFractionDigits ~= fractionDigits else { return nil }
    self.init(wide: Int128(coefficient), fractionDigits: fractionDigits)
  }

  /// Reads `9.99`, `-5`, and the exponent notation in which JSON and Swift write floating-point numbers (`1e-05`,
  /// `1e+16`). Everything else is refused: other signs, separators, spaces, `.5`, `5.`, and numbers that do not fit.
  public init?(_ text: String) {
    var rest = Substring(text).utf8
    let isNegative = rest.skip("-")
    let whole = rest.takeDigits()
    let hasPoint = rest.skip(".")
    let fraction = hasPoint ? rest.takeDigits() : rest.prefix(0)
    let hasExponent = rest.skip("e") || rest.skip("E")
    let exponentIsNegative = hasExponent && !rest.skip("+") && rest.skip("-")
    let exponentDigits = hasExponent ? rest.takeDigits() : rest.prefix(0)
    guard rest.isEmpty, !whole.isEmpty, hasPoint != fraction.isEmpty, hasExponent != exponentDigits.isEmpty else {
      return nil
    }
    let digits = (Array(whole) + fraction).drop { $0 == UInt8(ascii: "0") }
    let zeros = digits.reversed().prefix { $0 == UInt8(ascii: "0") }.count
    let significant = String(decoding: digits.dropLast(zeros), as: UTF8.self)
    guard !significant.isEmpty else {
      self = .zero
      return
    }
    // An exponent of more than four digits cannot bring any text of sane length back into range.
    guard exponentDigits.count <= 4, let exponent = hasExponent ? Int(Substring(exponentDigits)) : 0,
      let coefficient = Int64((isNegative ? "-" : "") + significant)
    else { return nil }
    self.init(
      wide: Int128(coefficient), fractionDigits: fraction.count - zeros - (exponentIsNegative ? -exponent : exponent))
  }

  /// Reads a JSON number, by its shortest decimal text (9.99 is 9.99, never 9.9900000000000002), or a string.
  public init?(json: JSON) {
    guard let text = json.decimalText ?? json.string else { return nil }
    self.init(text)
  }

  /// Any sum or product, if it fits. A negative number of fraction digits appends zeros.
  private init?(wide: Int128, fractionDigits: Int) {
    if wide == 0 {
      self = .zero
      return
    }
    var (wide, digits) = Self.shortest(wide, fractionDigits)
    if digits < 0 {
      guard let power = Self.power(-digits) else { return nil }
      let (product, overflow) = wide.multipliedReportingOverflow(by: power)
      guard !overflow else { return nil }
      (wide, digits) = (product, 0)
    }
    guard digits <= Self.maximumFractionDigits, let coefficient = Int64(exactly: wide) else { return nil }
    self.coefficient = coefficient
    self.fractionDigits = digits
  }

  /// The same number without zeros at the end of its fraction.
  private static func shortest<Number: FixedWidthInteger>(
    _ coefficient: Number, _ fractionDigits: Int
  ) -> (Number, Int) {
    var (coefficient, fractionDigits) = (coefficient, fractionDigits)
    while fractionDigits > 0, coefficient % 10 == 0 {
      coefficient /= 10
      fractionDigits -= 1
    }
    return (coefficient, fractionDigits)
  }

  /// 10 to the power of 0 ... 18.
  private static func power(_ exponent: Int) -> Int128? {
    guard 0...maximumFractionDigits ~= exponent else { return nil }
    return (0..<exponent).reduce(Int128(1)) { power, _ in power * 10 }
  }
}

// MARK: - Reading

extension Decimal {
  /// The number without an exponent and without zeros at the end: `9.99`, `9.9`, `500`, `-0.055`.
  public var text: String { text(minimumFractionDigits: 0) }

  /// The number without an exponent, with zeros at the end up to that many digits (at most 18) after the point: with 2
  /// `5.00`, `0.055`.
  public func text(minimumFractionDigits: Int) -> String {
    let wanted = min(minimumFractionDigits, Self.maximumFractionDigits)
    let digits = String(coefficient.magnitude)
    let padded = String(repeating: "0", count: max(0, fractionDigits + 1 - digits.count)) + digits
    let zeros = String(repeating: "0", count: max(0, wanted - fractionDigits))
    let fraction = padded.suffix(fractionDigits) + zeros
    return (isNegative ? "-" : "") + padded.dropLast(fractionDigits) + (fraction.isEmpty ? "" : "." + fraction)
  }

  /// The number in millionths; nil if it is not a whole number of them or has more than 64 bits.
  public var micros: Int64? {
    guard fractionDigits <= 6, let power = Self.power(6 - fractionDigits) else { return nil }
    return Int64(exactly: Int128(coefficient) * power)
  }

  public var isNegative: Bool { coefficient < 0 }
}

// MARK: - Arithmetic

extension Decimal {
  /// The nearest number with at most that many digits after the point; a half goes away from zero.
  public func rounded(toPlaces places: Int) -> Decimal {
    let places = max(0, places)
    guard places < fractionDigits, let divisor = Self.power(fractionDigits - places) else { return self }
    return Decimal(wide: Self.quotient(Int128(coefficient), divisor), fractionDigits: places) ?? self
  }

  public func adding(_ other: Decimal) -> Decimal? {
    let digits = max(fractionDigits, other.fractionDigits)
    guard let left = aligned(to: digits), let right = other.aligned(to: digits) else { return nil }
    return Decimal(wide: left + right, fractionDigits: digits)
  }

  public func multiplied(by factor: Int64) -> Decimal? {
    Decimal(wide: Int128(coefficient) * Int128(factor), fractionDigits: fractionDigits)
  }

  /// The quotient, rounded once to `places` digits after the point (0 to 18), a half away from zero; nil for a divisor
  /// of 0.
  public func divided(by divisor: Int64, places: Int) -> Decimal? {
    guard divisor != 0, let scale = Self.power(places), let unit = Self.power(fractionDigits) else { return nil }
    return Decimal(
      wide: Self.quotient(Int128(coefficient) * scale, Int128(divisor) * unit), fractionDigits: places)
  }

  /// The whole number nearest to a fraction; a half goes away from zero. The divisor is not 0.
  private static func quotient(_ dividend: Int128, _ divisor: Int128) -> Int128 {
    let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    guard remainder.magnitude >= divisor.magnitude - remainder.magnitude else { return quotient }
    return quotient + (dividend.signum() == divisor.signum() ? 1 : -1)
  }

  /// The coefficient that this number has with that many, at least its own, digits after the point. Two 64-bit numbers
  /// scaled by up to 18 digits have room for their sum in 128 bits.
  private func aligned(to digits: Int) -> Int128? {
    Self.power(digits - fractionDigits).map { Int128(coefficient) * $0 }
  }
}

extension Decimal: Comparable {
  public static func < (left: Decimal, right: Decimal) -> Bool {
    let digits = max(left.fractionDigits, right.fractionDigits)
    guard let leftNumber = left.aligned(to: digits), let rightNumber = right.aligned(to: digits) else { return false }
    return leftNumber < rightNumber
  }
}
