# Sourced by run.sh: everything at once for $seconds seconds, and what may not have happened.

# A pgbench in the background. Those who ask are the unprivileged role `asker`, the others the owner.
pids=()
names=()
bench() {  # name role clients pgbench-arguments...
  local name=$1 role=$2 n=$3
  shift 3
  PGUSER=$role PGAPPNAME=$name cluster_as_user pgbench -n -c "$n" -j 1 -T "$seconds" "$@" \
    >"$out/$name.log" 2>&1 &
  pids+=($!)
  names+=("$name")
}
of() { echo "$CLUSTER_WORK/scripts/$1.sql"; }

# Fits that are shot at, each in a session of its own, as a termination ends it.
victims() {
  while [ $SECONDS -lt "$1" ]; do
    PGAPPNAME=victim cluster_as_user psql -X -q -f "$(of victim)" >/dev/null 2>&1
  done
}

run_storm() {
  local i rc each ran
  SECONDS=0
  echo "$clients clients ask for $seconds s while others fit, change, drop and cancel ..."
  bench statement asker 10 -M prepared -f "$(of statement)"
  bench snapshot asker 8 -M simple -f "$(of snapshot)"
  bench quick asker 9 -M prepared -f "$(of quick)"
  bench steady asker 4 -M prepared -f "$(of steady)"
  bench steady_simple asker 4 -M simple -f "$(of steady)"
  bench moving asker 8 -M extended -f "$(of moving)"
  bench plain plain_asker 8 -M prepared -f "$(of plain)"
  bench plain_simple plain_asker 4 -M simple -f "$(of plain)"
  bench plain_snapshot plain_asker 2 -M simple -f "$(of plain_snapshot)"
  bench plain_moving plain_asker 2 -M extended -f "$(of plain_moving)"
  bench plain_content postgres 1 -f "$(of plain_content)"
  bench plain_upkeep postgres 1 -f "$(of plain_upkeep)"
  bench plain_ddl postgres 1 -f "$(of plain_ddl)"
  bench plain_shifting postgres 1 -f "$(of plain_shifting)"
  bench growing_ask postgres 3 -M prepared -f "$(of growing_ask)"
  bench growing_snapshot postgres 2 -M simple -f "$(of growing_snapshot)"
  bench growing_change postgres 1 -f "$(of growing_change)"
  bench growing_upkeep postgres 1 -f "$(of growing_upkeep)"
  bench alternate postgres 1 -f "$(of alternate)"
  bench again postgres 1 -f "$(of again)"
  bench beside postgres 1 -f "$(of beside)"
  bench refresh postgres 1 -f "$(of refresh)"
  bench watch asker 1 -R 20 -f "$(of watch)"
  bench fit postgres 2 -f "$(of fit)"
  bench ddl postgres 1 -f "$(of ddl)"
  bench vacuum postgres 1 -R 2 -f "$(of vacuum)"
  cluster_as_user createdb other
  PGDATABASE=other bench elsewhere postgres 1 -f "$(of elsewhere)"
  victims "$seconds" &
  local first=$!
  victims "$seconds" &
  local second=$!
  # Until the last victim is gone.
  while kill -0 $first 2>/dev/null || kill -0 $second 2>/dev/null; do
    PGAPPNAME=shoot cluster_as_user pgbench -n -c 1 -t 5 -f "$(of shoot)" >/dev/null 2>&1 || break
  done
  wait $first $second

  local script compared=0 of_growing=0
  printf '\n%-16s %14s %12s  %s\n' session transactions "a second" "aborted clients"
  for i in "${!pids[@]}"; do
    rc=0
    wait "${pids[$i]}" || rc=$?
    local log=$out/${names[$i]}.log
    printf '%-16s %14s %12s  %s\n' "${names[$i]}" \
      "$(sed -n 's/^number of transactions actually processed: //p' "$log")" \
      "$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$log")" "$(grep -c aborted "$log")"
    # A transaction compares as many answers as its script does, at least.
    script=${names[$i]%_simple}
    each=$(grep -o 'load\.\(must\|ask_growing\)(' "$load/scripts/$script.sql" | wc -l)
    ran=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$log")
    compared=$((compared + each * ${ran:-0}))
    [[ $script != growing_* ]] || of_growing=$((of_growing + each * ${ran:-0}))
    if [ $rc -ne 0 ]; then
      grep -E 'ERROR|FATAL|aborted|connection' "$log" | sed 's/.*: ERROR: /ERROR: /' | sort | uniq -c | sort -rn | head -n 5
      touch "$out/failed"
    fi
  done
  printf '\n%s answers compared with those of the same snapshot, %s of them of plain SQL on a growing tree\n' "$compared" "$of_growing"
  judge_plain
}

# Whether densities have answered plain SQL at all.
judge_plain() {
  printf '\nStatements of plain SQL by outcome\n'
  sql -F '  ' -c "SELECT all_sessions, outcome FROM kde_plain_sql WHERE all_sessions > 0 ORDER BY 1 DESC"
  verdict "plain SQL that densities never answered" \
    "$(sql -c "SELECT (coalesce(sum(all_sessions), 0) = 0)::integer FROM kde_plain_sql WHERE outcome LIKE 'answered%'")" 0
  verdict "plain SQL of a growing tree that densities never answered" \
    "$(sql -c "SELECT (NOT is_called)::integer FROM load.growing_answers")" 0
}

# Errors by who met them; those that nobody asked for fail the run. The statements that cancels and
# terminations hit are the victims'; DDL and CREATE DATABASE send autovacuum away. A density is stale
# where it is left so. DDL waits for the catalog, and for who fits what has an enum's labels, for two seconds.
judge_log() {
  local log=$out/server.log
  cp "$CLUSTER_LOG" "$log"
  # Each in a line, and where it was raised.
  awk '/^[0-9A-Z]+\|[^|]*\|[^|]*\|[0-9]+\|[^|]*\|(WARNING|ERROR|FATAL|PANIC):/ { if (met) print line; met = 1; line = $0; next }
    met && /\|LOCATION:/ { sub(/.*\|LOCATION:/, "  LOCATION:"); print line $0; met = 0 }
    END { if (met) print line }' "$log" >"$out/errors"
  printf '\nErrors in the log by SQLSTATE and session\n'
  awk -F'|' '{ print $1, $2, $3 }' "$out/errors" | sort | uniq -c | sort -rn
  grep -v -E '^(57014|57P01)\|client backend\|victim\||^(57014|57P01)\|autovacuum worker\||WARNING:  01000: the density of .* is stale  LOCATION:|^55P03\|client backend\|[a-z_]*\|.*WARNING:  55P03: densities do not follow' \
    "$out/errors" | grep -v -E "$dropped_errors" >"$out/unexpected"
  verdict "wrong answers" "$(grep -c '^KD001' "$out/errors")" 0
  verdict "errors that nobody asked for" "$(wc -l <"$out/unexpected")" 0
  verdict "deadlocks" "$(grep -c '^40P01' "$out/errors")" 0
  verdict "crashes" "$(grep -c -E 'was terminated by signal|PANIC:|TRAP:' "$log")" 0
}
