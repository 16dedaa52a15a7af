#!/usr/bin/env bash
# borrow_pythons.sh VERSION...: CPythons that this Debian does not have, such as `3.14 3.15`, from
# Debian sid. Prints the path of each. They run here, on the C library that they came with, in
# build/pythons, and everything that they start runs on this machine's. So a wheel for a new CPython
# is compiled by an old release's toolchain, and runs on that release and on what came later:
#     tools/build_wheels.sh python3.11 $(tools/borrow_pythons.sh 3.14 3.15)
# Needs root, the network and 0.5 GB.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: borrow_pythons.sh VERSION..." >&2; exit 2; }
root=$PWD/build/pythons

missing=()
for tool in debootstrap patchelf; do
  command -v "$tool" >/dev/null || missing+=("$tool")
done
[ ${#missing[@]} -eq 0 ] || {
  echo "borrow_pythons: ${missing[*]} missing: apt-get install ${missing[*]}" >&2
  exit 1
}

packages=ca-certificates
for version in "$@"; do packages+=,python$version-dev,python$version-venv; done
if [ "$(cat "$root/borrowed" 2>/dev/null)" != "$packages" ]; then
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase --include="$packages" sid "$root" >&2
  for version in "$@"; do
    # DT_RPATH, unlike DT_RUNPATH, also counts for what the interpreter's own modules ask for.
    patchelf --set-interpreter "$root/lib64/ld-linux-x86-64.so.2" --force-rpath \
      --set-rpath "$root/usr/lib/x86_64-linux-gnu" "$root/usr/bin/python$version"
    # Their headers look for this one in /usr/include.
    ln -sf "../x86_64-linux-gnu/python$version/pyconfig.h" \
      "$root/usr/include/python$version/pyconfig.h"
    # venv takes its pip from there: this machine's is too old for them.
    sed -i "s|'WHEEL_PKG_DIR': '/|&${root:1}/|" "$root/usr/lib/python$version"/_sysconfigdata_*.py
  done
  echo "$packages" >"$root/borrowed"
fi
for version in "$@"; do echo "$root/usr/bin/python$version"; done
