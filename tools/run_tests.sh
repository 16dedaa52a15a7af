#!/usr/bin/env bash
# make test: unit tests, golden cases, Python and end-to-end tests, the report page.
# Ends with one line of all counts; the exit status is 1 if anything failed.
set -uo pipefail
cd "$(dirname "$0")/.."

. tools/stages.sh

export PYTHONPATH=$PWD/build/release/python
export PATH=$PWD/build/release/python/crosscut/bin:$PATH
test=(.venv/bin/python -m pytest -q --durations=5)
# Two at a time what compares no times; then what has the machine to itself.
beside "end to end" "${test[@]}" -m "not alone" tests/endtoend
stage "Python" "${test[@]}" -m "not alone" tests/python
stage "unit tests" ctest --test-dir build/release -LE 'golden|page|zoo' --output-on-failure
stage "golden cases" tools/golden
stage "report page" npm test --silent --prefix src/report/page
joined "end to end"
stage "plugin zoo" ctest --test-dir build/release -L zoo --output-on-failure
stage "end to end, alone" "${test[@]}" -m alone tests/python tests/endtoend

closing stages
