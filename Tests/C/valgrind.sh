#!/bin/bash
# The whole flow under valgrind: no invalid access, nothing definitely lost. (Swift's runtime keeps metadata that counts
# as "possibly lost" or "reachable".) The library is cut off from its debug information, which valgrind 3.19 cannot read.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^VERSION *:= *//p' Makefile)

objcopy --remove-section .gnu_debuglink "$LIBRARY_DIR/libkassa.so" "$work/libkassa.so.1"
ln -s libkassa.so.1 "$work/libkassa.so"

for program in flow ownership; do
  gcc -std=c99 -D_GNU_SOURCE -g -IInclude -ITests/C -DKASSA_VERSION="\"$version\"" -o "$work/$program" \
    "Tests/C/$program.c" Tests/C/check.c Tests/C/support.c -L"$work" -Wl,-rpath,"$work" \
    -lkassa -ljansson -pthread
  if valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite \
    --fair-sched=yes "$work/$program" >"$work/output" 2>&1; then
    echo "ok - $program under valgrind"
  else
    echo "not ok - $program under valgrind"
    sed 's/^/# /' "$work/output" | head -100
    exit 1
  fi
done
