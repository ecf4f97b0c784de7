#!/bin/bash
# Builds the fuzz targets with libFuzzer and runs each of them.
#
#   Tests/Fuzz/run.sh [SECONDS] [NAME...]     60 seconds each, all of them
#
# Each starts from its corpus, Tests/Fuzz/corpus/NAME; what is found goes into .build/fuzz/found/NAME.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true
targets=("${@:-jws}")
scratch=.build/fuzz

# The module of each target, a dynamic library that exports LLVMFuzzerTestOneInput.
declare -A modules=([jws]=FuzzJWS)

clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
for target in "${targets[@]}"; do
  module=${modules[$target]}
  KASSA_FUZZ=1 nice swift build -c release --scratch-path "$scratch" --product "$module" \
    -Xswiftc -sanitize=fuzzer -Xswiftc -parse-as-library
  built=$(KASSA_FUZZ=1 swift build -c release --scratch-path "$scratch" --show-bin-path)
  echo 'int kassa_fuzz;' >"$scratch/empty.c"
  "$clang" -fsanitize=fuzzer -o "$scratch/$target" "$scratch/empty.c" -Wl,--no-as-needed -L"$built" -l"$module" \
    -Wl,-rpath,"$built" -Wl,-rpath,"$(dirname "$clang")/../lib/swift/linux"
  mkdir -p "$scratch/found/$target"
  "$scratch/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$scratch/found/$target/" "$scratch/found/$target" "Tests/Fuzz/corpus/$target"
done
echo "Fuzzing found nothing."
