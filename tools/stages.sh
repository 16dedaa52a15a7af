# For run_tests.sh and run_checks.sh: stages that all run, whatever fails, and are counted. Beside
# the time of each stands the processor's, which a busy machine hardly changes.
failed=()
stages=0
logs=build/stages
mkdir -p "$logs"

free_mib() { df --output=avail -BM "$1" | tail -n 1 | tr -dc 0-9; }

# On a full disk tests fail by the hundred, each in words of its own.
room() {  # how many MiB the stages write, folder...
  local need=$1 folder
  shift
  for folder; do
    if [ "$(free_mib "$folder")" -lt "$need" ]; then
      echo "$0: $folder has $(free_mib "$folder") MiB free, and the tests write up to $need MiB;" \
        "make room there, or set TMPDIR to another folder for temporary files" >&2
      exit 1
    fi
  done
}

# Runs a command in a shell of its own, and leaves how it ended, when, and what it used.
measured() {  # name, command...
  local name=$1 status ticks
  shift
  rm -f "$logs/$name.end"
  "$@"
  status=$?
  read -r _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ user system _ <"/proc/$BASHPID/stat"
  ticks=$((user + system))
  echo "$status $SECONDS $((ticks / 100))" >"$logs/$name.end"
}

stage() {  # name, command...
  local name=$1 start=$SECONDS
  printf '\n== %s\n' "$name"
  measured "$@" 2>&1 | tee "$logs/$name.log"
  ended "$name" "$start"
}

ended() {  # name, when it began
  local status end used
  # Killed, or a full disk: nothing says how it ended.
  { read -r status end used <"$logs/$1.end"; } 2>/dev/null || status=1 end=$SECONDS used=0
  if [ "$status" -ne 0 ]; then
    printf '== %s: FAILED; %s has %s MiB free\n' "$1" "${TMPDIR:-/tmp}" \
      "$(free_mib "${TMPDIR:-/tmp}")"
    failed+=("$1")
  fi
  printf '== %s: %d s, %d s of processor\n' "$1" $((end - $2)) "$used"
  stages=$((stages + 1))
}

# A stage that runs beside the next ones, until `joined` shows what it printed and how it ended.
# An interrupt ends it, too, though the shell has it ignore interrupts.
declare -A process
trap 'trap - TERM; kill 0' INT TERM
beside() {  # name, command...
  measured "$@" >"$logs/$1.log" 2>&1 &
  process[$1]="$! $SECONDS"
}

joined() {  # name
  local pid start
  read -r pid start <<<"${process[$1]}"
  wait "$pid"
  printf '\n== %s\n' "$1"
  cat "$logs/$1.log"
  ended "$1" "$start"
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
