#!/bin/bash
# `make bench-cookbook`: the figures of docs/cookbook.md, as its table (scripts/cookbook.pl), on a private
# installation and a throw-away cluster (scripts/private_cluster.sh).
#
#   ROWS   of the table (10 million if not set)
#   RUNS   how many times each question is asked (3)
set -u
. "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../../../scripts/private_cluster.sh"

cluster_install
# The table in memory; everything else is the server's default.
KDE_AQP_CONF="shared_buffers = '1536MB'
max_wal_size = '8GB'
autovacuum = off"
cluster_start
cd "$CLUSTER_REPO" || exit 1
cluster_job scripts/cookbook.pl measure "${ROWS:-10000000}" "${RUNS:-3}" </dev/null
