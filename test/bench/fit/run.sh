#!/bin/bash
# `make bench-fit`: a table's fit beside that of one of its columns, on a private installation and a
# throw-away cluster (scripts/private_cluster.sh). Prints the medians and, last, their ratio beside what is
# asked for: ok or SHORT. The exit status is 0 whatever the figures are.
#
#   ROWS    rows of the table of 20 columns (2,000,000 if not set)
#   RUNS    how many times each is timed, by turns (7)
set -u
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../../../scripts/private_cluster.sh"

echo "Building, and starting a private PostgreSQL ..."
cluster_install
KDE_AQP_CONF="shared_buffers = '1GB'
max_wal_size = '8GB'
autovacuum = off
client_min_messages = warning"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /

# psql reads its script from standard input: the unprivileged user need not see the repository.
cluster_job cluster_as_user psql -X -q -A -t -v ON_ERROR_STOP=1 -P border=1 -P footer=off -P format=aligned \
  -v rows="${ROWS:-2000000}" -v runs="${RUNS:-7}" -v processors="$(nproc)" <"$bench/table.sql" || {
  echo "bench-fit: table.sql failed" >&2
  exit 1
}
