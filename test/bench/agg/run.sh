#!/bin/bash
# `make bench-agg`: kde_agg beside avg() and a t-digest, on a private installation and a throw-away
# cluster (scripts/private_cluster.sh). Prints a table a section and, last, every figure beside what
# is asked for: ok or SHORT. The exit status is 0 whatever the figures are.
#
#   run.sh SCRIPT    what accuracy_script wrote of real columns; without that file the section of
#                    errors is left out
#
#   ROWS        rows of the large table (10 million if not set); groups and partial densities are
#               thousandths of it
#   RUNS        how many times what takes seconds is timed (5)
#   SECTIONS    those to run: speed rollup groups answers accuracy
set -u
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../../../scripts/private_cluster.sh"

script=$(realpath -m "$1")
rows=${ROWS:-10000000}
runs=${RUNS:-5}
sections=" ${SECTIONS:-speed rollup groups answers accuracy} "

die() {
  echo "bench-agg: $*" >&2
  exit 1
}
wanted() { [[ $sections == *" $1 "* ]]; }

# psql reads its script from standard input: the unprivileged user need not see the repository.
sql() {
  cluster_job cluster_as_user psql -X -q -A -t -v ON_ERROR_STOP=1 -P border=1 -P footer=off -P format=aligned \
    -v rows="$rows" -v runs="$runs" -v group_runs=3 -v answer_runs=21 -v has_tdigest="$has_tdigest" \
    -v processors="$(nproc)" "$@"
}
section() { sql <"$bench/$1.sql" || die "section $1 failed"; }

echo "Building, and starting a private PostgreSQL ..."
cluster_install
# Tables stay in shared memory: the scan is the same for all that is compared. The rest is the
# server's default but for jit, whose compilation is a matter of the planner's guess.
KDE_AQP_CONF="shared_buffers = '4GB'
jit = off
autovacuum = off
max_wal_size = '8GB'
client_min_messages = warning
timezone = 'UTC'"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /
has_tdigest=false
[ ! -f "$("$PG_CONFIG" --sharedir)/extension/tdigest.control" ] || has_tdigest=true
$has_tdigest || echo "There is no t-digest to compare with (scripts/deps.sh accuracy installs it)."

sql <"$bench/../timing.sql" || die "section timing failed"
section setup
if wanted speed; then section speed; fi
if wanted rollup; then section rollup; fi
if wanted groups; then
  section groups
  for relation in grouped scattered; do
    for memory in 4GB 4MB; do
      for plan in hashed any; do
        if [ "$memory$plan" = 4GBany ]; then continue; fi
        for what in "avg(x)" "kde_agg(x)" $($has_tdigest && echo "tdigest(x,100)"); do
          echo "SET work_mem = '$memory'; SET max_parallel_workers_per_gather = 0;
            SELECT bench.measure_memory('$relation', 'bench.$relation', '$what', '$plan')" |
            sql -o /dev/null || die "memory of $what failed"
        done
      done
    done
  done
  section memory
fi
if wanted answers; then section answers; fi
if wanted accuracy; then
  if [ -f "$script" ]; then
    cat "$script" "$CLUSTER_REPO/test/accuracy/digest.sql" "$bench/accuracy.sql" | sql ||
      die "section accuracy failed"
  else
    echo "Errors are not measured: there is no folder of CSV files (DATA=folder)."
  fi
fi
section summary
