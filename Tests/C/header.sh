#!/bin/bash
# The header compiles alone, twice in one unit and in two linked units, with each compiler and language version.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings=(-Wall -Wextra -Wpedantic -Werror -Wundef -Wstrict-prototypes -Wmissing-prototypes)
warnings_cxx=(-Wall -Wextra -Wpedantic -Werror -Wundef -Wold-style-cast)

echo '#include "kassa.h"' >"$work/alone.c"
printf '#include "kassa.h"\n#include "kassa.h"\n' >"$work/twice.c"
printf '#include "kassa.h"\nint main(void) { return kassa_version() == 0; }\n' >"$work/one.c"
printf '#include "kassa.h"\nconst char *other(void);\nconst char *other(void) { return kassa_version(); }\n' >"$work/two.c"
printf '#include <jansson.h>\n#include "kassa.h"\n#include <curl/curl.h>\n#include <sqlite3.h>\n' >"$work/beside.c"

# Whether a compiler knows a language version at all.
knows() { echo 'int x;' | "$1" -x "$2" "-std=$3" -fsyntax-only - 2>/dev/null; }

try() {
  local compiler=$1 language=$2 standard=$3
  shift 3
  knows "$compiler" "$language" "$standard" || return 0
  for source in alone twice beside; do
    "$compiler" -x "$language" "-std=$standard" "$@" -IInclude -fsyntax-only "$work/$source.c"
  done
  "$compiler" -x "$language" "-std=$standard" "$@" -IInclude -o "$work/linked" "$work/one.c" "$work/two.c" \
    -L"$LIBRARY_DIR" -lkassa
  echo "ok - $compiler $standard"
}

for compiler in gcc clang; do
  for standard in c99 c11 c17 c2x c23; do try "$compiler" c "$standard" "${warnings[@]}"; done
done
for compiler in g++ clang++; do
  for standard in c++11 c++14 c++17 c++20 c++23; do try "$compiler" c++ "$standard" "${warnings_cxx[@]}"; done
done
