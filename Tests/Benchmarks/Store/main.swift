import CJansson
import Glibc
import KassaStores

// bench-store FILE.storekit YEAR.storekit FOLDER: measures the parts of the simulated store, and writes a line for each as run.sh wants them:
// figure, ratio, gate, remark. The folder is where databases may lie.
// bench-store --years COUNT YEAR.storekit: runs so many years; fails if two of them differ.

func fail(_ message: String) -> Never {
  let text = "bench-store: \(message)\n"
  _ = write(2, text, text.utf8.count)
  exit(2)
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 3 else { fail("usage: bench-store FILE.storekit YEAR.storekit FOLDER") }

if arguments[0] == "--years" {
  guard let count = Int(arguments[1]), let file = contents(arguments[2]) else { fail("usage: --years COUNT FILE") }
  do {
    let (different, hash) = try await repeatYears(count, file)
    print("\(count) years, \(different) different event logs, hash \(hash)")
    exit(different == 1 ? 0 : 1)
  } catch { fail("\(arguments[2]): \(error)") }
}

let path = arguments[0]
guard let bytes = contents(path), let year = contents(arguments[1]) else { fail("a file cannot be read") }

/// Reading a `.storekit` file, against Jansson's parse of the same bytes.
let reading = Comparison(rounds: 31, repetitions: 50) {
  do { try consume(StoreKitFile.read(bytes)) } catch { fail("\(path): \(error)") }
} against: {
  let tree = bytes.withUnsafeBytes { json_loadb($0.baseAddress, $0.count, 0, nil) }
  guard let tree else { fail("\(path): Jansson cannot read it") }
  json_decref(tree)
}
reading.print("reading a .storekit file of \(bytes.count) bytes, against json_loadb of it", gate: 5)

/// A year in the simulated store, against SQLite and libcrypto doing as much.
do {
  let (years, work) = try await compareYears(year, folder: arguments[2], rounds: 15)
  years.print(
    "a scripted year of \(work.commits) commits and \(work.signatures) signatures, against both bare", gate: 2)
} catch { fail("\(arguments[1]): \(error)") }
