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
  ended "$name" "${PIPESTATUS[0]}" $((SECONDS - start))
}

ended() {  # name, status, seconds
  if [ "$2" -ne 0 ]; then
    printf '== %s: FAILED\n' "$1"
    failed+=("$1")
  fi
  printf '== %s: %d s\n' "$1" "$3"
  stages=$((stages + 1))
}

# A stage that runs beside the next ones, until `joined` shows what it printed and how it ended.
# An interrupt ends it, too, though the shell has it ignore interrupts.
declare -A process
trap 'trap - TERM; kill 0' INT TERM
beside() {  # name, command...
  local name=$1
  shift
  rm -f "$logs/$name.end"
  { "$@"; echo "$? $SECONDS" >"$logs/$name.end"; } >"$logs/$name.log" 2>&1 &
  process[$name]="$! $SECONDS"
}

joined() {  # name
  local pid start status end
  read -r pid start <<<"${process[$1]}"
  wait "$pid"
  # Killed, or a full disk: nothing says how it ended.
  { read -r status end <"$logs/$1.end"; } 2>/dev/null || status=1 end=$SECONDS
  printf '\n== %s\n' "$1"
  cat "$logs/$1.log"
  ended "$1" "$status" $((end - start))
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
