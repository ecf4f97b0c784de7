#!/bin/bash
# As leaving.c, with a TLS connection open: OpenSSL and libcurl have exit handlers of their own.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$work/key.pem" -out "$work/certificate.pem" 2>"$work/openssl"
export CURL_CA_BUNDLE="$work/certificate.pem"
gcc -std=c99 -D_GNU_SOURCE -IInclude -ITests/C -o "$work/leaving" Tests/C/leaving.c Tests/C/check.c Tests/C/support.c \
  -L"$LIBRARY_DIR" -Wl,-rpath,"$LIBRARY_DIR" -lkassa -ljansson -pthread

# The server reads requests, prints them and answers none. Its standard input stays open, or it would end.
mkfifo "$work/silence"
openssl s_server -accept 127.0.0.1:0 -key "$work/key.pem" -cert "$work/certificate.pem" \
  0<>"$work/silence" >>"$work/requests" 2>&1 &
server=$!
for _ in $(seq 100); do
  port=$(sed -n 's/^ACCEPT .*:\([0-9]*\)$/\1/p' "$work/requests" | head -1)
  [ -n "$port" ] && break
  sleep 0.05
done

failed=0
for mode in library host; do
  for how in return exit _exit; do
    : >"$work/requests"
    status=0
    timeout 3 "$work/leaving" "https://127.0.0.1:$port" "$mode" "$how" >"$work/output" 2>&1 || status=$?
    if [ "$status" = 0 ] && grep -aq 'GET /' "$work/requests"; then
      echo "ok - $how with TLS open, $mode mode"
    else
      echo "not ok - $how with TLS open, $mode mode: status $status"
      sed 's/^/# /' "$work/output" "$work/requests"
      failed=1
    fi
  done
done
exit $failed
