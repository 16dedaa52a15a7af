#!/usr/bin/env bash
# fuzz.sh SECONDS: builds every fuzzer and runs each so long, two at a time, from seeds and from
# what earlier runs left in build/fuzz/corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/fuzz

run_one() {  # fuzzer, seconds
  local name=$1 from=$build/seeds/${1#native_} corpus=$build/corpus/$1 log=$build/$1.log
  [ "$name" = collected ] && from=$build/seeds/xspace
  [[ $name = python_stacks_* ]] && from=$build/seeds/python_stacks
  mkdir -p "$corpus"
  "$build/fuzz/$name" "$corpus" "$from" -rss_limit_mb=2048 -max_total_time="$2" \
    -print_final_stats=1 >"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
  printf '%s, from %d seeds: %s, %s\n' "$name" "$(find "$from" -type f | wc -l)" \
    "$(grep -E '^Done' "$log")" "$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1)"
}
export -f run_one
export build

mapfile -t fuzzers < <(sed -n 's/^crosscut_fuzzer(\([a-z_]*\) .*/\1/p' fuzz/CMakeLists.txt)
. <(sed -n '/^other_pythons()/,/^}/p' tools/setup.sh)
cmake --preset fuzz -DCROSSCUT_PYTHONS="$(other_pythons)" >build/fuzz.log 2>&1 ||
  { cat build/fuzz.log; exit 1; }
mapfile -t -O "${#fuzzers[@]}" fuzzers < <(ninja -C "$build" -t targets all |
  sed -n 's/^\(python_stacks_[0-9]*\): phony$/\1/p')
cmake --build "$build" --target seeds "${fuzzers[@]}"
rm -rf "$build/seeds"
"$build/fuzz/seeds" "$build/seeds"
printf '%s\n' "${fuzzers[@]}" | xargs -P 2 -I {} bash -c 'run_one {} '"$1"
