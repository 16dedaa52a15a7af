#!/usr/bin/env bash
# Builds the Arcade Learning Environment's C++ library into build/ale, where examples/dqn looks for
# it when the tree is configured next: the source of ale-py has it, the wheel has not. Takes a
# minute and 12 MB. ALE is under the GPL, version 2: so is then what you link to it.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=0.12.1
python=${PYTHON:-.venv/bin/python}
work=build/ale-source
mkdir -p "$work"
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --no-binary ale-py --dest "$work" "ale-py==$version"
tar -xzf "$work/ale_py-$version.tar.gz" -C "$work"
# The one build type that ALE makes without link-time optimization: its own would reach into the
# agent's link, where GCC 12 breaks off.
cmake -S "$work/ale_py-$version" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O3 -DNDEBUG" -DBUILD_PYTHON_LIB=OFF -DSDL_SUPPORT=OFF \
  -DCMAKE_INSTALL_PREFIX="$PWD/build/ale" >"$work/configure.log"
cmake --build "$work/build" --target install >"$work/build.log"
cp "$work/ale_py-$version/src/ale/python/roms/pong.bin" build/ale/
echo "build/ale: ALE $version and pong.bin"
