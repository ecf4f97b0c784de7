#!/bin/bash
# Makes the machine ready: Debian packages, and for "check" the Python environment of the tests. Does nothing, in a
# few milliseconds, where all is there.
#
#   scripts/setup.sh build|check
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(gcc libc6-dev libc-ares-dev libcurl4-openssl-dev libjansson-dev libmicrohttpd-dev libsqlite3-dev
  libssl-dev binutils curl pkg-config python3)
check_packages=("${build_packages[@]}" abigail-tools chromium chromium-driver cmake debootstrap g++ git libjson-c5
  patchelf python3-venv valgrind xdg-utils)

missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort -u)
}

install_packages() {
  local install="apt-get install -y --no-install-recommends $*"
  if [ "$(id -u)" = 0 ]; then
    as_root=()
  elif sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  else
    echo "These Debian packages are missing. Install them, then run make again:" >&2
    echo "  sudo apt-get update && sudo $install" >&2
    exit 1
  fi
  "${as_root[@]}" apt-get update -q
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" $install
}

make_python_environment() {
  local requirements=Tests/Python/requirements.txt stamp=.venv/requirements.txt
  cmp -s "$requirements" "$stamp" && return
  [ -x .venv/bin/python ] || python3 -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$stamp"
}

case "${1:-}" in
  build) packages=("${build_packages[@]}") ;;
  check) packages=("${check_packages[@]}") ;;
  *) echo "usage: $0 build|check" >&2; exit 2 ;;
esac

command -v swift >/dev/null || { echo "Swift 6.3 is missing: see https://www.swift.org/install/linux" >&2; exit 1; }
missing=$(missing_packages "${packages[@]}")
[ -z "$missing" ] || install_packages $missing
[ "$1" = build ] || make_python_environment
