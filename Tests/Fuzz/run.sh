#!/bin/bash
# Feeds the parsers with inputs that libFuzzer makes up from the corpus in this folder, under the address sanitizer.
# Ends with 1 at the first input that crashes one, and leaves it in build/fuzz.
#
#   Tests/Fuzz/run.sh [-s SECONDS] [TARGET ...]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=60
if [ "${1:-}" = -s ]; then
  seconds=$2
  shift 2
fi
targets=("$@")
[ $# -gt 0 ] || targets=($(cd Tests/Fuzz && find . -mindepth 1 -maxdepth 1 -type d ! -name corpus ! -name CFuzzer -printf '%f\n' | sort))

export KASSA_FUZZ=1
for target in "${targets[@]}"; do
  swift build --scratch-path .build/fuzz -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld --product "fuzz-$target" >&2
  # What is found stays in build/; the corpus in the repository is small and made by hand.
  found=build/fuzz/$target
  mkdir -p "$found"
  .build/fuzz/debug/"fuzz-$target" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$found/crash-" "$found" "Tests/Fuzz/corpus/$target"
done
