#!/bin/bash
# Puts what SwiftPM built into build/ under its public names: the library stripped, its debug information beside it.
#
#   scripts/stage.sh PRODUCTS VERSION SOVERSION
set -euo pipefail
cd "$(dirname "$0")/.."
products=$1 library=libkassa.so.$2 soname=libkassa.so.$3

mkdir -p build
objcopy --only-keep-debug "$products/libkassa.so" "build/$library.debug"
objcopy --strip-unneeded --add-gnu-debuglink="build/$library.debug" "$products/libkassa.so" "build/$library"
ln -sf "$library" "build/$soname"
ln -sf "$soname" build/libkassa.so
strip -o build/kassa-sandbox "$products/kassa-sandbox"
