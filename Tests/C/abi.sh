#!/bin/bash
# The types of the ABI against the recorded ones. libabigail sees none in Swift's objects, so the header itself is
# compiled over C bodies that do nothing, and that "shadow" library is compared.
#
#   Tests/C/abi.sh            compares with Tests/C/abi/kassa-1.abi
#   Tests/C/abi.sh --record   records anew: for a release that adds functions
set -euo pipefail
cd "$(dirname "$0")/../.."
baseline=Tests/C/abi/kassa-1.abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 Tests/C/abi/shadow.py Include/kassa.h >"$work/shadow.c"
root=$PWD
(cd "$work" && gcc -std=c99 -g -shared -fPIC -Wl,-soname=libkassa.so.1 \
  -Wl,--version-script="$root/Sources/Kassa/kassa.map" -I"$root/Include" -o shadow.so shadow.c)

record() { abidw --no-comp-dir-path --no-corpus-path --no-show-locs --out-file "$1" "$work/shadow.so"; }

if [ "${1:-}" = --record ]; then
  record "$baseline"
elif abidiff --harmless "$baseline" "$work/shadow.so" >"$work/difference"; then
  echo "ok - the ABI is the recorded one"
else
  echo "not ok - the ABI is the recorded one (added functions: Tests/C/abi.sh --record)"
  sed 's/^/# /' "$work/difference"
  exit 1
fi
