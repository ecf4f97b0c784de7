#!/bin/bash
# Runs the wheel in a bare Debian root with Python alone: no Swift, no Jansson, no libcurl on the machine.
#
#   Tests/Packaging/wheel_in_bare_root.sh dist/kassa-*.whl
#
# Needs root and debootstrap; without either it says so and is skipped. The root comes from the first Debian mirror in
# apt's own sources and is kept in .build/bare-root, so that only the first run downloads it.
set -euo pipefail
cd "$(dirname "$0")/../.."
wheel=$(realpath "${1:?usage: $0 WHEEL}")
bare=$PWD/.build/bare-root

skip() { echo "skip - the wheel in a bare root: $1"; exit 0; }
[ "$(id -u)" = 0 ] || skip "needs root for chroot"
command -v debootstrap >/dev/null || skip "needs debootstrap"

if [ ! -e "$bare/.complete" ]; then
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" "Created-By: Packages" | head -n 1)
  [ -n "$mirror" ] || skip "apt names no mirror of $suite"
  rm -rf "$bare"
  debootstrap --variant=minbase --include=python3 "$suite" "$bare" "$mirror" >"$bare.log" 2>&1 ||
    { tail -n 5 "$bare.log"; skip "debootstrap failed"; }
  touch "$bare/.complete"
fi

rm -rf "$bare/kassa" && mkdir "$bare/kassa"
python3 -m zipfile -e "$wheel" "$bare/kassa/site"
cp examples/python/paywall.py "$bare/kassa/"

for library in libjansson libcurl libmicrohttpd libcares swift; do
  found=$(find "$bare/usr" "$bare/lib/" -name "*$library*.so*" -print -quit)
  [ -z "$found" ] || { echo "not ok - the root is not bare: $found"; exit 1; }
done

in_root() { chroot "$bare" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin PYTHONPATH=/kassa/site "$@"; }

story=$(printf '1\nlogin user-1\nlogout\nlogin user-1\nrestore\nquit\n' | in_root python3 /kassa/paywall.py)
for line in "Bought with whop. Receipt: pay_" "Subscribed - thank you!" "user-1." "Restored."; do
  grep -qF "$line" <<<"$story" || { echo "$story"; echo "not ok - the paywall did not say: $line"; exit 1; }
done
echo "ok - the paywall in a bare root with Python alone"

# What a client has learnt, another process answers from the disk alone.
in_root python3 - <<'PYTHON'
import subprocess
import sys

PROGRAM = """
import kassa, sys
backend = {"kind": "whop", "company_id": "biz_sandbox", "api_key": "sandbox_key", "base_url": "embedded:"}
with kassa.Client(storage="/kassa/state") as client:
    client.start.configure(backend=backend, checkout={"presenter": "simulated"})
    if sys.argv[1] == "buy":
        client.purchase("plan_monthly").raise_for_outcome()
    assert client.has_access("prod_pro"), client.explain("prod_pro")
"""
for step in ("buy", "ask"):
    subprocess.run([sys.executable, "-c", PROGRAM, step], check=True)
PYTHON
echo "ok - a second process answers from the cache"

# The network needs libcurl, and its absence is an error like any other.
message=$(in_root python3 -m kassa plans --company-id biz_x --api-key key --base-url http://127.0.0.1:9 2>&1) && {
  echo "not ok - the network without libcurl"; exit 1; }
grep -qi libcurl <<<"$message" || { echo "not ok - the error does not name libcurl: $message"; exit 1; }
echo "ok - the network without libcurl is an error that names it"
