#!/bin/bash
# `make load`: 64 clients that ask while fits, refreshes, DDL, cancels and maintenance run, with every
# answer checked; sessions beside one that drops the extension and makes it again; a backend's memory over
# ten million answers and ten thousand fits; and what fits cost those who ask. On a private installation and
# a throw-away cluster (scripts/private_cluster.sh).
#
#   LOAD_SECONDS  how long the clients ask (60 if not set; the full run: 300); a quarter of it beside DROP EXTENSION
#   LOAD_SECTIONS those to run: storm extension leak latency
#   LOAD_ANSWERS  answers of one backend whose memory is watched (10,000,000)
#   LOAD_FITS     fits of another (10,000)
#
# Prints a table of what was done and, last, every figure beside what is asked of it: ok or SHORT.
# Exit status 0 if and only if there was no wrong answer, no crash, no error but those asked for, no
# deadlock and no leak. Times are printed and judged, but do not decide the exit status.
set -u
load=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$load/../../scripts/private_cluster.sh"

seconds=${LOAD_SECONDS:-60}
sections=" ${LOAD_SECTIONS:-storm extension leak latency} "
out=$CLUSTER_REPO/build/load
clients=64
processors=$(nproc)

die() {
  echo "load: $*" >&2
  exit 1
}
wanted() { [[ $sections == *" $1 "* ]]; }

# psql reads its script from standard input: the unprivileged user need not see the repository.
sql() { cluster_as_user psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# The verdicts, printed last. What does not concern correctness is marked by `timing`.
# A section runs in a process of its own, so that what failed is told by a file.
verdicts=$out/verdicts
verdict() {  # what figure bound [timing]
  local word=ok
  if ! awk -v f="$2" -v b="$3" 'BEGIN { exit !(f != "" && f + 0 <= b + 0) }'; then
    word=SHORT
    [ "${4:-}" = timing ] || touch "$out/failed"
  fi
  printf '%-62s %12s  <= %-10s %s\n' "$1" "$2" "$3" "$word" >>"$verdicts"
}

. "$load/storm.sh"
. "$load/extension.sh"
. "$load/leak.sh"
. "$load/latency.sh"

mkdir -p "$out" || exit 1
rm -rf "${out:?}"/*
: >"$verdicts"
echo "Building, and starting a private PostgreSQL ..."
cluster_install
# The prefix tells who met an error, and which (storm.sh reads it). Autovacuum and the refresh worker
# come often. Intervals are those of the fit alone: else they depend on when they are asked for.
KDE_AQP_CONF="${KDE_AQP_CONF:-}
max_connections = 120
shared_preload_libraries = 'kde_aqp'
kde_aqp.naptime = '${LOAD_NAPTIME:-1s}'
shared_buffers = '256MB'
jit = off
kde_aqp.changed_rows = off
log_line_prefix = '%e|%b|%a|%p|%m|'
log_error_verbosity = verbose
autovacuum_naptime = '1s'
autovacuum_vacuum_threshold = 10"
cluster_start
cp -R "$load/scripts" "$CLUSTER_WORK/scripts" && chmod -R a+rX "$CLUSTER_WORK/scripts" || exit 1
cd "$CLUSTER_WORK" 2>/dev/null || cd /
cluster_job sql <"$load/setup.sql" || die "setup.sql failed"

for section in storm extension leak latency; do
  if wanted $section; then cluster_job "run_$section" || touch "$out/failed"; fi
done
judge_log

echo
cat "$verdicts"
head -n 20 "$out/unexpected"  # last, where a log that is cut still has them
[ ! -e "$out/failed" ]
