#!/usr/bin/env bash
# check_arm64.sh [COMMAND...]: does it work on 64-bit ARM? Makes a Debian root for arm64, compiles
# this tree against it with a cross compiler, and runs there, under qemu's user-mode emulation, the
# unit tests and tests/endtoend/test_platform.py, or COMMAND. What that shows: docs/platforms.md.
# Needs Debian on x86-64, root, the network and 2 GB under CROSSCUT_ARM64_ROOT (default
# /tmp/crosscut-arm64). The root stays for the next call with CROSSCUT_KEEP=1 and goes otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
export CROSSCUT_ARM64_ROOT=${CROSSCUT_ARM64_ROOT:-/tmp/crosscut-arm64}
root=$CROSSCUT_ARM64_ROOT
tree=$PWD
python=python3.11  # bookworm's

say() { printf '%s\n' "check_arm64: $*" >&2; }

[ "$(id -u)" -eq 0 ] || { say "it needs root: for a Debian root, mounts and binfmt_misc"; exit 1; }

missing=()
for package in g++-aarch64-linux-gnu qemu-user-static debootstrap; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok' ||
    missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  say "installing Debian packages: ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    >/dev/null
fi

# While this runs the kernel runs programs for arm64 by qemu, if it does not yet. F: qemu is opened
# now, so that it is found from within the root.
emulator=/proc/sys/fs/binfmt_misc/qemu-aarch64
registered=
clean_up() {
  [ -z "$registered" ] || echo -1 >"$emulator"
  [ -n "${CROSSCUT_KEEP:-}" ] || rm -rf --one-file-system "$root"
}
trap clean_up EXIT
if [ ! -e "$emulator" ]; then
  [ -w "${emulator%/*}/register" ] || {
    say "${emulator%/*} is not mounted: mount -t binfmt_misc binfmt_misc ${emulator%/*}"
    exit 1
  }
  cat /usr/lib/binfmt.d/qemu-aarch64.conf >"${emulator%/*}/register"
  registered=1
fi

# What the build needs of tools/apt.txt, but for the compiler and its like, and what tests need.
if [ ! -e "$root/etc/crosscut-arm64" ]; then
  debootstrap --arch=arm64 --variant=minbase --include="ca-certificates,cmake,libstdc++-12-dev,\
libzstd-dev,libsimdjson-dev,libprotozero-dev,libdeflate-dev,libisal-dev,zlib1g-dev,libcli11-dev,\
libfmt-dev,libgtest-dev,libgmock-dev,relacy-dev,nodejs,python3-dev,python3-numpy,python3-pytest" \
    bookworm "$root"
  ${PYTHON:-.venv/bin/python} -m pip install --quiet --disable-pip-version-check \
    --target "$root/usr/lib/python3/dist-packages" "$(grep '^nanobind==' tools/requirements.txt)"
  touch "$root/etc/crosscut-arm64"
fi

cmake -S . -B build/arm64 -G Ninja --toolchain cmake/arm64.cmake -DCMAKE_BUILD_TYPE=Release \
  -DCROSSCUT_TESTS=ON -DCROSSCUT_WERROR=ON -DCROSSCUT_DQN=OFF \
  -DCMAKE_DISABLE_FIND_PACKAGE_OpenCL=ON \
  -DPython_EXECUTABLE="$root/usr/bin/$python" \
  -DPython_INCLUDE_DIR="$root/usr/include/$python" >/dev/null
targets=(unit_tests quickstart crosscut_cli crosscut_preload
  crosscut_record_311 crosscut_pycalls_311 crosscut_samples_311)
nice ninja -C build/arm64 --quiet "${targets[@]}"

# Mounts of a name space of their own are gone with it. Rings are in a /dev/shm of its own, too.
export root tree
inside() {
  unshare --mount --pid --fork bash -ec '
    mkdir -p "$root$tree"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --make-rslave "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount --bind "$tree" "$root$tree"
    package=$tree/build/arm64/python
    exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 PYTHONPATH="$package" \
      PATH="$package/crosscut/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
      CROSSCUT_TEST_EMULATOR=qemu CROSSCUT_TEST_PACKAGE="$package" \
      nice bash -ec "cd \"$tree\" && \"\$@\"" inside "$@"' inside "$@"
}

if [ $# -gt 0 ]; then
  inside "$@"
  exit
fi
# Not the graders of plugins: they compare a plugin's time and memory with limits.
inside ctest --test-dir build/arm64 -L unit --output-on-failure
inside python3 -m pytest -q -p no:cacheprovider -rs tests/endtoend/test_platform.py
