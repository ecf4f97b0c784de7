import Foundation
import KassaCore
import KassaJSON
import Testing

@Suite struct TimestampTests {
  @Test(
    "S033 every form of a moment is read",
    arguments: [
      (#""2026-10-20T10:00:00Z""#, moment), (#""2026-10-20T10:00:00.000Z""#, moment),
      (#""2026-10-20t10:00:00z""#, moment), (#""2026-10-20 10:00:00+00:00""#, moment),
      (#""2026-10-20T15:45:00+05:45""#, moment), (#""2026-10-20T15:45:00+0545""#, moment),
      (#""2026-10-20T15:00:00+05""#, moment), (#""2026-10-19T22:00:00-12:00""#, moment),
      (#""2026-10-21T00:00:00+14:00""#, moment), (#""2026-10-20T10:00:00.1Z""#, moment + 100),
      (#""2026-10-20T10:00:00.123456789Z""#, moment + 123), (#""2026-10-20T10:00:00.9999Z""#, moment + 999),
      (#""2026-10-20T09:59:60Z""#, moment), ("1792490400", moment), ("1792490400000", moment), ("1792490400.0", moment),
      (#""1792490400""#, moment), (#""1792490400000""#, moment), ("0", 0), (#""0""#, 0), ("-1", -1_000),
      (#""1969-12-31T23:59:59.5Z""#, -500), ("99999999999", 99_999_999_999_000), ("100000000000", 100_000_000_000),
      (#""4001-01-01T00:00:00Z""#, 64_092_211_200_000), ("64092211200", 64_092_211_200_000),
      ("64092211200000", 64_092_211_200_000), (#""2024-02-29T00:00:00Z""#, 1_709_164_800_000),
      (#""0001-01-01T00:00:00Z""#, -62_135_596_800_000), (#""9999-12-31T23:59:59.999Z""#, 253_402_300_799_999),
    ])
  func reading(_ text: String, _ expected: Int64) throws {
    #expect(try Timestamp.milliseconds(JSON.parse(text)) == expected)
  }

  @Test(
    "S033 what is no moment is refused",
    arguments: [
      "null", "true", "[]", "{}", "1792490400.5", "9223372036854775807", "-9223372036854775808", "253402300800000",
      "1e300", #""""#, #"" ""#, #""never""#, #""2026-10-20""#, #""2026-10-20T10:00:00""#, #""2026-10-20T10:00Z""#,
      #""2026-13-01T00:00:00Z""#, #""2026-00-01T00:00:00Z""#, #""2026-02-29T00:00:00Z""#, #""2100-02-29T00:00:00Z""#,
      #""2026-04-31T00:00:00Z""#, #""2026-10-00T00:00:00Z""#, #""2026-10-20T24:00:00Z""#, #""2026-10-20T10:60:00Z""#,
      #""2026-10-20T10:00:61Z""#, #""2026-10-20T10:00:00.Z""#, #""2026-10-20T10:00:00.1234567890Z""#,
      #""2026-10-20T10:00:00,5Z""#, #""2026-10-20T10:00:00+5""#, #""2026-10-20T10:00:00+05:""#,
      #""2026-10-20T10:00:00+05:4""#, #""2026-10-20T10:00:00+24:00""#, #""2026-10-20T10:00:00+05:60""#,
      #""2026-10-20T10:00:00Zulu""#, #"" 2026-10-20T10:00:00Z""#, #""0000-01-01T00:00:00Z""#,
      #""10000-01-01T00:00:00Z""#, #""-2026-10-20T10:00:00Z""#, #""0001-01-01T00:00:00+01:00""#,
      #""9999-12-31T23:59:60Z""#, #""+1792490400""#, #""1792490400.5""#, #""99999999999999999999""#, #""0x10""#,
      #""٢٠٢٦-10-20T10:00:00Z""#,
    ])
  func refusing(_ text: String) throws {
    #expect(try Timestamp.milliseconds(JSON.parse(text)) == nil)
  }

  @Test("Every day of 800 years is the day that Foundation says, both ways") func calendar() {
    let first = -11_676_096_000_000, day = 86_400_000
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    // An odd step visits every hour and minute, every day of the year and every day of the week.
    for step in stride(from: first, to: first + 800 * 365 * day, by: day * 3 + 3_661_001) {
      let date = Date(timeIntervalSince1970: Double(step) / 1000)
      let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
      let milliseconds = Int64(step)
      let text = String(
        format: "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0,
        parts.hour ?? 0, parts.minute ?? 0, parts.second ?? 0, (step % 1000 + 1000) % 1000)
      guard Timestamp.iso8601(milliseconds) == text, Timestamp.milliseconds(iso8601: text) == milliseconds else {
        Issue.record("\(milliseconds) was written \(Timestamp.iso8601(milliseconds)), not \(text)")
        return
      }
    }
  }

  @Test("Moments are written in UTC with three digits of the second") func iso8601() {
    #expect(Timestamp.iso8601(moment) == "2026-10-20T10:00:00.000Z")
    #expect(Timestamp.iso8601(0) == "1970-01-01T00:00:00.000Z")
    #expect(Timestamp.iso8601(-1) == "1969-12-31T23:59:59.999Z")
    #expect(Timestamp.iso8601(64_092_211_200_000) == "4001-01-01T00:00:00.000Z")
  }

  @Test("HTTP dates have their weekday and no milliseconds") func httpDate() {
    #expect(Timestamp.httpDate(784_111_777_999) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(Timestamp.httpDate(moment) == "Tue, 20 Oct 2026 10:00:00 GMT")
    #expect(Timestamp.httpDate(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
    #expect(Timestamp.httpDate(-86_400_000) == "Wed, 31 Dec 1969 00:00:00 GMT")
    let days = (0..<7).map { Timestamp.httpDate($0 * 86_400_000).prefix(3) }
    #expect(days == ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"])
    // Steps of 30.5 days from the middle of January meet every month once.
    let months = (0..<12).map { Timestamp.httpDate(1_209_600_000 + $0 * 2_635_200_000).dropFirst(8).prefix(3) }
    #expect(months == ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])
  }

  @Test("Any number of milliseconds has a text") func extremes() {
    #expect(Timestamp.iso8601(.max) == "292278994-08-17T07:12:55.807Z")
    #expect(Timestamp.iso8601(.min) == "-292275055-05-16T16:47:04.192Z")
    #expect(Timestamp.httpDate(.max).hasSuffix("17 Aug 292278994 07:12:55 GMT"))
  }

  @Test(
    "S034 locale, calendar and time zone of the machine change no moment",
    arguments: [
      ("th_TH.UTF-8", "Asia/Bangkok"), ("ja_JP@calendar=japanese", "Pacific/Kiritimati"), ("ar_SA.UTF-8", "Etc/GMT+12"),
      ("en_US.UTF-8", "Asia/Kathmandu"),
    ])
  func environment(_ locale: String, _ zone: String) async throws {
    // In a process of its own, because the environment belongs to all tests at once.
    await #expect(processExitsWith: .success) { [locale = locale as String, zone = zone as String] in
      for name in ["LANG", "LC_ALL"] { setenv(name, locale, 1) }
      setenv("TZ", zone, 1)
      setlocale(LC_ALL, "")
      tzset()
      #expect(Timestamp.milliseconds("2026-10-20T10:00:00Z") == 1_792_490_400_000)
      #expect(Timestamp.milliseconds("1792490400") == 1_792_490_400_000)
      #expect(Timestamp.iso8601(1_792_490_400_000) == "2026-10-20T10:00:00.000Z")
      #expect(Timestamp.httpDate(1_792_490_400_000) == "Tue, 20 Oct 2026 10:00:00 GMT")
    }
  }
}
