#!/bin/bash
# Measures the figures the project promises, each against its yardstick in the same run, and prints them with their
# gates. Ends with 1 if one is missed.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export KASSA_LIBRARY="$PWD/build/libkassa.so" PYTHONPATH="$PWD/bindings/python/src"
unset KASSA_APP_ID
python=.venv/bin/python
here=Tests/Benchmarks

for program in process_start first_answer dlopen_curl memberships operation has_access queueing outbox curl_loop; do
  libraries=(-ljansson -pthread -ldl -lsqlite3 -lcurl)
  case $program in
    process_start | dlopen_curl | first_answer | memberships | operation | has_access) libraries=(-ljansson -pthread -ldl) ;;
  esac
  case $program in process_start | dlopen_curl | curl_loop) ;; *) libraries+=(-Lbuild -Wl,-rpath,"$PWD/build" -lkassa) ;; esac
  gcc -std=c99 -D_GNU_SOURCE -O2 -Wall -Wextra -Wpedantic -Werror -IInclude -o "$work/$program" "$here/$program.c" \
    "${libraries[@]}"
done

gcc -std=c99 -D_GNU_SOURCE -O2 -Wall -Wextra -Wpedantic -Werror -IInclude -o "$work/verify" "$here/verify.c" \
  -ljansson -lcrypto -Lbuild -Wl,-rpath,"$PWD/build" -lkassa

echo "Preparing 1,000 memberships ..." >&2
$python $here/prepare.py build/kassa-sandbox "$work/data"
# The largest of the published files, or our own where they are absent.
storekit=../shared/data/storekit/41-RevenueCat-purchases-ios.storekit
[ -e "$storekit" ] || storekit=Tests/KassaStores/Fixtures/everything.storekit
year=../shared/data/storekit/30-Ikaikaalika-LegacyLense.storekit
[ -e "$year" ] || year=Tests/KassaStores/Fixtures/two_levels.storekit
state=$work/data/state config=$work/data/config.json owned=$(head -1 "$work/data/ids")

{
  "$work/has_access" "$state" "$config" "$work/data/ids" | sed 's/\t/, 1,000 grants\t/'
  "$work/has_access" "$work/data/large_state" "$config" "$work/data/large_ids" | sed 's/\t/, 100,000 grants\t/'
  "$work/process_start" "start to first offline answer in C, against dlopen of libcurl" 1.0 41 \
    "$work/first_answer" "$state" "$config" "$owned" -- "$work/dlopen_curl"
  "$work/process_start" "the same in Python, against importing whop_sdk" 0.25 15 \
    $python $here/first_answer.py "$state" "$config" "$owned" -- $python $here/import_whop_sdk.py
  "$work/memberships" "$state" "$config"
  "$work/operation"
  for mode in host library; do
    mkdir "$work/queueing_$mode"
    "$work/queueing" "$work/queueing_$mode" $mode
  done
  $python $here/outbox.py build/kassa-sandbox "$work" "$work/outbox_data"
  .build/release-static/release/bench-store "$storekit" "$year" "$work"
  $python $here/verify.py "$work/verify" "$work/signed"
  bytes=$(stat -Lc %s build/libkassa.so)
  awk -v bytes="$bytes" 'BEGIN {printf "size of the stripped library, in 10 MB\t%.2f\t1.00\t%d bytes\n", bytes / 1e7, bytes}'
} >"$work/figures"

awk -F '\t' '
  BEGIN { printf "%-72s %6s %6s  %-4s  %s\n", "figure", "ratio", "gate", "", "" }
  { verdict = $2 <= $3 ? "pass" : "FAIL"; if (verdict == "FAIL") missed++
    printf "%-72s %6.2f %6.2f  %-4s  %s\n", $1, $2, $3, verdict, $4 }
  END { exit missed > 0 }
' "$work/figures"
