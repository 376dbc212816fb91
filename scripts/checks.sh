# Sourced by .ci/run and scripts/test_long.sh: checks one after another, each counted and timed.

passed=0
failed=0
times=
failures=
jobs=$(nproc 2>/dev/null || echo 2)
export WERROR=-Werror  # a warning is a failure here

# Compilers by way of ccache, where it is there.
[ ! -d /usr/lib/ccache ] || export PATH=/usr/lib/ccache:$PATH CCACHE_NOHASHDIR=yes CCACHE_SLOPPINESS=time_macros

timed() {  # name start
  times+=$(printf '%6d s  %s' $((SECONDS - $2)) "$1")$'\n'
}

# Runs a command, prints what it prints, and leaves that in $log and its exit status in $status.
logged() {  # name command...
  mkdir -p build/log
  log=build/log/check_${1// /_}
  printf '\n=== %s ===\n' "$1"
  "${@:2}" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
}

# A check that fails has its last lines printed again at the end, where a log that is cut still has them.
check() {  # name command...
  local name=$1 start=$SECONDS log status
  logged "$@"
  if [ "$status" -eq 0 ]; then
    passed=$((passed + 1))
    printf '%s: passed (%d s)\n' "$name" $((SECONDS - start))
  else
    failed=$((failed + 1))
    failures+=$(printf '%s:\n' "$name"; tail -n 25 "$log" | cut -c 1-300 | sed 's/^/  /')$'\n'
    printf '%s: FAILED (%d s)\n' "$name" $((SECONDS - start))
  fi
  timed "$name" "$start"
}

# A command that counts for itself: its last line "N passed, N failed" (make adds one after a failure).
check_counted() {  # name command...
  local name=$1 start=$SECONDS before=$failed log status count
  logged "$@"
  count=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
  if [[ $count =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    [ "$status" -eq 0 ] || [ "${BASH_REMATCH[2]}" -gt 0 ] || failed=$((failed + 1))
  else
    echo "$name did not reach its end"
    failed=$((failed + 1))
  fi
  [ "$failed" -eq "$before" ] ||
    failures+=$(printf '%s:' "$name"; sed -n '/^--- what failed ---$/,$p' "$log" | sed 's/^/  /')$'\n'
  timed "$name" "$start"
}

finish() {
  printf '\n=== times ===\n%s%6d s  all\n' "$times" "$SECONDS"
  [ -z "$failures" ] || printf '\n=== what failed ===\n%s' "$failures"
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ]
}
