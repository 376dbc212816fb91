#!/bin/bash
# `make bench-ddl`: what the extension costs the DDL of those who do not use it, on a private installation
# and a throw-away cluster (scripts/private_cluster.sh). Three databases of the same tables, one without the
# extension, one with it, one with it and 100 densities of other tables, are worked in by turns; what is
# compared are medians. Prints, last, every ratio beside what is asked for: ok or SHORT. The exit status is 0
# whatever the figures are.
#
#   TABLES      tables in each database (40,000 if not set)
#   COMMANDS    ALTER, CREATE and DROP TABLE of each kind in a round (100)
#   RESTORED    tables of the dump that is restored (3,000)
#   ROUNDS      rounds of commands (9)
#   RESTORES    rounds of restores (3)
#   PARTITIONS  of the partition tree with five densities that kde_densities_full shows (8,000)
#   SECTIONS    those to run: commands restores densities
set -u
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$bench/../../../scripts/private_cluster.sh"

sections=" ${SECTIONS:-commands restores densities} "
kinds="without with fitted"

die() {
  echo "bench-ddl: $*" >&2
  exit 1
}
wanted() { [[ $sections == *" $1 "* ]]; }
as_user() { cluster_job cluster_as_user "$@"; }
# psql reads its script from standard input: the unprivileged user need not see the repository.
sql() {
  as_user psql -X -q -A -t -v ON_ERROR_STOP=1 -d "$1" -v commands="${COMMANDS:-100}" \
    -v tables="${TABLES:-40000}" -v restored="${RESTORED:-3000}" -v partitions="${PARTITIONS:-8000}" \
    -P border=1 -P footer=off -P format=aligned "${@:2}" || die "a script failed in $1"
}
# Appends "section what kind milliseconds" to the figures.
figures=
timed() {  # section what kind command...
  local start=${EPOCHREALTIME/./}
  "${@:4}" >/dev/null || die "$2 failed ($3)"
  echo "$1,$2,$3,$(((${EPOCHREALTIME/./} - start) / 1000))" >>"$figures"
}

extend() {  # database kind
  [ "$2" = without ] || sql "$1" <<<'CREATE EXTENSION kde_aqp'
  [ "$2" != fitted ] || sql "$1" <"$bench/densities.sql"
}

commands() {
  local kind round
  echo "Making ${TABLES:-40000} tables in each of three databases ..."
  sql postgres <<<'CREATE DATABASE without'
  sql without <"$bench/tables.sql"
  for kind in with fitted; do
    sql postgres <<<"CREATE DATABASE \"$kind\" TEMPLATE without"
  done
  for kind in $kinds; do extend "$kind" "$kind"; done
  for ((round = 1; round <= ${ROUNDS:-9}; ++round)); do
    for kind in $kinds; do sql "$kind" -v kind="$kind" <"$bench/commands.sql" >>"$figures"; done
  done
  for kind in $kinds; do sql postgres <<<"DROP DATABASE \"$kind\""; done
}

restores() {
  local kind round dump=$CLUSTER_WORK/dump
  echo "Restoring ${RESTORED:-3000} tables ..."
  sql postgres <<<'CREATE DATABASE source'
  sql source <"$bench/source.sql"
  as_user pg_dump -f "$dump.sql" source && as_user pg_dump -Fc -f "$dump.custom" source || die "no dump"
  for kind in $kinds; do
    sql postgres <<<"CREATE DATABASE empty_$kind"
    extend "empty_$kind" "$kind"
  done
  for ((round = 1; round <= ${RESTORES:-3}; ++round)); do
    for kind in $kinds; do
      sql postgres <<<"CREATE DATABASE target TEMPLATE empty_$kind"
      timed restores 'psql of a plain dump' "$kind" as_user psql -X -q -v ON_ERROR_STOP=1 -d target -f "$dump.sql"
      sql postgres <<<"DROP DATABASE target; CREATE DATABASE target TEMPLATE empty_$kind"
      timed restores 'pg_restore' "$kind" as_user pg_restore -d target "$dump.custom"
      sql postgres <<<'DROP DATABASE target'
    done
  done
}

echo "Building, and starting a private PostgreSQL ..."
cluster_install
KDE_AQP_CONF="shared_buffers = '512MB'
max_wal_size = '8GB'
autovacuum = off
jit = off
kde_aqp.stale = ignore
client_min_messages = warning"
cluster_start
cd "$CLUSTER_WORK" 2>/dev/null || cd /
figures=$CLUSTER_TOP/figures.csv
: >"$figures"

sql postgres <"$bench/../timing.sql"
if wanted commands; then commands; fi
if wanted restores; then restores; fi
if wanted densities; then
  sql postgres <<<'CREATE DATABASE parted'
  extend parted with
  sql parted -v kind=with <"$bench/view.sql" >>"$figures"
fi
{
  echo "COPY bench.figure FROM stdin (FORMAT csv);"
  cat "$figures"
  echo '\.'
} | cat "$bench/ratios_before.sql" - "$bench/ratios.sql" | sql postgres
sql postgres <"$bench/../agg/summary.sql"
