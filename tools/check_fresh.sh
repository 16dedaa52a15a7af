#!/usr/bin/env bash
# check_fresh.sh SUITE [COMMAND...]: does a fresh machine get there? Makes a clean root of a Debian
# release (bookworm, trixie, sid) with debootstrap, in which nothing is but git, make, a compiler
# and the release's own Python, copies this tree into it and runs `make demo` there, or COMMAND.
# With CROSSCUT_AS=user a user who may use sudo runs it, else root does. Needs root, the network and
# some GB under CROSSCUT_FRESH (default /tmp/crosscut-fresh), where the root stays for the next call
# with CROSSCUT_KEEP=1 and goes otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:?usage: check_fresh.sh SUITE [COMMAND...]}
shift
[ $# -gt 0 ] || set -- make demo
root=${CROSSCUT_FRESH:-/tmp/crosscut-fresh}/$suite

clean_up() { [ -n "${CROSSCUT_KEEP:-}" ] || rm -rf --one-file-system "$root"; }
trap clean_up EXIT

if [ ! -e "$root/etc/crosscut-fresh" ]; then
  mkdir -p "$root"
  debootstrap --variant=minbase \
    --include=ca-certificates,g++,git,make,python3,python3-venv "$suite" "$root"
  touch "$root/etc/crosscut-fresh"
fi
# A machine knows its own name: Debian's installer writes it. Ranks of one host meet under it.
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(hostname)" > "$root/etc/hosts"
as=${CROSSCUT_AS:-root}
if [ "$as" != root ] && [ ! -e "$root/home/$as" ]; then
  chroot "$root" bash -ec "apt-get update -qq && apt-get install -y -qq sudo >/dev/null
    useradd --create-home --shell /bin/bash $as
    echo '$as ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$as"
fi
# How this machine reaches the network.
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
mkdir -p "$root/crosscut"
git ls-files -co --exclude-standard -z | xargs -0 tar -cf - --ignore-failed-read |
  tar -xf - -C "$root/crosscut"
chroot "$root" chown -R "$as:" /crosscut

# Wheels of this machine's own, if pip is told to look for them (PIP_FIND_LINKS, a folder).
wheels=${PIP_FIND_LINKS:-}
[ -d "$wheels" ] && mkdir -p "$root/$wheels" || wheels=

# Mounts of a name space of their own are gone with it. Its root is the fresh one, as it is on a
# machine: a process in a chroot that enters a name space, as tests do, would be back on this one.
export root wheels as
unshare --mount --pid --fork bash -ec '
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"  # OpenCL on the processor looks there for memory and cores
  mount --rbind /dev "$root/dev"
  [ -z "$wheels" ] || mount --bind "$wheels" "$root/$wheels"
  cd "$root"
  pivot_root . .
  umount -l .
  home=$(getent passwd "$as" | cut -d: -f6)
  exec setpriv --reuid="$as" --regid="$as" --init-groups \
    env -i ${wheels:+PIP_FIND_LINKS="$wheels"} \
    HOME="$home" PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    nice -n 10 bash -ec "cd /crosscut && \"\$@\"" fresh "$@"' fresh "$@"
