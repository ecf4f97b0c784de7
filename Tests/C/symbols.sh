#!/bin/bash
# Header, version script, exported symbols and Swift implementations name the same functions, and so do the tests that
# must call each of them.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# A declaration: the name before a parenthesis, in lines that are no comment.
sed -e 's|/\*.*\*/||' -e '/\/\*/,/\*\//d' Include/kassa.h | grep -oE '\bkassa_[a-z0-9_]+ *\(' | tr -d '( ' |
  sort -u >"$work/header"
grep -oE '\bkassa_[a-z0-9_]+;' Sources/Kassa/kassa.map | tr -d ';' | sort -u >"$work/map"
nm -D --defined-only "$LIBRARY_DIR/libkassa.so" | awk '$2 != "A" {print $3}' | sort -u >"$work/exported"
sed 's/$/@@KASSA_1/' "$work/header" >"$work/versioned"
grep -rhoE '@(_cdecl|c)\("?kassa_[a-z0-9_]+"?\)' Sources/Kassa | grep -oE 'kassa_[a-z0-9_]+' | sort -u >"$work/swift"
grep -oE '\bkassa_[a-z0-9_]+\(' Tests/C/abuse.c | tr -d '(' | sort -u >"$work/abuse"

same() {
  if diff "$work/$1" "$work/$2" >"$work/difference"; then
    echo "ok - $3"
  else
    echo "not ok - $3"
    sed 's/^/# /' "$work/difference"
    failed=1
  fi
}
same header map "header and version script"
same versioned exported "header and exported symbols, all of version KASSA_1"
same header swift "header and implementations"
[ -s "$work/header" ] || { echo "not ok - the header declares functions"; failed=1; }

# What abuse.c leaves out on purpose: they take no client and no argument that could be wrong.
grep -vxE 'kassa_(shared|version)' "$work/header" | comm -23 - "$work/abuse" >"$work/uncalled"
if [ -s "$work/uncalled" ]; then
  echo "not ok - abuse.c calls every function; it lacks $(tr '\n' ' ' <"$work/uncalled")"
  failed=1
else
  echo "ok - abuse.c calls every function"
fi
exit $failed
