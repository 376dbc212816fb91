#!/bin/bash
# `make bench-growing`: a table that grows while dashboards ask, on a private installation and a throw-away cluster
# (scripts/private_cluster.sh). Prints what refreshes read, how long answers of plain SQL take, and how many of them
# differ from exact SQL in the same snapshot; then what writers pay: COPY and pgbench with and without a density, by turns; and what
# a refresh takes after one row of a tree of partitions changed, beside a fit. The exit status is 0 where no answer differs.
#
#   ROWS         of the table at first (20,000,000 if not set)
#   RATE         rows that come a second (10,000)
#   RUN_SECONDS  how long (60)
#   PAUSE        seconds between refreshes (5)
#   RUNS         of COPY and pgbench, and refreshes of the tree (5)
#   PARTITIONS   of the tree (1,000)
set -u
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../../../scripts/private_cluster.sh"
rows=${ROWS:-20000000} rate=${RATE:-10000} seconds=${RUN_SECONDS:-60} pause=${PAUSE:-5} runs=${RUNS:-5}
partitions=${PARTITIONS:-1000}

die() {
  echo "bench-growing: $*" >&2
  exit 1
}

echo "Building, and starting a private PostgreSQL ..."
cluster_install
KDE_AQP_CONF="${KDE_AQP_CONF:-}
shared_preload_libraries = 'kde_aqp'
shared_buffers = '${SHARED_BUFFERS:-1GB}'
maintenance_work_mem = '256MB'
max_wal_size = '16GB'
synchronous_commit = off
autovacuum_naptime = '10s'
autovacuum_vacuum_insert_scale_factor = 0
autovacuum_vacuum_insert_threshold = 100000
timezone = 'Europe/Berlin'
jit = off
max_locks_per_transaction = 256
client_min_messages = warning"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /
sql() { cluster_as_user psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
script() { cat >"$CLUSTER_WORK/$1.sql" && chmod a+r "$CLUSTER_WORK/$1.sql"; }
cluster_job sql -v rows="$rows" <"$bench/tables.sql" >/dev/null || die "tables.sql failed"

# In pieces, by a session for each processor: rows lie nearly in the order of time.
fill() {
  local of=$(nproc) piece=100000 i first
  for ((i = 0; i < of; i++)); do
    for ((first = 1 + i * piece; first <= rows; first += of * piece)); do
      echo "INSERT INTO ride SELECT * FROM rides($first, least($((first + piece - 1)), $rows));"
    done | sql &
  done
  wait
  sql -c 'VACUUM (ANALYZE) ride' </dev/null
  [ "$(sql -c 'SELECT count(*) FROM ride' </dev/null)" = "$rows" ]
}
cluster_job fill || die "the table could not be filled"
sql -c '\timing on' -c "SELECT name, model, size FROM kde_fit('ride', 'at', sample_rows => -1, measures => '{amount}', group_by => 'region')" </dev/null
sql -c "SELECT kde_set_plain_sql(name, true) FROM kde_densities WHERE name LIKE 'ride.%'" </dev/null >/dev/null

script write <<'S'
SELECT nextval('batch') AS first \gset
INSERT INTO ride SELECT * FROM rides(:first, :first + 99);
S
for which in 1 2 3 4; do
  script "ask$which" <<S
SELECT question($which) AS query \gset
:query;
S
done
script compare <<'S'
\set which random(1, 4)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT compare(:which);
COMMIT;
S
script refresh <<S
CALL refresh();
\sleep $pause s
S

# A pgbench for as long as rows come. A refresh tells at debug1 why it reads all rows.
bench() {  # name clients arguments...
  local name=$1 clients=$2
  shift 2
  PGOPTIONS="-c kde_aqp.approximate=top -c client_min_messages=${TOLD:-warning}" cluster_as_user pgbench -n -c "$clients" -T "$seconds" "$@" \
    >"$CLUSTER_TOP/$name.log" 2>&1 </dev/null &
}
storm() {
  local which
  bench write 4 -j 2 -R "$((rate / 100))" -f write.sql
  bench compare 1 -f compare.sql
  TOLD=debug1 bench refresh 1 -f refresh.sql
  for which in 1 2 3 4; do bench "ask$which" 1 -l --log-prefix="asked$which" -f "ask$which.sql"; done
  wait
}
echo "$rate rows a second come for $seconds s ..."
cluster_job storm
grep -ho 'all rows are read: .*' "$CLUSTER_TOP/refresh.log" | sort | uniq -c
grep -l 'aborted\|ERROR' "$CLUSTER_TOP"/*.log | while read -r log; do tail -n 3 "$log"; done

sql <<'S'
\pset null none
SELECT format('rows at the end: %s, in %s blocks', (SELECT count(*) FROM ride), pg_relation_size('ride') / 8192);
SELECT format('refreshes: %s; blocks read: median %s, at most %s; ms: median %s, at most %s', count(*),
  percentile_disc(0.5) WITHIN GROUP (ORDER BY blocks_read), max(blocks_read),
  round(1000 * extract(epoch FROM percentile_disc(0.5) WITHIN GROUP (ORDER BY elapsed))), round(1000 * extract(epoch FROM max(elapsed)))) FROM refreshed;
SELECT format('statement %s: %s compared, %s by a density, %s differ', which, count(*), count(*) FILTER (WHERE by_density),
  count(*) FILTER (WHERE NOT is_same)) FROM compared GROUP BY which ORDER BY which;
S
for which in 1 2 3 4; do
  cat "asked$which".* | cut -d' ' -f3 | sort -n |
    awk -v w="$which" '{ t[NR] = $1 / 1000 }
      END { printf "statement %s: %d asked, ms: median %.1f, 99 %% %.1f\n", w, NR, t[int((NR + 1) / 2)], t[int((99 * NR + 99) / 100)] }'
done

# What writers pay.
sql <<'S' >/dev/null
COPY (SELECT * FROM rides(1, 1000000)) TO PROGRAM 'cat > copied';
CREATE TABLE bare (LIKE ride);
CREATE TABLE fitted (LIKE ride);
INSERT INTO bare SELECT * FROM rides(1, 100000);
INSERT INTO fitted SELECT * FROM rides(1, 100000);
SELECT kde_fit('fitted', 'at', sample_rows => -1, measures => '{amount}', group_by => 'region');
S
# By turns: COPY in one session, by its processor time, which others do not disturb as much as a clock; and pgbench.
script one <<'S'
\set i random(1, 100000)
\set row random(1, 1000)
BEGIN;
INSERT INTO :table SELECT * FROM rides(:i, :i);
UPDATE :table SET amount = amount + 1 WHERE ctid = format('(%s,1)', :row)::tid;
COMMIT;
S
cluster_job sql -v runs="$runs" -v copied="$CLUSTER_TOP/data/copied" <"$bench/writers.sql" || die "writers.sql failed"
for run in $(seq "$runs"); do
  for table in bare fitted; do
    cluster_as_user pgbench -n -D table="$table" -t 2000 -f one.sql 2>/dev/null </dev/null | sed -n "s/^latency average = \([0-9.]*\) ms/$table \1/p"
  done
done >"$CLUSTER_TOP/written"
median() { sed -n "s/^$1 //p" "$CLUSTER_TOP/written" | sort -n | sed -n "$(((runs + 1) / 2))p"; }
awk -v a="$(median fitted)" -v b="$(median bare)" -v n="$runs" \
  'BEGIN { printf "pgbench, medians of %d by turns: with a density %.3f ms, without %.3f ms, ratio %.2f\n", n, a, b, a / b }'
cluster_job sql -v partitions="$partitions" -v runs="$runs" <"$bench/tree.sql" | tail -n 1
[ "$(sql -c 'SELECT count(*) FROM compared WHERE NOT is_same' </dev/null)" = 0 ]
