#!/bin/bash
# `make bench-joint`: what answers from joint densities cost in SQL, and fits at the papers' size, on
# a private installation and a throw-away cluster (scripts/private_cluster.sh). Prints, last, every
# figure beside what is asked for: ok or SHORT. The exit status is 0 whatever the figures are.
#
#   POINTS      rows of the sample of the densities that are asked (10,000 if not set)
#   FIT_ROWS    rows of the table of 16 columns (16,384)
#   RUNS        how many times the answers are timed, and the fits with a card (11)
#   SECTIONS    those to run: answers fits card
set -u
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../../../scripts/private_cluster.sh"

sections=" ${SECTIONS:-answers fits} "

die() {
  echo "bench-joint: $*" >&2
  exit 1
}
wanted() { [[ $sections == *" $1 "* ]]; }

# psql reads its script from standard input: the unprivileged user need not see the repository.
sql() {
  cluster_job cluster_as_user psql -X -q -A -t -v ON_ERROR_STOP=1 -P border=1 -P footer=off -P format=aligned \
    -v points="${POINTS:-10000}" -v fit_rows="${FIT_ROWS:-16384}" -v runs="${RUNS:-11}" -v processors="$(nproc)"
}
section() { sql <"$1" || die "$(basename "$1") failed"; }

echo "Building, and starting a private PostgreSQL ..."
cluster_install
if wanted card; then
  cluster_make PG_CONFIG="$CLUSTER_PG_CONFIG" DESTDIR="$CLUSTER_TOP/root" cuda-install >&2 || die "no program for cards"
fi
# The rest is the server's default but for jit, whose compilation is a matter of the planner's guess.
KDE_AQP_CONF="shared_buffers = '1GB'
jit = off
autovacuum = off
client_min_messages = warning"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /

section "$bench/../timing.sql"
if wanted answers; then section "$bench/answers.sql"; fi
if wanted fits || wanted card; then section "$bench/sixteen.sql"; fi
if wanted fits; then section "$bench/fits.sql"; fi
if wanted card; then section "$bench/card.sql"; fi
section "$bench/../agg/summary.sql"
