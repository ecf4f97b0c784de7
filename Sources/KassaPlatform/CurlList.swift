import CCurl
import Glibc
import KassaCore

/// Lines that libcurl reads while a transfer runs.
final class CurlList {
  private(set) var first: UnsafeMutablePointer<curl_slist>?
  private var last: UnsafeMutablePointer<curl_slist>?
  private let curl: kassa_curl

  init(_ curl: kassa_curl) { self.curl = curl }

  deinit { curl.slist_free_all(first) }

  /// A text without NUL.
  func add(_ line: UnsafePointer<CChar>) {
    let added = curl.slist_append(last, line)
    if first == nil { first = added }
    last = last?.pointee.next ?? added
  }

  /// libcurl wants a semicolon where there is no value. In place, since every request has many.
  func add(_ header: HTTPHeader) throws(TransportError) {
    let separator = header.value.isEmpty ? ";" : ": "
    let count = header.name.utf8.count + separator.utf8.count + header.value.utf8.count
    let isWellFormed = withUnsafeTemporaryAllocation(byteCount: count + 1, alignment: 1) { line in
      var end = 0
      for var part in [header.name, separator, header.value] {
        part.withUTF8 { bytes in
          UnsafeMutableRawBufferPointer(rebasing: line[end...]).copyMemory(from: UnsafeRawBufferPointer(bytes))
          end += bytes.count
        }
      }
      line[end] = 0
      guard let start = line.baseAddress else { return false }
      func contains(_ byte: Int32, in part: Int) -> Bool { memchr(start, byte, part) != nil }
      let isName = !header.name.isEmpty && !contains(0x3A, in: header.name.utf8.count)
      guard isName, ![0x00, 0x0A, 0x0D].contains(where: { contains($0, in: end) }) else { return false }
      add(start.assumingMemoryBound(to: CChar.self))
      return true
    }
    guard isWellFormed else { throw .malformed("a header of the request has a line break in it, or no name") }
  }
}
