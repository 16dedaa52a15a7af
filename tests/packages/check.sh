#!/usr/bin/env bash
# Installs what users install, each into an empty place, and uses it from there: the wheel in a new
# virtual environment; the C and C++ package by find_package and by pkg-config.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$PWD/build/packages
rm -rf "$work"
mkdir -p "$work"

has() {  # run, table, what the table must tell
  [[ $("$crosscut" table "$1" "$2") == *"$3"* ]] || { echo "$1: table $2 tells no '$3'"; exit 1; }
}

"${PYTHON:-python3}" -m venv "$work/venv"
# By the compiler's name in the release build: with ccache they share their objects.
CC=${CC:-cc} CXX=${CXX:-c++} "$work/venv/bin/pip" install --quiet .
crosscut=$work/venv/bin/crosscut

# Nothing of this checkout may be needed: another folder, an empty environment.
cd "$work"
clean() { env -i HOME="$HOME" PATH=/usr/bin:/bin "$@"; }
clean "$crosscut" --version
clean "$crosscut" record --control-steps=0 -o python-run -- "$work/venv/bin/python" -c '
import time, crosscut
for _ in range(3):
    crosscut.step()
    with crosscut.operation("rest"):
        time.sleep(0.01)
'
has python-run operations rest
has python-run steps ",2,step,"
clean "$work/venv/bin/python" -c '
import crosscut
assert "rest" in crosscut.read("python-run").table("operations")["operation"]'

# What the docs name is in the package, and what `record` can load is found by its name.
clean "$crosscut" doctor
installed=$(dirname "$(find "$work/venv" -path '*/crosscut/py.typed')")
for file in $(grep -oh 'libcrosscut_[a-z]*\.so' "$OLDPWD"/docs/*.md | sort -u) \
  $(find "$OLDPWD"/build/release/python/crosscut/{bin,lib,plugins/cupti,plugins/pytorch} \
    -type f -printf '%f\n'); do
  [ -n "$(find "$installed" -name "$file")" ] || { echo "the wheel has no $file"; exit 1; }
done
for plugin in cupti opencl; do
  clean "$crosscut" record --plugin "libcrosscut_$plugin.so" -o "$plugin-run" -- \
    "$work/venv/bin/python" -c 'import crosscut'
  has "$plugin-run" sources "$plugin,"
done

cmake --install "$OLDPWD/build/release" --component cpp --prefix "$work/prefix" >/dev/null
cmake -S "$OLDPWD/tests/packages" -B by-cmake -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DQUICKSTART="$OLDPWD/examples/quickstart.cc" >/dev/null
cmake --build by-cmake >/dev/null
clean by-cmake/quickstart by-cmake-run >/dev/null
has by-cmake-run steps ",119,step,"

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name crosscut.pc)")
# shellcheck disable=SC2046  # flags are words
c++ -std=c++20 "$OLDPWD/examples/quickstart.cc" $(pkg-config --cflags --libs crosscut) -pthread \
  -o by-pkg-config
clean LD_LIBRARY_PATH="$(pkg-config --variable=libdir crosscut)" \
  "$crosscut" record -o by-pkg-config-run -- ./by-pkg-config >/dev/null
has by-pkg-config-run steps ",119,step,"
echo "wheel, find_package and pkg-config: installed, recorded, read"
