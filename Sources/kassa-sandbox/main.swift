import Glibc
import KassaCore
import KassaPlatform
import KassaSandbox

let options: Options
do throws(UsageError) {
  options = try Options(CommandLine.arguments.dropFirst())
} catch {
  fail("\(error.text)\n\(Options.usage)", status: 2)
}
if options.wantsHelp {
  writeLine(Options.usage, to: STDOUT_FILENO)
  exit(0)
}

do {
  let loop = try EventLoop(mode: .host)
  let server = try SandboxServer(options, loop: loop)
  writeLine("kassa-sandbox listening on \(server.url)", to: STDOUT_FILENO)
  while !loop.wait(timeoutMilliseconds: -1, until: { false }) {}
} catch let error as KassaError {
  fail(error.message, status: 1)
} catch {
  fail("\(error)", status: 1)
}

func fail(_ text: String, status: Int32) -> Never {
  writeLine("kassa-sandbox: \(text)", to: STDERR_FILENO)
  exit(status)
}
