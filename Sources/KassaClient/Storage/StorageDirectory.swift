import Glibc
import KassaCore
import KassaPlatform

/// Where a client's file lies: made if missing, private, and set aside if it is damaged.
enum StorageDirectory {
  struct Opened {
    var storage: ClientStorage
    /// The name under which a damaged file was kept.
    var damagedFile: String?
  }

  private static let fileName = "kassa.db"

  static func open(_ directory: String, wallMilliseconds: Int64) throws(KassaError) -> Opened {
    if directory == ClientOptions.inMemory { return Opened(storage: try storage(directory), damagedFile: nil) }
    try make(directory)
    let path = "\(directory)/\(fileName)"
    do throws(DatabaseError) {
      return Opened(storage: try ClientStorage(path: path), damagedFile: nil)
    } catch {
      guard error.isCorrupt else { throw failure(error, path) }
    }
    let aside = "\(fileName).damaged-\(wallMilliseconds)"
    guard rename(path, "\(directory)/\(aside)") == 0 else {
      throw KassaError(.storage, "the damaged file \"\(path)\" cannot be set aside: \(systemErrorName(errno))")
    }
    for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
    return Opened(storage: try storage(path), damagedFile: aside)
  }

  private static func storage(_ path: String) throws(KassaError) -> ClientStorage {
    do throws(DatabaseError) { return try ClientStorage(path: path) } catch { throw failure(error, path) }
  }

  private static func failure(_ error: DatabaseError, _ path: String) -> KassaError {
    KassaError(.storage, "the storage \"\(path)\" cannot be opened: \(error)", retryable: error.isBusy || error.isFull)
  }

  /// Makes the directory and what is missing above it. What is made is private, and on disk.
  private static func make(_ directory: String) throws(KassaError) {
    var missing: [String] = []
    var path = directory
    var status = stat()
    while stat(path, &status) != 0 {
      guard errno == ENOENT, path != "/", path != "." else { break }
      missing.append(path)
      let parent = path.split(separator: "/", omittingEmptySubsequences: true).dropLast().joined(separator: "/")
      path = path.hasPrefix("/") ? "/" + parent : (parent.isEmpty ? "." : parent)
    }
    for path in missing.reversed() {
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
        throw KassaError(.storage, "the directory \"\(path)\" cannot be made: \(systemErrorName(errno))")
      }
    }
    guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw KassaError(.storage, "\"\(directory)\" is not a directory that can be used: \(systemErrorName(errno))")
    }
    // SQLite syncs a directory after it made a file there; that a directory itself lasts is up to us.
    for path in missing { syncParent(of: path) }
  }

  private static func syncParent(of path: String) {
    let descriptor = Glibc.open("\(path)/..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
