#!/bin/bash
# Each program of examples/c, with scripted input, on the sandbox in the process.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

build() {
  gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -IInclude -o "$work/$1" "examples/c/$1.c" \
    -L"$LIBRARY_DIR" -Wl,-rpath,"$LIBRARY_DIR" -lkassa -ljansson
}

# expect NAME OUTPUT PATTERN...: the patterns stand in the output, in this order.
expect() {
  local name=$1 output=$2 rest=$2 pattern
  shift 2
  for pattern in "$@"; do
    if ! [[ $rest =~ $pattern ]]; then
      echo "not ok - $name: \"$pattern\" is missing in its place"
      sed 's/^/# /' <<<"$output"
      failed=1
      return
    fi
    rest=${rest#*"${BASH_REMATCH[0]}"}
  done
  echo "ok - $name"
}

for program in quickstart paywall epoll game demo observer; do build "$program"; done

expect quickstart "$("$work/quickstart")" '[0-9]' 'You have access'
expect paywall "$(printf '1\nlogin ada\nlogout\nrestore\nlogin ada\n99\nquit\n' | "$work/paywall")" \
  'Guest\. Not subscribed' 'Bought\. Receipt: pay_' 'Guest\. Subscribed' 'ada\. Subscribed' 'Guest\. Not subscribed' \
  'Nothing to restore' 'ada\. Subscribed' 'There is no such plan'
expect epoll "$( (sleep 1; echo buy; sleep 1; echo quit) | "$work/epoll")" \
  'configure completed' 'purchase started' 'subscribed: yes'
expect game "$("$work/game" 60)" 'configure completed' 'the golden level opens'
expect observer "$("$work/observer")" \
  'waiting receipts: 0' 'premium: no' 'read_only_purchase_not_allowed' 'sold com\.example\.app\.pro\.monthly as transaction ([0-9]{20})' \
  'reported [0-9]{20}' 'finished transaction' 'waiting receipts: 0' 'grant: premium, active' 'premium: yes'
exit $failed
