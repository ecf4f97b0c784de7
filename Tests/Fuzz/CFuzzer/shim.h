// libFuzzer as a library. SwiftPM gives every executable a main function, so libFuzzer's own cannot be used.
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test_one_input)(const uint8_t *data, size_t size));
