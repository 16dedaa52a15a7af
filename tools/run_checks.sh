#!/usr/bin/env bash
# make check: what is too slow for make test. Layers, sizes, format, lint, sanitizers, fuzz smoke,
# the long form of the kill test.
set -uo pipefail
cd "$(dirname "$0")/.."

. tools/stages.sh

formatted() {
  git ls-files '*.cc' '*.h' '*.c' | grep -v page_bundle |
    xargs clang-format-14 --dry-run --Werror
}

lint() {
  git ls-files 'src/*.cc' | grep -v -e page_bundle -e _test.cc -e /testing/ |
    xargs -P 2 -n 4 clang-tidy-14 --quiet -p build/release 2>/dev/null
}

sanitized() {  # preset
  cmake --preset "$1" >"build/$1.log" 2>&1 || { cat "build/$1.log"; return 1; }
  cmake --build "build/$1" || return 1
  ctest --test-dir "build/$1" -LE 'golden|page' --output-on-failure -j 2
}

fuzzed() {
  cmake --preset fuzz >build/fuzz.log 2>&1 || { cat build/fuzz.log; return 1; }
  local targets="chrome_json native_log native_ring xspace collected elf_symbols"
  # shellcheck disable=SC2086
  cmake --build build/fuzz --target seeds $targets || return 1
  local seeds=build/fuzz/seeds target from corpus log
  rm -rf "$seeds"
  build/fuzz/fuzz/seeds "$seeds" || return 1
  for target in $targets; do
    from=$seeds/${target#native_} corpus=build/fuzz/corpus/$target log=build/fuzz/$target.log
    [ "$target" = collected ] && from=$seeds/xspace
    mkdir -p "$corpus"
    "build/fuzz/fuzz/$target" "$corpus" "$from" -rss_limit_mb=2048 \
      -max_total_time="${CROSSCUT_FUZZ_SECONDS:-60}" -print_final_stats=1 >"$log" 2>&1 ||
      { tail -n 40 "$log"; return 1; }
    printf '%s, from %d seeds: ' "$target" "$(find "$from" -type f | wc -l)"
    grep -E '^Done' "$log"
    grep -E 'cov:' "$log" | tail -n 1
  done
}

killed() {
  CROSSCUT_TEST_KILLS=${CROSSCUT_TEST_KILLS:-10000} \
    build/release/tests/endtoend/faults_test --gtest_brief=1 --gtest_filter='*KilledAtRandom*'
}

# 100 runs of each good plugin; then the overhead rules, which want a quiet machine.
zoo() {
  local checker=build/release/python/crosscut/bin/crosscut-check-plugin
  local folder=build/release/tests/zoo/plugins
  CROSSCUT_ZOO_RUNS=${CROSSCUT_ZOO_RUNS:-100} python3 tests/zoo/run.py "$checker" "$folder" \
    xspace push big_and_slow tensorflow_names example v1_plugin || return 1
  CROSSCUT_ZOO_LONG=1 python3 tests/zoo/run.py "$checker" "$folder" slow_hooks hooks_while_idle
}

# 500 cycles are 1,000 windows and 9 minutes.
demanded() {
  CROSSCUT_TEST_DEMAND=${CROSSCUT_TEST_DEMAND:-150} PYTHONPATH=$PWD/build/release/python \
    .venv/bin/python -m pytest -q tests/endtoend/test_on_demand.py -k again_and_again
}

# Takes 6 GB of disk for 5 GB.
imported() {
  CROSSCUT_TEST_LARGE=${CROSSCUT_TEST_LARGE:-5} PYTHONPATH=$PWD/build/release/python \
    .venv/bin/python -m pytest -q tests/endtoend/test_import_large.py -k read_whole
}

cycled() {
  CROSSCUT_TEST_CYCLES=${CROSSCUT_TEST_CYCLES:-10000} \
    build/release/src/host/host_test --gtest_brief=1 --gtest_filter='*ManySessions*'
}

# ALE's C++ library is under the GPL: only here is the agent built with it.
on_the_emulator() {
  {
    examples/dqn/get_ale.sh && cmake --preset release &&
      cmake --build build/release --target dqn
  } >build/ale.log 2>&1 || { tail -n 40 build/ale.log; return 1; }
  local said
  said=$(PYTHONPATH=$PWD/build/release/python .venv/bin/python -m pytest -q -rs \
    tests/endtoend/test_dqn.py)
  local rc=$?
  printf '%s\n' "$said"
  [ $rc -eq 0 ] && ! grep -q SKIPPED <<<"$said"
}

stage "layers" python3 tools/check_layers.py
stage "sizes" python3 tools/check_sizes.py
stage "format" formatted
stage "lint" lint
stage "packages" tests/packages/check.sh
stage "page bundle is current" bash -c 'cd src/report/page && npm run --silent check'
stage "address and undefined-behaviour sanitizers" sanitized asan-ubsan
stage "thread sanitizer" sanitized tsan
stage "fuzzers" fuzzed
stage "kills, long form" killed
stage "windows on demand, long form" demanded
stage "a trace of 5 GB" imported
stage "C++ DQN on the emulator" on_the_emulator
stage "sessions of a plugin, long form" cycled
stage "plugin zoo, long form" zoo

closing checks
