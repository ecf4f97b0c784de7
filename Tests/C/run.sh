#!/bin/bash
# Builds each C program of this folder against the library and runs it, then the checks of the header and the binary.
#
#   Tests/C/run.sh [NAME...]        only these: a program ("waiting") or a script ("header")
#
# LIBRARY_DIR is where libkassa.so lies (build), SANITIZER the one it was built with (none): then only the programs run.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=$(sed -n 's/^VERSION *:= *//p' Makefile)
library_dir=$PWD/${LIBRARY_DIR:-build}
sanitizer=${SANITIZER:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The programs find no state, no settings and no language of the person who runs them.
unset KASSA_APP_ID LC_ALL LC_MONETARY LD_PRELOAD
export LANG=C.UTF-8 XDG_DATA_HOME="$work/data" TMPDIR="$work"

compiler=(gcc)
libraries=(-ljansson -pthread)
if [ -n "$sanitizer" ]; then
  # Sanitized Swift needs the toolchain's own compiler and Dispatch, which replaces the stub in such builds.
  swift_lib=$(dirname "$(readlink -f "$(command -v swift)")")/../lib/swift/linux
  compiler=(clang "-fsanitize=$sanitizer")
  libraries+=(-L"$swift_lib" -Wl,-rpath,"$swift_lib" -ldispatch -lBlocksRuntime)
fi

compile() {
  "${compiler[@]}" -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -g -IInclude -ITests/C \
    -DKASSA_VERSION="\"$version\"" -DLIBRARY="\"$library_dir/libkassa.so\"" -o "$work/$1" \
    "Tests/C/$1.c" Tests/C/check.c "${@:2}"
}

build_program() {
  if [ "$1" = unloading ]; then
    compile "$1" -ldl
  else
    compile "$1" Tests/C/support.c -L"$library_dir" -Wl,-rpath,"$library_dir" -lkassa "${libraries[@]}"
  fi
}

programs=(flow abuse ownership waiting event_loops closing offline guest leaving full_disk)
scripts=()
if [ -z "$sanitizer" ]; then
  # Sanitizers have threads, memory and time of their own, and want no threads after fork.
  programs+=(forking cycles lookups speed unloading json_c)
  scripts=(header symbols binary abi valgrind leaving_tls examples)
fi

selected() {
  [ "${#only[@]}" = 0 ] || [[ " ${only[*]} " == *" $1 "* ]]
}
only=("$@")
failed=()
for program in "${programs[@]}"; do
  selected "$program" || continue
  echo "# $program"
  build_program "$program" && timeout 300 "$work/$program" || failed+=("$program")
done
export LIBRARY_DIR="$library_dir"
for script in "${scripts[@]}"; do
  selected "$script" || continue
  echo "# $script"
  timeout 600 "Tests/C/$script.sh" || failed+=("$script")
done

if [ "${#failed[@]}" -gt 0 ]; then
  echo "C tests failed: ${failed[*]}" >&2
  exit 1
fi
echo "C tests passed."
