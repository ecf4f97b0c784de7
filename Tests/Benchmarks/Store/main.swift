import CJansson
import Glibc
import KassaStores

// bench-store FILE.storekit: measures the parts of the simulated store, and writes a line for each as run.sh wants them:
// figure, ratio, gate, remark.

func fail(_ message: String) -> Never {
  let text = "bench-store: \(message)\n"
  _ = write(2, text, text.utf8.count)
  exit(2)
}

guard CommandLine.arguments.count == 2, let path = CommandLine.arguments.last, let bytes = contents(path) else {
  fail("usage: bench-store FILE.storekit")
}

/// Reading a `.storekit` file, against Jansson's parse of the same bytes.
let reading = Comparison(rounds: 31, repetitions: 50) {
  do { try consume(StoreKitFile.read(bytes)) } catch { fail("\(path): \(error)") }
} against: {
  let tree = bytes.withUnsafeBytes { json_loadb($0.baseAddress, $0.count, 0, nil) }
  guard let tree else { fail("\(path): Jansson cannot read it") }
  json_decref(tree)
}
reading.print("reading a .storekit file of \(bytes.count) bytes, against json_loadb of it", gate: 5)
