import CFuzzer
import Glibc
import KassaStores

/// Whatever the bytes are: a catalogue, or an error that is no longer than a few lines.
@_cdecl("LLVMFuzzerTestOneInput")
func readStoreKitFile(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do {
    _ = try StoreKitFile.read(Array(UnsafeBufferPointer(start: start, count: count)))
  } catch {
    precondition(error.description.utf8.count < 1000, "a long error")
  }
  return 0
}

var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
exit(LLVMFuzzerRunDriver(&count, &arguments, readStoreKitFile))
