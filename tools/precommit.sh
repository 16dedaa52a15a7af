#!/usr/bin/env bash
# precommit.sh [MESSAGE_FILE]: the checks that take seconds, before a commit: layers, sizes, the
# fault matrix, the documentation, and the format of what is staged. With a file: that its first
# line, the subject, has at most 72 characters. Git's hooks call it (CONTRIBUTING.md).
set -uo pipefail
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
  subject=$(head -n 1 "$1")
  [ "${#subject}" -le 72 ] && exit
  echo "commit: the subject has ${#subject} characters, 72 are the most: $subject" >&2
  exit 1
fi

failed=0
python3 tools/check_layers.py || failed=1
python3 tools/check_sizes.py || failed=1
python3 tools/check_faults.py || failed=1
python3 tools/check_docs.py || failed=1
mapfile -t staged < <(git diff --cached --name-only --diff-filter=d -- '*.cc' '*.h' '*.c' |
  grep -v page_bundle)
if [ "${#staged[@]}" -gt 0 ]; then
  if command -v clang-format-14 >/dev/null; then
    clang-format-14 --dry-run --Werror "${staged[@]}" || failed=1
  else
    echo "commit: clang-format-14 is not here, the format is not checked" >&2
  fi
fi
exit "$failed"
