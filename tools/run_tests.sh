#!/usr/bin/env bash
# make test: unit tests, golden cases, Python and end-to-end tests, the report page.
# Ends with one line of all counts; the exit status is 1 if anything failed.
set -uo pipefail
cd "$(dirname "$0")/.."

. tools/stages.sh

page_tests() {
  [ -d src/report/page/node_modules ] &&
    cmp -s src/report/page/package-lock.json build/page.stamp 2>/dev/null || {
    (cd src/report/page && npm ci --silent --no-fund --no-audit) &&
      cp src/report/page/package-lock.json build/page.stamp
  } && (cd src/report/page && npm test --silent)
}

export PYTHONPATH=$PWD/build/release/python
export PATH=$PWD/build/release/python/crosscut/bin:$PATH
# Side by side what compares no times; what does has the machine to itself.
beside "unit tests" ctest --test-dir build/release -LE 'golden|page|zoo' --output-on-failure
beside "report page" page_tests
stage "Python" .venv/bin/python -m pytest -q --durations=5 tests/python \
  --ignore=tests/python/samples
joined "unit tests"
joined "report page"
stage "golden cases" tools/golden
stage "plugin zoo" ctest --test-dir build/release -L zoo --output-on-failure
stage "end to end" \
  .venv/bin/python -m pytest -q --durations=5 tests/python/samples tests/endtoend

closing stages
