#!/usr/bin/env bash
# check_wheel.sh SUITE WHEEL [PYTHON]: does a wheel work where there is nothing? Makes an empty root
# of a Debian release (bookworm, trixie, sid) with debootstrap, in which nothing is but Python, its
# venv and the certificates: no compiler, no library of ours. Installs the wheel and PyTorch there,
# runs the quick start as a user without rights, counts PyTorch's operators, and times the way from
# `pip install` to a verdict on a loop of PyTorch, beside PyTorch's own install. The wheel is for
# that release's Python, or for PYTHON: another one that the release has (python3.15), or the folder
# of one that was built on this machine (with bin/python3 in it). CROSSCUT_TORCH= leaves out
# PyTorch.
# Needs root, the network and 2 GB under CROSSCUT_FRESH (default /tmp/crosscut-fresh), where the
# root stays for the next call with CROSSCUT_KEEP=1 and goes otherwise.
set -euo pipefail
suite=${1:?usage: check_wheel.sh SUITE WHEEL [PYTHON]}
wheel=${2:?usage: check_wheel.sh SUITE WHEEL [PYTHON]}
python=${3:-}
root=${CROSSCUT_FRESH:-/tmp/crosscut-fresh}/empty-$suite
here=$(cd "$(dirname "$0")/.." && pwd)

clean_up() { [ -n "${CROSSCUT_KEEP:-}" ] || rm -rf --one-file-system "$root"; }
trap clean_up EXIT

if [ ! -e "$root/etc/crosscut-fresh" ]; then
  mkdir -p "$root"
  debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv "$suite" "$root"
  chroot "$root" useradd --create-home user
  touch "$root/etc/crosscut-fresh"
fi
# How this machine reaches the network.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
rm -rf "$root/home/user/"*
cp "$wheel" "$here/tests/packages/quickstart.sh" "$root/home/user/"
torch=${CROSSCUT_TORCH-$(grep '^torch==' "$here/tools/requirements.txt")}

# python3 in /opt/bin is the one that is wanted.
rm -rf "$root/opt/bin"
mkdir -p "$root/opt/bin"
built=
if [ -d "$python" ]; then
  built=$python
  mkdir -p "$root/opt/python"
  ln -s /opt/python/bin/python3 "$root/opt/bin/python3"
elif [ -n "$python" ]; then
  chroot "$root" bash -ec "apt-get -o Acquire::Check-Valid-Until=false update -qq
    apt-get install -y -qq $python-venv >/dev/null"  # a mirror may be some weeks behind
  ln -s "/usr/bin/$python" "$root/opt/bin/python3"
fi

# Wheels of this machine's own, if pip is told to look for them (PIP_FIND_LINKS, a folder).
wheels=${PIP_FIND_LINKS:-}
[ -d "$wheels" ] && mkdir -p "$root/$wheels" || wheels=

# Mounts of a name space of their own are gone with it.
export root wheels built
unshare --mount --pid --fork bash -ec '
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  [ -z "$wheels" ] || mount --bind "$wheels" "$root/$wheels"
  [ -z "$built" ] || mount --bind "$built" "$root/opt/python"
  exec chroot --userspec=user:user "$root" env -i ${wheels:+PIP_FIND_LINKS="$wheels"} \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    HOME=/home/user PATH=/opt/bin:/usr/bin:/bin LANG=C.UTF-8 \
    bash -ec "cd && bash quickstart.sh \"\$@\"" fresh "$@"' fresh \
  "$(basename "$wheel")" "$torch"
