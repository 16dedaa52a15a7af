#!/usr/bin/env bash
# make check: what is too slow for make test. Layers, sizes, fault matrix, tests that cannot fail,
# claims, format, lint of what changed, packages, unit tests under sanitizers, 20 s of each fuzzer,
# 1,000 kills. What takes longer, or draws from seeds that nobody tried (tests/stress, hostile
# draws, mutants): make soak.
set -uo pipefail
cd "$(dirname "$0")/.."

. tools/stages.sh
room 3072 build

formatted() {
  git ls-files '*.cc' '*.h' '*.c' | grep -v page_bundle |
    xargs -P 2 -n 40 clang-format-14 --dry-run --Werror
}

# Only what the tests need: no CLI.
sanitized() {  # preset, label
  cmake --preset "$1" >"build/$1.log" 2>&1 || { cat "build/$1.log"; return 1; }
  cmake --build "build/$1" --target "$2_tests" || return 1
  ctest --test-dir "build/$1" -L "$2" --output-on-failure -j 2
}

killed() {
  CROSSCUT_TEST_KILLS=1000 \
    build/release/tests/endtoend/faults/faults_test --gtest_brief=1 \
      --gtest_filter='*KilledAtRandom*'
}

# The sanitizers' trees are built while other stages wait for a linker or a single slow test.
beside "address and undefined-behaviour sanitizers" sanitized asan-ubsan unit
stage "layers" python3 tools/check_layers.py
stage "sizes" python3 tools/check_sizes.py
stage "fault matrix" python3 tools/check_faults.py
stage "documentation" python3 tools/check_docs.py
stage "tests that cannot fail" python3 tools/check_asserts.py
stage "claims" python3 tools/check_claims.py
stage "format" formatted
stage "lint" tools/lint.sh
stage "packages" tests/packages/check.sh
stage "page bundle is current" bash -c 'cd src/report/page && npm run --silent check'
joined "address and undefined-behaviour sanitizers"
beside "thread sanitizer" sanitized tsan threads
stage "fuzzers" tools/fuzz.sh 20
stage "kills" killed
joined "thread sanitizer"

closing checks
