#!/bin/bash
# `make bench-proof`: what it costs a question to judge what has changed (src/pg/proof), on a private installation and
# a throw-away cluster (scripts/private_cluster.sh). Prints microseconds of a question with kde_aqp.changed_rows off,
# on, and their difference, by turns, the least of batches of 50, each question in a transaction of its own while
# another one is open, so that no judgement serves twice. The exit status is 0 whatever the figures are.
#
#   BLOCKS      of the large table (131072 if not set: 1 GB)
#   BATCHES     of each run (100)
#   RUNS        how many times each is run (5)
set -u
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../../../scripts/private_cluster.sh"

blocks=${BLOCKS:-131072} batches=${BATCHES:-100} runs=${RUNS:-5}

die() {
  echo "bench-proof: $*" >&2
  exit 1
}

echo "Building, and starting a private PostgreSQL ..."
cluster_install
KDE_AQP_CONF="shared_buffers = '256MB'
max_wal_size = '8GB'
wal_level = minimal
max_wal_senders = 0
autovacuum = off
client_min_messages = warning"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /
sql() { cluster_as_user psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
# psql reads its script from standard input: the unprivileged user need not see the repository.
cluster_job sql -v blocks="$blocks" <"$bench/tables.sql" >/dev/null || die "tables.sql failed"

# A transaction that stays open: snapshots list it once another one has ended after it began.
coproc HELD { cluster_as_user psql -X -q -At; }
hold() {
  printf 'BEGIN; SELECT txid_current() > 0;\n' >&"${HELD[1]}"
  read -r _ <&"${HELD[0]}"
  sql -c 'SELECT txid_current()' >/dev/null </dev/null
}
release() {
  printf 'COMMIT; SELECT 1;\n' >&"${HELD[1]}"
  read -r _ <&"${HELD[0]}"
}

least() { sort -n | head -n 1; }
figures=$CLUSTER_TOP/figures
printf '\nmicroseconds of a question, the least of %s batches of 50, by turns\n' "$((runs * batches))"
printf '%-34s %8s %8s %10s\n' table off on judgement
measure() {  # label, table
  hold
  : >"$figures"
  for _ in $(seq "$runs"); do
    for mode in off on; do
      echo "$mode" "$(sql -c "SET kde_aqp.changed_rows = $mode" \
        -c "CALL ask('$2', $batches, NULL)" </dev/null | tail -n 1)" >>"$figures"
    done
  done
  release
  local off on
  off=$(sed -n 's/^off //p' "$figures" | least) on=$(sed -n 's/^on //p' "$figures" | least)
  awk -v label="$1" -v off="$off" -v on="$on" \
    'BEGIN { printf "%-34s %8.1f %8.1f %10.1f\n", label, off, on, on - off }'
  judgement=$(awk -v off="$off" -v on="$on" 'BEGIN { print on - off }')
}

measure '16 blocks' small
small=$judgement
measure "$blocks blocks" large
awk -v small="$small" -v large="$judgement" -v pages="$(((blocks + 32671) / 32672))" 'BEGIN {
  each = (large - small) / (pages > 1 ? pages - 1 : 1)
  printf "%-34s %8s %8s %10.2f\n%-34s %8s %8s %10.0f\n", "  each page of the map", "", "", each,
    "  100 GB (402 pages) by that", "", "", small + 401 * each }'
measure '64 partitions of 64 blocks' parts
# A block of each page of the map (32,672 blocks).
each="ctid IN (SELECT format('(%s,1)', b)::tid FROM generate_series(0, $blocks - 1, 32672) AS b)"
sql -c "DELETE FROM large WHERE $each" </dev/null >/dev/null
measure 'a row changed of each map page' large
sql -c 'VACUUM large' </dev/null >/dev/null
measure 'and vacuumed' large
sql -c 'DELETE FROM large WHERE v % 64 = 1' </dev/null >/dev/null
measure 'a 64th of the blocks changed' large
