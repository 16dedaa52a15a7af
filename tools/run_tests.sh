#!/usr/bin/env bash
# make test: unit tests, golden cases, Python and end-to-end tests, the report page.
# Ends with one line of all counts; the exit status is 1 if anything failed.
set -uo pipefail
cd "$(dirname "$0")/.."

. tools/stages.sh
room 2048 "${TMPDIR:-/tmp}" build

export PYTHONPATH=$PWD/build/release/python
export PATH=$PWD/build/release/python/crosscut/bin:$PWD/.venv/bin:$PATH
# Files of tests go to workers as these become free; the rest runs beside them. Two keep two quiet
# cores busy; beside other work more of them get their share.
beside "Python and end to end" .venv/bin/python -m pytest -q -rs -n "${WORKERS:-2}" \
  --dist loadfile --durations=10 tests/python tests/endtoend
stage "unit tests" ctest --test-dir build/release -LE 'golden|page|zoo' --output-on-failure \
  -j "${WORKERS:-1}"
[ -z "${CI:-}" ] ||
  stage "skips" python3 tools/check_skips.py build/release/Testing/Temporary/LastTest.log
stage "golden cases" tools/golden
if [ -d src/report/page/node_modules ] || [ -n "${CI:-}" ]; then
  stage "report page" npm test --silent --prefix src/report/page
else
  printf '\n== report page: left out, the set-up has no node modules for it\n'
fi
stage "plugin zoo" ctest --test-dir build/release -L zoo --output-on-failure
joined "Python and end to end"

closing stages
