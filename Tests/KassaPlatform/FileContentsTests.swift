import Foundation
import Glibc
import KassaPlatform
import Testing

@Suite("A file that the user names")
struct FileContentsTests {
  @Test(.timeLimit(.minutes(1))) func onlyARegularFileIsRead() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kassa-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func write(_ name: String, _ text: String) -> String {
      _ = FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: Data(text.utf8))
      return "\(folder)/\(name)"
    }
    #expect(try contents(ofFile: write("full", "12345678"), limit: 8) == Array("12345678".utf8))
    #expect(try contents(ofFile: write("empty", ""), limit: 8) == [])
    // Nobody writes into it: whoever waited would wait for ever.
    #expect(mkfifo("\(folder)/pipe", 0o600) == 0)
    let problems = [
      write("long", "123456789"): "is too long: at most 8 bytes are read", folder: "is a directory",
      "\(folder)/pipe": "is no regular file", "/dev/null": "is no regular file", "\(folder)/none": "does not exist",
      "\(folder)/full/none": "does not exist", "": "does not exist",
    ]
    for (path, problem) in problems {
      let found = #expect(throws: FileProblem.self) { try contents(ofFile: path, limit: 8) }
      #expect(found?.description == problem, "\(path)")
    }
  }
}
