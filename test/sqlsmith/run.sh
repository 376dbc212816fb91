#!/bin/bash
# `make sqlsmith`: SQLsmith's random queries against a private server with the extension in it
# (scripts/private_cluster.sh), as a role without privileges over tables of its own (schema.sql).
#
#   QUERIES   how many queries (2,000)
#   SEED      what they are drawn by (1); the same seed on the same build gives the same queries
#
# Fails where a backend ended by a signal or a PANIC, where an internal error (XX000) was raised by
# the extension's source files or in the context of its functions, and where too few of the extension's
# functions answered, or densities answered plain SQL too seldom (kde_aqp.approximate is on), for the run to
# mean anything. Other errors are what random queries earn.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../scripts/private_cluster.sh"

queries=${QUERIES:-2000}
seed=${SEED:-1}
# Functions of the extension that must have been called.
least_functions=15
# Answers by densities to plain SQL, for every 1,000 queries.
least_answers=50

die() {
  echo "sqlsmith: $*" >&2
  exit 1
}
sql() { cluster_job cluster_as_user psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

cluster_install
# LOCATION lines say which source file an error is from.
KDE_AQP_CONF="log_error_verbosity = verbose
log_min_messages = warning
log_min_error_statement = error
track_functions = all
jit = off
restart_after_crash = off
shared_buffers = '64MB'"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /
sql <"$here/schema.sql" && sql <"$here/narrow.sql" && sql <<<"
  ALTER ROLE smith SET session_preload_libraries = 'kde_aqp';
  ALTER ROLE smith SET kde_aqp.approximate = 'all';
  ALTER ROLE smith SET log_min_messages = notice;    -- the log has each answer
  ALTER ROLE smith SET client_min_messages = warning;" || die "the tables could not be made"

echo "SQLsmith: $queries queries, seed $seed"
start=$SECONDS
cluster_job cluster_as_user sqlsmith --exclude-catalog --max-queries="$queries" --seed="$seed" \
  --target="host=$PGHOST port=$PGPORT dbname=$PGDATABASE user=smith" </dev/null >"$CLUSTER_TOP/sqlsmith.log" 2>&1
rc=$?
tail -n 3 "$CLUSTER_TOP/sqlsmith.log"
mkdir -p "$CLUSTER_REPO/build/log" && cp "$CLUSTER_LOG" "$CLUSTER_REPO/build/log/sqlsmith_server" # to read
echo "it took $((SECONDS - start)) s"

failed=0
report() {  # what lines
  [ -n "$2" ] || return 0
  failed=1
  printf '\n*** %s\n%s\n' "$1" "$2"
}
if [ $rc -ne 0 ] && ! grep -q 'TEST' "$CLUSTER_TOP/sqlsmith.log"; then
  report "SQLsmith ended with status $rc" "$(tail -n 20 "$CLUSTER_TOP/sqlsmith.log")"
fi
report "a backend did not end by itself" "$(grep -A 3 -E 'PANIC:|terminated by signal|TRAP:' "$CLUSTER_LOG" | head -n 60)"

# An error, its LOCATION, CONTEXT and STATEMENT are consecutive lines; further lines of each begin
# with a tab.
internal=$(awk '
  function finish() {
    if (text != "" && (text ~ /LOCATION:[^\n]*\.(cpp|h):/ ||
                       text ~ /CONTEXT:[^\n]*(kde_|approx_|rollup)/)) printf "%s\n", text
    text = ""
  }
  /(ERROR|FATAL|WARNING):  XX000:/ { finish(); text = $0; next }
  text != "" && (/^\t/ || /(DETAIL|HINT|CONTEXT|LOCATION|STATEMENT):/) { text = text "\n" $0; next }
  { finish() }
  END { finish() }' "$CLUSTER_LOG")
report "internal errors of the extension" "$(head -n 60 <<<"$internal")"

if [ "$failed" -eq 0 ]; then
  called=$(sql -c "SELECT pg_stat_force_next_flush()" >/dev/null; sql -c "
    SELECT count(*), sum(calls)
    FROM pg_stat_user_functions f JOIN pg_proc p ON p.oid = f.funcid
    WHERE p.probin = '\$libdir/kde_aqp'")
  sql -c "SELECT calls, funcid::regprocedure FROM pg_stat_user_functions f JOIN pg_proc p ON p.oid = f.funcid
    WHERE p.probin = '\$libdir/kde_aqp' ORDER BY 1 DESC"
  others=$(grep -c -E 'ERROR:  XX000:' "$CLUSTER_LOG")
  echo "the extension's C functions that were called (functions|calls that returned): $called"
  echo "errors (by SQLSTATE, of the server's own and of the extension):"
  grep -o -E 'ERROR:  [0-9A-Z]{5}:' "$CLUSTER_LOG" | sort | uniq -c | sort -rn | head -n 12
  echo "internal errors that are the server's own: $others"
  [ "${called%%|*}" -ge "$least_functions" ] ||
    report "too few of the extension's functions were called" "${called%%|*} of at least $least_functions"
  answers=$(grep -c -E 'answered by the densit(y|ies) of' "$CLUSTER_LOG")
  echo "answers by densities to plain SQL: $answers"
  [ "$answers" -ge $((queries * least_answers / 1000)) ] || report "densities answered plain SQL too seldom" "$answers"
fi
[ "$failed" -eq 0 ] && echo "sqlsmith: nothing found"
exit "$failed"
