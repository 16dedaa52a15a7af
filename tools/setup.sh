#!/usr/bin/env bash
# Makes a fresh machine ready (Debian 12, 13 and sid): packages from tools/apt.txt, the Python
# environment .venv, and the release build with the PyTorch shim. Words say what else is wanted:
# `tests` (also .venv-tensorflow, .venv-rl and the page's node modules), `checks`, `bench`; `demo`
# leaves out what the demo does not run.
# The recording modules are built for the Python of .venv, and for those that CROSSCUT_PYTHONS names
# (paths with a : between them, or `all`: every one that is found, as in CI), from then on.
# Safe to run again; does only what is missing. What is optional and cannot be had is named, and the
# rest goes on without it; in CI (CI is set) nothing is optional, and warnings are errors.
set -euo pipefail
cd "$(dirname "$0")/.."

wants=" $* "
wanted() { [[ $wants == *" $1 "* ]]; }

say() { printf '%s\n' "setup: $*" >&2; }
# Says what took so long that somebody waited for it.
took() {  # begin, what
  [ $((SECONDS - $1)) -lt 2 ] || say "$2: $((SECONDS - $1)) s"
}

for word in "$@"; do
  [[ $word =~ ^(demo|tests|checks|bench)$ ]] || {
    say "'$word' is none of: demo, tests, checks, bench"
    exit 2
  }
done

# The lines of apt.txt that name packages; those for tests, checks and benchmarks only for who
# runs them.
wanted_packages() {
  awk -v wants="$wants" '
    /^#/ { wanted = !/^# (tests|checks|bench)$/ || index(wants, " " $2 " "); next }
    wanted' tools/apt.txt
}

# Ends the set-up in CI; elsewhere it goes on.
left_out() {  # words
  say "$*"
  [ -z "${CI:-}" ] || exit 1
}

installed() {  # package
  dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'
}

