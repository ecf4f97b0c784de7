#!/bin/bash
# One story, told by a C and by a Python program: a guest buys on the sandbox's real checkout page, logs in, logs out,
# restores; then the sandbox is switched off, the program starts anew, and still has access.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
server=
stop_server() { [ -z "$server" ] || { kill "$server" && wait "$server" || true; server=; } 2>/dev/null; }
trap 'stop_server; rm -rf "$work"' EXIT

start_server() {
  build/kassa-sandbox --port 0 --quiet >"$work/server" &
  server=$!
  for _ in $(seq 100); do
    base_url=$(sed -n 's/.*listening on //p' "$work/server")
    [ -z "$base_url" ] || return 0
    sleep 0.05
  done
  echo "the sandbox did not start" >&2
  exit 1
}

# The library opens the user's browser with xdg-open. Here the user is a script, so that nobody has to click.
export PATH="$PWD/examples/robot-browser:$PATH"

gcc -std=c99 -Wall -Wextra -Wpedantic -O2 -IInclude -o "$work/demo" examples/c/demo.c \
  -Lbuild -Wl,-rpath,"$PWD/build" -lkassa -ljansson

tell() {
  local language=$1
  shift
  start_server
  echo "== $language: online, on the sandbox at $base_url"
  "$@" "$base_url" "$work/$language"
  stop_server
  echo "== $language: the same again, with the sandbox switched off"
  "$@" "$base_url" "$work/$language" --offline
  echo
}

tell C "$work/demo"
KASSA_LIBRARY="$PWD/build/libkassa.so" PYTHONPATH=bindings/python/src tell Python python3 examples/python/demo.py
