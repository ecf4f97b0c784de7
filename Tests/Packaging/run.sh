#!/bin/bash
# Installs into a temporary prefix and uses the result as a stranger would: through pkg-config, through CMake, with the
# header alone, and the README's own programs.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/usr"

make --no-print-directory -s install PREFIX="$prefix"
source=Tests/Packaging/consumer.c

PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --exact-version="$version" kassa
# shellcheck disable=SC2046  # flags are words
gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -o "$work/by-pkg-config" $source \
  $(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs kassa)
[ "$(LD_LIBRARY_PATH="$prefix/lib" "$work/by-pkg-config")" = "$version" ]
echo "ok - a program through pkg-config"

cmake -S Tests/Packaging/cmake -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" && cmake --build "$work/cmake" >>"$work/log" ||
  { cat "$work/log"; exit 1; }
[ "$("$work/cmake/consumer")" = "$version" ]
echo "ok - a program through CMake"

if cmake -S Tests/Packaging/cmake -B "$work/newer" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED=99 >/dev/null 2>&1; then
  echo "not ok - CMake refuses a newer version than the installed one"
  exit 1
fi
echo "ok - CMake refuses a newer version than the installed one"

# The header alone is all that a program needs which loads the library itself: no Jansson, no library to link.
(cd "$work" && gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -o header-only \
  "$root/Tests/Packaging/header_only.c" -ldl)
[ "$("$work/header-only" "$prefix/lib/libkassa.so.1")" = "$version" ]
echo "ok - a program with the header alone"

PREFIX="$prefix" python3 Tests/Packaging/readme.py

make --no-print-directory -s install PREFIX=/usr DESTDIR="$work/stage"
[ -f "$work/stage/usr/lib/pkgconfig/kassa.pc" ] && ! grep -q "$work" "$work/stage/usr/lib/pkgconfig/kassa.pc"
make --no-print-directory -s uninstall PREFIX=/usr DESTDIR="$work/stage"
[ -z "$(find "$work/stage" ! -type d)" ]
echo "ok - staged, and uninstalled without a trace"
echo "Packaging tests passed."
