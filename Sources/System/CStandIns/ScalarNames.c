/* Keeps the names of Unicode's characters out of libkassa.so: 550 KB, which Swift's library keeps for
 * `Unicode.Scalar.Properties.name` alone. The linker sends that one caller here (`--wrap`, in the Makefile).
 *
 * No bytes written stand for a character without a name. */
#include "CStandIns.h"

#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, intptr_t capacity);
HIDDEN intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, intptr_t capacity) {
  (void)scalar, (void)buffer, (void)capacity;
  return 0;
}
