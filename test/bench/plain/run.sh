#!/bin/bash
# `make bench-plain`: plain SQL with kde_aqp.approximate off and on by turns, on a private installation and a throw-away
# cluster (scripts/private_cluster.sh). The exit status is 0 whatever the figures are. Prints medians of
#   - what many clients send, by pgbench: transactions a second and the latency that pgbench tells;
#   - the panels of test/regress/panels, by one client: the times of both ways, and by how much the numbers are off;
#   - the panels after changes of their table: how many are answered, how many in at most 10 ms, and what a refresh reads;
#   - the thirteen questions of the Star Schema Benchmark, likewise.
#
#   ROWS        rows of each table (3 million if not set)
#   FACTS       of the star's fact (10 million)
#   CLIENTS     of pgbench (16)
#   RUNS        how many times each is run (3)
#   RUN_SECONDS how long (5)
#   SECTIONS    those to run: clients panels changed star
set -u
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../../../scripts/private_cluster.sh"

clients=${CLIENTS:-16} runs=${RUNS:-3} length=${RUN_SECONDS:-5} rows=${ROWS:-3000000} facts=${FACTS:-10000000}
sections=" ${SECTIONS:-clients panels changed star} "

die() {
  echo "bench-plain: $*" >&2
  exit 1
}

echo "Building, and starting a private PostgreSQL ..."
cluster_install
KDE_AQP_CONF="shared_buffers = '1GB'
max_wal_size = '8GB'
jit = off
timezone = 'UTC'
autovacuum = off
session_preload_libraries = 'kde_aqp'
client_min_messages = warning"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /
# psql reads its scripts from standard input: the unprivileged user need not see the repository.
sql() {  # relation, rows, scripts
  local relation=$1 of=$2
  shift 2
  { echo '\o /dev/null' && cat "$@"; } | cluster_job cluster_as_user psql -X -q -v ON_ERROR_STOP=1 -v rows="$of" -v runs="$runs" -v relation="$relation" ||
    die "$* failed"
}
wanted() { [[ $sections == *" $1 "* ]]; }

ask_clients() {
  sql sales "$rows" "$bench/sales.sql"

  # What is asked: bounds are drawn by pgbench, and are parameters of the prepared statement.
  local name run protocol mode off on
  local -A statement=(
    [range]='SELECT count(*), sum(price), avg(price) FROM sales WHERE day BETWEEN :a AND :a + 90;'
    [groups]='SELECT store, count(*), sum(price), avg(price) FROM sales WHERE day BETWEEN :a AND :a + 90 GROUP BY store;'
    [by_key]='SELECT count(*), sum(price) FROM receipts WHERE id = :a;'
  )
  for name in "${!statement[@]}"; do
    printf '\\set a random(1, 900)\n%s\n' "${statement[$name]}" | cluster_as_user tee "$CLUSTER_WORK/$name.sql" >/dev/null
  done

  figures=$CLUSTER_TOP/figures
  for run in $(seq "$runs"); do
    for name in range groups by_key; do
      for protocol in simple prepared; do
        for mode in off top; do
          PGOPTIONS="-c kde_aqp.approximate=$mode" cluster_as_user pgbench -n -c "$clients" -j "$(nproc)" -T "$length" \
            -M "$protocol" -f "$CLUSTER_WORK/$name.sql" >"$CLUSTER_TOP/pgbench.log" 2>&1 </dev/null ||
            die "pgbench failed: $(tail -n 3 "$CLUSTER_TOP/pgbench.log")"
          sed -n -e 's/^latency average = \([0-9.]*\).*/\1/p' -e 's/^tps = \([0-9.]*\).*/\1/p' "$CLUSTER_TOP/pgbench.log" |
            xargs echo "$name" "$protocol" "$mode" >>"$figures"
        done
      done
    done
  done

  middle() { sort -n | sed -n "$(((runs + 1) / 2))p"; }
  figure() { awk -v key="$1 $2 $3" -v at="$4" '$1 " " $2 " " $3 == key { print $at }' "$figures" | middle; }
  printf '\n%s clients, medians of %s runs of %s s, by turns, %s processors\n' "$clients" "$runs" "$length" "$(nproc)"
  printf '%-8s %-9s %12s %14s %12s %14s %8s\n' statement protocol "off, tps" "latency, ms" "on, tps" "latency, ms" on/off
  for name in range groups by_key; do
    for protocol in simple prepared; do
      off=$(figure "$name" "$protocol" off 5) on=$(figure "$name" "$protocol" top 5)
      printf '%-8s %-9s %12.1f %14.2f %12.1f %14.2f %8.2f\n' "$name" "$protocol" "$off" \
        "$(figure "$name" "$protocol" off 4)" "$on" "$(figure "$name" "$protocol" top 4)" \
        "$(awk -v a="$on" -v b="$off" 'BEGIN { print a / b }')"
    done
  done
  echo 'by_key: what no density answers, one row by its index.'
}

cluster_as_user psql -X -q -c 'CREATE EXTENSION kde_aqp' || die "the extension could not be made"
panels=$bench/../../regress/panels
wanted clients && ask_clients
asked=("$panels/drawn.sql" "$panels/tables.sql" "$panels/statements.sql" "$panels/fits.sql" "$panels/asked.sql" "$bench/times.sql")
if wanted panels; then
  printf '\nPanels of dashboards on %s rows, by one client\n' "$rows"
  sql rides "$rows" "${asked[@]}" "$bench/each.sql"
fi
if wanted changed; then
  printf '\nPanels of dashboards on %s rows, of which some change\n' "$rows"
  cluster_as_user createdb changed && PGDATABASE=changed cluster_as_user psql -X -q -c 'CREATE EXTENSION kde_aqp' </dev/null
  PGDATABASE=changed sql rides "$rows" "${asked[@]}" "$bench/changed.sql"
fi
if wanted star; then
  printf 'The Star Schema Benchmark on %s rows, by one client\n' "$facts"
  sql orders "$facts" "$panels/drawn.sql" "$bench/star.sql" "$panels/asked.sql" "$bench/times.sql" "$bench/each.sql"
fi
