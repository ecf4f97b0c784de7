import Foundation
import Testing

@testable import KassaPlatform

@Suite struct BrowserTests {
  /// A program that writes down how it was called. A child writes its file: were it this process, another test that
  /// forks in that moment would hold the file open, and a program that somebody may still write to cannot be started.
  private func makeProgram(_ script: String) throws -> (program: String, output: String) {
    let directory = FileManager.default.temporaryDirectory.path + "/kassa-browser-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let output = directory + "/output"
    let program = directory + "/program"
    let text = "#!/bin/sh\n{ \(script); } > \(output).part\nmv \(output).part \(output)\n"
    let writer = try Process.run(
      URL(fileURLWithPath: "/bin/sh"),
      arguments: ["-c", #"printf %s "$1" > "$2" && chmod 700 "$2""#, "sh", text, program])
    writer.waitUntilExit()
    try #require(writer.terminationStatus == 0)
    return (program, output)
  }

  private func content(of path: String) async throws -> String {
    for _ in 0..<30_000 where !FileManager.default.fileExists(atPath: path) {
      try await Task.sleep(for: .milliseconds(1))
    }
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  @Test(arguments: [
    "", "file:///etc/passwd", "javascript:alert(1)", "ftp://example.com", "--help", "httpx://a", "http:/a",
    "https://a b", "https://a\nb", "https://a\0b",
  ])
  func onlyWebAddressesAreOpened(url: String) async throws {
    let (program, output) = try makeProgram("echo started")
    try await withLoop { loop in
      #expect(!Browser.open(url, with: program, on: loop))
      #expect(!FileManager.default.fileExists(atPath: output))
      #expect(Browser.open("https://example.com", with: program, on: loop))
      let text = try await content(of: output)
      #expect(text == "started\n")
    }
  }

  @Test func theAddressIsOneArgumentAndNoShellReadsIt() async throws {
    let url = "HTTPS://example.com/?a='$(id)'&b=;`id`\"|"
    let (program, output) = try makeProgram(#"printf '%s\n' "$#" "$1""#)
    try await withLoop { loop in
      #expect(Browser.open(url, with: program, on: loop))
      let text = try await content(of: output)
      #expect(text == "1\n\(url)\n")
    }
  }

  @Test func theProgramStartsClean() async throws {
    let inherited = open("/dev/zero", O_RDONLY)
    defer { close(inherited) }
    let (program, output) = try makeProgram(
      "readlink /proc/$$/fd/0 /proc/$$/fd/2; [ -e /proc/$$/fd/\(inherited) ] && echo leaked; grep SigBlk /proc/self/status"
    )
    try await withLoop { loop in
      // The loop's thread blocks every signal.
      let isOpen = loop.sync { Browser.open("http://example.com", with: program, on: loop) }
      #expect(isOpen)
      let text = try await content(of: output)
      #expect(text == "/dev/null\n/dev/null\nSigBlk:\t0000000000000000\n")
    }
  }

  @Test func theChildIsCollected() async throws {
    let (program, output) = try makeProgram("echo $$")
    try await withLoop { loop in
      #expect(Browser.open("http://example.com", with: program, on: loop))
      let child = try await content(of: output).trimmingCharacters(in: .newlines)
      for _ in 0..<30_000 where FileManager.default.fileExists(atPath: "/proc/\(child)") {
        try await Task.sleep(for: .milliseconds(1))
      }
      #expect(!FileManager.default.fileExists(atPath: "/proc/\(child)"))
    }
  }

  @Test func aMissingProgramIsToldOf() async throws {
    try await withLoop { loop in
      #expect(!Browser.open("https://example.com", with: "/nonexistent/browser", on: loop))
    }
  }
}
