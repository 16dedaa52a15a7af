#!/usr/bin/env bash
# clang-tidy over sources under src/ that changed, or over all of them (`--all`). Changed is what
# differs from CROSSCUT_BASE; else from the merge base with the default branch of origin; and where
# that is this commit itself, as in CI's fresh clone, from the newest commit that is a day older.
set -euo pipefail
cd "$(dirname "$0")/.."

base() {
  local head other day
  [ -n "${CROSSCUT_BASE:-}" ] && { echo "$CROSSCUT_BASE"; return; }
  head=$(git rev-parse HEAD)
  for other in origin/HEAD origin/main; do
    other=$(git merge-base HEAD "$other" 2>/dev/null) || continue
    [ "$other" != "$head" ] && { echo "$other"; return; }
  done
  day=$(($(git show -s --format=%ct HEAD) - 86400))
  git rev-list --first-parent -n 1 --before="$day" HEAD
}

listed() {
  if [ "${1:-}" = --all ]; then
    git ls-files 'src/*.cc'
  else
    # No commit so old, as in a shallow clone: everything.
    local from
    from=$(base)
    git diff --name-only --diff-filter=d "${from:-$(git hash-object -t tree /dev/null)}" -- \
      'src/*.cc'
  fi
}

# What passed is remembered by all that clang-tidy could see of it: a file is looked at once for
# each of its contents, here and in other clones.
passed=${XDG_CACHE_HOME:-$HOME/.cache}/crosscut-lint
mkdir -p "$passed"
setup=$(cat .clang-tidy; clang-tidy-14 --version)

preprocessed() {  # file
  local command
  command=$(python3 -c 'import json, re, sys
for entry in json.load(open("build/release/compile_commands.json")):
    if entry["file"].endswith("/" + sys.argv[1]):
        print(re.sub(" -o [^ ]+", "", entry["command"]))
        break' "$1")
  bash -c "$command -E -P -o -"
}

lint_one() {  # file
  local key
  set -o pipefail
  key=$({ echo "$setup"; cat "$1"; preprocessed "$1"; } | sha256sum | cut -d' ' -f1) || return 1
  [ -e "$passed/$key" ] && return
  clang-tidy-14 --quiet -p build/release "$1" 2>/dev/null && touch "$passed/$key"
}
export -f lint_one preprocessed
export passed setup

mapfile -t files < <(listed "$@" | grep -v -e page_bundle -e _test.cc -e /testing/)
echo "${#files[@]} files"
printf '%s\n' ${files[@]+"${files[@]}"} |
  xargs -r -P 2 -I {} bash -c 'lint_one {}'