# The first of the names "a|b" that this release has; prints nothing where it has none.
offered() {
  local name
  for name in ${1//|/ }; do
    [ -n "$(apt-cache show "$name" 2>/dev/null)" ] && { echo "$name"; break; }
  done
  return 0
}

missing_packages() {
  local names command name
  while read -r names command; do
    [ -n "$command" ] && command -v "$command" >/dev/null && continue
    for name in ${names//|/ }; do
      installed "$name" && continue 2
    done
    echo "$names"
  done < <(wanted_packages)
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -eq 0 ] && return
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || {
      say "these packages are missing and need root: apt-get install ${missing[*]%%|*}"
      exit 1
    }
    root=(sudo -n)
  fi
  local begin=$SECONDS
  "${root[@]}" apt-get update -qq || say "apt-get update failed; going on with what it knew"
  local found=() names name
  for names in "${missing[@]}"; do
    name=$(offered "$names")
    if [ -n "$name" ]; then
      found+=("$name")
    else
      left_out "apt-get knows no package ${names//|/ or }; what needs it is left out"
    fi
  done
  [ ${#found[@]} -eq 0 ] && return
  say "installing Debian packages: ${found[*]}"
  install_with_apt "${found[@]}" && took "$begin" "Debian packages" && return
  for name in "${found[@]}"; do  # one that cannot be fetched must not keep out the others
    install_with_apt "$name" || left_out "apt-get install $name failed; going on without it"
  done
}

install_with_apt() {  # packages
  DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends \
    "$@" >/dev/null
}

# 3.11 first, for which PyTorch's CPU build is most often at hand; 3.15 last, for which many
# packages are not built yet.
find_python() {
  local candidate
  for candidate in python3.11 python3 python3.14 python3.13 python3.12 python3.10 python3.15; do
    if has_headers "$candidate" && "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  say "a CPython from 3.10 to 3.15 with its headers is needed, and none is here; Debian has them" \
    "in python3, python3-dev and python3-venv"
  exit 1
}

# One line after another where not all can be had, as where an index lacks one for this Python.
# Modules are compiled when they are imported: most never are.
install_requirements() {  # folder, requirements, stamp
  local line absent=()
  local pip=("$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
  [ "$1" != .venv ] || pip+=(-c tools/requirements.txt)  # what others bring is pinned there, too
  "${pip[@]}" -r "$2" && { cp "$2" "$3"; return; }
  while read -r line; do
    "${pip[@]}" "$line" || absent+=("${line%%[=>;]*}")
  done < <(grep '^[A-Za-z]' "$2")
  [ ${#absent[@]} -eq 0 ] ||
    left_out "pip cannot install ${absent[*]} for $("$1/bin/python" --version) into $1; what" \
      "needs them is left out, and the next set-up tries again"
}

make_venv() {  # folder, requirements
  local stamp python begin=$SECONDS
  stamp=$1/$(basename "$2" .txt).stamp
  if ! "$1/bin/python" -m pip --version >/dev/null 2>&1; then  # none, or one that was cut short
    python=$(find_python) || return
    "$python" -m venv --clear "$1" || return
  fi
  cmp -s "$2" "$stamp" 2>/dev/null && return
  "$1/bin/python" tools/announce_downloads.py "$2"
  install_requirements "$1" "$2" "$stamp"
  took "$begin" "Python packages of $2 into $1"
}

# Of tools/requirements.txt, for .venv: what is under the headings "# build", "# demo", "# tests".
install_sections() {  # headings
  local heading
  for heading in "$@"; do
    awk -v wanted="$heading" '/^# [a-z]+$/ { on = $2 == wanted; next } on' \
      tools/requirements.txt >"build/requirements-$heading.txt"
    make_venv .venv "build/requirements-$heading.txt"
  done
}

has_headers() {  # python
  "$1" -c 'import os, sys, sysconfig
sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 15) or
         not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null
}

# Every CPython from 3.10 to 3.15 on the machine.
other_pythons() {
  local minor found candidate
  for minor in 10 11 12 13 14 15; do
    for candidate in "python3.$minor" "$HOME"/.pyenv/versions/3."$minor".*/bin/python3; do
      found=$("$candidate" -c \
        'import sys, sysconfig, os
inc = sysconfig.get_paths()["include"]
ok = sys.version_info[1] == int(sys.argv[1]) and os.path.exists(inc + "/Python.h")
print(os.path.realpath(sys.executable) if ok else "")' "$minor" 2>/dev/null) || continue
      [ -n "$found" ] && { printf '%s;' "$found"; break; }
    done
  done
}

# What CMake builds recording modules for, beside the Python of .venv. None: as the last time.
wanted_pythons() {
  local python
  case ${CROSSCUT_PYTHONS:-${CI:+all}} in
    all) other_pythons ;;
    '') sed -n 's/^CROSSCUT_PYTHONS:[A-Z]*=//p' build/release/CMakeCache.txt 2>/dev/null || true ;;
    *)
      for python in ${CROSSCUT_PYTHONS//:/ }; do
        has_headers "$python" || {
          say "CROSSCUT_PYTHONS: $python is no CPython from 3.10 to 3.15 with its headers"
          return 2
        }
      done
      printf '%s' "${CROSSCUT_PYTHONS//:/;}"
      ;;
  esac
}

install_page_tools() (
  begin=$SECONDS
  stamp=$PWD/build/page.stamp
  cd src/report/page || exit
  [ -d node_modules ] && cmp -s package-lock.json "$stamp" && exit
  npm ci --silent --no-fund --no-audit && cp package-lock.json "$stamp" &&
    took "$begin" "node modules of the report page" && exit
  left_out "npm ci failed; the tests of the report page are left out"
)

# Parts are built only for who wants them, and from then on.
built_from_now_on() {  # word, option
  if wanted "$1" || { [ "$1" = all ] && ! wanted demo; } ||
    grep -qs "^$2:[A-Z]*=ON" build/release/CMakeCache.txt; then
    echo "-D$2=ON"
  else
    echo "-D$2=OFF"
  fi
}

build() {
  local pythons begin=$SECONDS
  pythons=$(wanted_pythons) || exit
  cmake --preset release -DPython_EXECUTABLE="$PWD/.venv/bin/python" \
    -DCROSSCUT_PYTHONS="${pythons%;}" "$tests" \
    "$(built_from_now_on bench CROSSCUT_BENCH)" "$(built_from_now_on all CROSSCUT_CHECK)" \
    -DCROSSCUT_WERROR="$([ -n "${CI:-}" ] && echo ON || echo OFF)" >build/configure.log 2>&1 ||
    { cat build/configure.log >&2; exit 1; }
  cmake --build build/release
  took "$begin" "the build"
}

build_torch_shim() {
  .venv/bin/python -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' ||
    { left_out "no PyTorch in .venv: its shim is not built, and its tests are left out"; return; }
  PYTHONPATH=build/release/python .venv/bin/python -m crosscut.adapters.torch_build \
    >build/shim.log 2>&1 || { cat build/shim.log >&2; exit 1; }
}

install_packages
mkdir -p build
exec 9>build/setup.lock  # with it go on what it starts: two at once would spoil an environment
flock -n 9 || { say "another set-up of this checkout runs: this one waits for it"; flock 9; }
install_sections build
installing=()
trap wait EXIT
tests=$(built_from_now_on tests CROSSCUT_TESTS)
[ "$tests" != -DCROSSCUT_TESTS=ON ] || install_sections demo  # CMake looks for LibTorch
if wanted tests; then
  install_sections tests & installing+=($!)
  make_venv .venv-tensorflow tools/requirements-tensorflow.txt & installing+=($!)
  make_venv .venv-rl tools/requirements-rl.txt & installing+=($!)
  install_page_tools & installing+=($!)
else
  install_sections demo & installing+=($!)
fi
build
for process in "${installing[@]}"; do
  wait "$process" || { say "what is needed could not be installed"; exit 1; }
done
build_torch_shim
