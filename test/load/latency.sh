# Sourced by run.sh: answers a second at full load, and what fits cost those who ask at 30 % of it: the
# 99th percentile of the time from when an answer was due (pgbench --rate) to when it was there, with a
# session that fits all the time and without, in turns.
#
#   LOAD_FIT_OPTIONS  PGOPTIONS of the session that fits
latency_runs=3
latency_seconds=$((seconds / 6 > 5 ? seconds / 6 : 5))

# A pgbench that asks; prints the transactions a second.
ask_for() {  # name seconds pgbench-arguments...
  local name=$1 length=$2
  shift 2
  PGUSER=asker PGAPPNAME=$name cluster_as_user pgbench -n -c "$clients" -j "$processors" -T "$length" -M prepared \
    -f "$CLUSTER_WORK/scripts/count.sql" "$@" >"$out/$name.log" 2>&1 || touch "$out/failed"
  sed -n 's/^tps = \([0-9]*\).*/\1/p' "$out/$name.log"
}

# Milliseconds within which the given share of the transactions logged had their answer.
percentile() {  # share directory
  cat "$2"/latency* | awk '{ print $3 }' | sort -n |
    awk -v p="$1" '{ t[NR] = $1 } END { i = int(p * NR) + 1; printf "%.2f\n", t[i < NR ? i : NR] / 1000 }'
}
middle() { sort -n | sed -n "$(((latency_runs + 1) / 2))p"; }

# One run at a rate; prints "p50 p99".
timed_run() {  # name rate
  local logs=$CLUSTER_WORK/latency.$1
  cluster_make_dir "$logs" || exit 1
  ask_for "$1" "$latency_seconds" -R "$2" -l --log-prefix="$logs/latency" >/dev/null
  echo "$(percentile 0.5 "$logs") $(percentile 0.99 "$logs")"
  rm -rf "$logs"
}

run_latency() {
  local capacity rate i quiet busy quiet_all='' busy_all='' fitter fits
  sql <"$load/latency.sql" || die "latency.sql failed"
  capacity=$(ask_for capacity "$latency_seconds")
  rate=$((capacity * 3 / 10))
  printf '\nAnswers a second at full load, %s clients on %s processors: %s\n' "$clients" "$processors" "$capacity"
  printf 'At %s a second (30 %%), milliseconds to the answer, %s s a run:\n' "$rate" "$latency_seconds"
  printf '%-8s %12s %12s %14s %14s\n' run "p50 quiet" "p99 quiet" "p50 with fits" "p99 with fits"
  for i in $(seq $latency_runs); do
    quiet=$(timed_run "quiet$i" "$rate")
    PGOPTIONS="${LOAD_FIT_OPTIONS:-}" PGAPPNAME=fitter cluster_as_user pgbench -n -c 1 -T "$((latency_seconds + 2))" \
      -f "$CLUSTER_WORK/scripts/large_fit.sql" >"$out/fitter$i.log" 2>&1 &
    fitter=$!
    busy=$(timed_run "busy$i" "$rate")
    wait $fitter || touch "$out/failed"
    fits=$(sed -n 's/^number of transactions actually processed: //p' "$out/fitter$i.log")
    # shellcheck disable=SC2086
    printf '%-8s %12s %12s %14s %14s   (%s pairs of fits)\n' "$i" $quiet $busy "$fits"
    quiet_all+="${quiet##* }"$'\n'
    busy_all+="${busy##* }"$'\n'
  done
  quiet=$(printf %s "$quiet_all" | middle)
  busy=$(printf %s "$busy_all" | middle)
  verdict "p99 with fits beside p99 without (medians, $busy and $quiet ms)" \
    "$(awk -v a="$busy" -v b="$quiet" 'BEGIN { printf "%.2f", a / b }')" 3 timing
}
