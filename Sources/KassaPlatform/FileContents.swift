import Glibc

/// Why a file that the user names cannot be read, after its name: `is a directory`.
public struct FileProblem: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String
}

/// The bytes of a regular file. Whatever else the path names is refused: a pipe, for one, would be waited for.
public func contents(ofFile path: String, limit: Int) throws(FileProblem) -> [UInt8] {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
  guard descriptor >= 0 else { throw FileProblem.error(errno) }
  defer { close(descriptor) }
  var status = stat()
  guard fstat(descriptor, &status) == 0 else { throw FileProblem.error(errno) }
  switch status.st_mode & S_IFMT {
  case S_IFREG: break
  case S_IFDIR: throw FileProblem(description: "is a directory")
  default: throw FileProblem(description: "is no regular file")
  }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  while true {
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0, errno == EINTR { continue }
    guard count >= 0 else { throw FileProblem.error(errno) }
    guard bytes.count + count <= limit else {
      throw FileProblem(description: "is too long: at most \(limit) bytes are read")
    }
    if count == 0 { return bytes }
    bytes += buffer.prefix(count)
  }
}

extension FileProblem {
  fileprivate static func error(_ number: Int32) -> FileProblem {
    switch number {
    case ENOENT, ENOTDIR: FileProblem(description: "does not exist")
    case EACCES, EPERM: FileProblem(description: "may not be read")
    default: FileProblem(description: "cannot be read (\(systemErrorName(number)))")
    }
  }
}
