import CCurl
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
    guard header.isWellFormed else {
      throw .malformed("a header of the request has a line break in it, or no name")
    }
    let separator = header.value.isEmpty ? ";" : ": "
    let count = header.name.utf8.count + separator.utf8.count + header.value.utf8.count
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { line in
      var end = 0
      for var part in [header.name, separator, header.value] {
        part.withUTF8 { bytes in
          for byte in bytes {
            line[end] = CChar(bitPattern: byte)
            end += 1
          }
        }
      }
      line[end] = 0
      if let start = line.baseAddress { add(start) }
    }
  }
}

extension HTTPHeader {
  fileprivate var isWellFormed: Bool {
    func isOneLine(_ byte: UInt8) -> Bool { byte != 0 && byte != 0x0A && byte != 0x0D }
    let isName = name.utf8.allSatisfy { isOneLine($0) && $0 != UInt8(ascii: ":") }
    return !name.isEmpty && isName && value.utf8.allSatisfy(isOneLine)
  }
}
