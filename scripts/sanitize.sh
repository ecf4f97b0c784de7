#!/bin/bash
# Runs the Swift tests, and the C programs that share threads and memory with the library, under one sanitizer.
#
#   scripts/sanitize.sh address|thread
set -euo pipefail
cd "$(dirname "$0")/.."
sanitizer=$1
scratch=.build/$sanitizer

# Leaks are valgrind's part (Tests/C/valgrind.sh): the leak checker cannot follow Swift's tagged references.
export ASAN_OPTIONS=detect_leaks=0

nice swift test --sanitize="$sanitizer" --scratch-path "$scratch"
nice swift build --sanitize="$sanitizer" --scratch-path "$scratch" --product kassa
SANITIZER=$sanitizer LIBRARY_DIR=$scratch/debug Tests/C/run.sh
