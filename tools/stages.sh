# For run_tests.sh and run_checks.sh: stages that all run, whatever fails, and are counted.
failed=()
stages=0
logs=build/stages
mkdir -p "$logs"
stage() {  # name, command...
  local name=$1 start=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" 2>&1 | tee "$logs/$name.log"
  if [ "${PIPESTATUS[0]}" -ne 0 ]; then
    printf '== %s: FAILED\n' "$name"
    failed+=("$name")
  fi
  printf '== %s: %d s\n' "$name" $((SECONDS - start))
  stages=$((stages + 1))
}

# What failed once more, by the end of its output, since a reader of a long log begins there; then
# the closing line, and the exit status: 1 if anything failed.
closing() {  # what they were
  local name
  for name in ${failed[@]+"${failed[@]}"}; do
    printf '\n== %s FAILED; the end of %s:\n' "$name" "$logs/$name.log"
    tail -n 60 "$logs/$name.log"
  done
  printf '\n%s: %d passed, %d failed%s\n' "$1" $((stages - ${#failed[@]})) "${#failed[@]}" \
    "$(printf ' (%s)' ${failed[@]+"${failed[@]}"} | sed 's/^ ()$//')"
  [ "${#failed[@]}" -eq 0 ]
}
