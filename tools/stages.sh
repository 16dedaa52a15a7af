# For run_tests.sh and run_checks.sh: stages that all run, whatever fails, and are counted.
failed=0
stages=0
stage() {  # name, command...
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" || { printf '== %s: FAILED\n' "$name"; failed=$((failed + 1)); }
  printf '== %s: %d s\n' "$name" $((SECONDS - start))
  stages=$((stages + 1))
}

# The closing line, and the exit status: 1 if anything failed.
closing() {  # what they were
  printf '\n%s: %d passed, %d failed\n' "$1" $((stages - failed)) "$failed"
  [ "$failed" -eq 0 ]
}
