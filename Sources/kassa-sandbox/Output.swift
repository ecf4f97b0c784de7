import Glibc

/// Writes at once, without a buffer: who started this program waits for its first line.
func writeLine(_ text: String, to descriptor: Int32) {
  let line = Array("\(text)\n".utf8)
  var written = 0
  while written < line.count {
    let count = line[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    guard count > 0 || errno == EINTR else { return }
    written += max(0, count)
  }
}
