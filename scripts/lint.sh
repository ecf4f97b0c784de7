#!/bin/bash
# Style, types, and what the library must never call. Prints what is wrong; silence is success.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
complain() { echo "lint: $1" >&2; status=1; }

swift format lint --strict --recursive --parallel Package.swift Sources Tests || complain "swift format (make format)"

.venv/bin/python -m ruff check bindings examples Tests || complain "ruff check"
.venv/bin/python -m ruff format --check bindings examples Tests || complain "ruff format (make format)"
.venv/bin/python -m mypy bindings/python/src bindings/python/build_wheel.py Tests/Python Tests/Crash examples/python || complain "mypy"

for file in Sources/System/*/*.c; do
  clang -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I"$(dirname "$file")/include" "$file" || complain "$file"
done

# forbid PATTERN WHY: in the library's Swift sources, comments apart.
library=(Sources/Kassa Sources/Kassa[A-Z]*)
forbid() {
  local found
  found=$(grep -rnE --include='*.swift' "$1" "${library[@]}" | grep -vE '^[^:]+:[0-9]+:[[:space:]]*//' || true)
  [ -z "$found" ] || { echo "$found" >&2; complain "$2"; }
}
forbid '^\s*(@[a-z_]+ )?(public )?import (Foundation|FoundationEssentials|Dispatch)\b' \
  "Foundation and Dispatch stay out of the library"
forbid '\bTask\.sleep|ContinuousClock\(\)\.sleep' "use the loop's timers: Task.sleep starts threads"
forbid '\bTask(\.detached)?\s*(\{|\(priority)|\bMainActor\b' \
  "use Task(executorPreference:): other tasks start threads or hang"
forbid '\b(DispatchQueue|Thread|URLSession)\b' "the loop is the only thread"
forbid '\.properties\.name\b' "the library has no names of characters (Sources/System/CStandIns)"
forbid '\b(print|debugPrint|dump)\(' "a library writes nothing to the host's output"
forbid '\b(fatalError|preconditionFailure|assert(ionFailure)?)\(' "a trap ends the host's process"
forbid '\btry!|\bas!' "a trap ends the host's process"

exit $status
