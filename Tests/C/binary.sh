#!/bin/bash
# What the linker made: names, dependencies, flags and size of the stripped library.
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$LIBRARY_DIR/libkassa.so
failed=0
dynamic=$(readelf -dW "$library")
segments=$(readelf -lW "$library")
strings=$(strings -a "$library")

check() {
  if [ "$2" = "$3" ]; then
    echo "ok - $1"
  else
    echo "not ok - $1: expected \"$3\", found \"$2\""
    failed=1
  fi
}
count() { grep -cE "$2" <<<"$1" || true; }

needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic" | grep -v '^ld-linux' | LC_ALL=C sort | tr '\n' ' ')
check "soname" "$(sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p' <<<"$dynamic")" "libkassa.so.1"
check "needed libraries" "$needed" \
  "libc.so.6 libcares.so.2 libcrypto.so.3 libgcc_s.so.1 libjansson.so.4 libm.so.6 libsqlite3.so.0 libstdc++.so.6 "
check "no search path" "$(count "$dynamic" 'RUNPATH|RPATH')" 0
check "never unloaded" "$(count "$dynamic" 'FLAGS_1.*NODELETE')" 1
check "no text relocations" "$(count "$dynamic" 'TEXTREL')" 0
check "no executable stack" "$(grep -E 'GNU_STACK' <<<"$segments" | grep -cE 'RWE' || true)" 0
check "no segment both writable and executable" "$(count "$segments" '^ +LOAD.* RWE ')" 0
check "only KASSA_1 is defined" \
  "$(readelf -VW "$library" | sed -n '/Version definition/,/Version needs/p' | grep -oE 'Name: [A-Z_0-9]+$' |
    sort -u | tr '\n' ' ')" "Name: KASSA_1 "
check "no sections of debug information" "$(readelf -SW "$library" | grep -cE '\.debug_|\.symtab' || true)" 0
check "debug information lies beside it" \
  "$(readelf -SW "$LIBRARY_DIR"/libkassa.so.*.debug | grep -cE '\.debug_info' || true)" 1
check "no Foundation" "$(count "$strings" 'FoundationEssentials|NSObject|libicu')" 0
check "no Dispatch" "$(count "$strings" '_dispatch_(worker_thread|workq|root_queue|event_loop)|com\.apple\.root\.')" 0
check "no path of the machine that built it" "$(count "$strings" "^$PWD/")" 0

bytes=$(stat -Lc %s "$library")
check "at most 10 MB ($bytes bytes)" "$((bytes <= 10000000))" 1
exit $failed
