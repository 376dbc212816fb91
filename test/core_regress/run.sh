#!/bin/bash
# `make core-regress`: PostgreSQL's own regression tests, twice, against a private server with the extension
# in it (scripts/private_cluster.sh): with kde_aqp.approximate off, and with all. Before each group of tests
# consent.sql fits the tables that there are, so that densities answer what they may. They are required to be
# exact (kde_aqp.approximate_error = 0): what the tests print must be the same, but for plans, and for the
# notices that a density has answered, which are counted. Left out is the test of statistics: it counts scans,
# which densities spare.
#
#   CORE_SOURCE   a source tree of that version of PostgreSQL; fetched as Debian's source package if not set
#
# Whether the tests print what PostgreSQL expects does not matter here, as the package may be older than the
# server, and some list all functions there are. What both runs printed is in build/core_regress.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../scripts/private_cluster.sh"

# Fewer answers by densities mean that nothing was tested.
least_answers=25
out=$CLUSTER_REPO/build/core_regress
mkdir -p "$out" || exit 1

# The newest source package of that major version which the archive still has, into $out/source. apt's own
# lists are left alone: they may have no sources.
fetch_source() {  # major version
  local lists=$out/apt options versions version
  mkdir -p "$lists/parts" "$lists/lists/partial" || return 1
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -n 's/^deb /deb-src /p' >"$lists/parts/src.list"
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed 's/^Types:.*/Types: deb-src/' >"$lists/parts/src.sources"
  options=(-qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$lists/parts"
    -o Dir::State::Lists="$lists/lists" -o Dir::Cache="$lists" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update || return 1
  versions=$(apt-cache "${options[@]}" showsrc "postgresql-$1" | sed -n 's/^Version: //p' | sort -rV)
  for version in $versions; do
    (cd "$out" && apt-get "${options[@]}" source --download-only "postgresql-$1=$version") && break
  done
  mkdir "$out/source" && tar -x -C "$out/source" --strip-components=1 -f "$(ls "$out"/postgresql-"$1"_*.orig.tar.* | tail -n 1)"
}

cluster_install
version=$("$PG_CONFIG" --version | sed 's|^PostgreSQL \([0-9]*\).*|\1|')
source=${CORE_SOURCE:-$out/source}
[ -d "$source" ] || fetch_source "$version" || cluster_die "PostgreSQL's source could not be fetched; name a tree by CORE_SOURCE"

# The tests, their library, and those of contrib/spi that they use beside it.
tests=$CLUSTER_WORK/core
cluster_make_dir "$tests" && cp -R "$source/src/test/regress/." "$tests/" || exit 1
cc -O1 -fPIC -shared -I"$("$CLUSTER_PG_CONFIG" --includedir-server)" -o "$tests/regress.so" "$tests/regress.c" &&
  cp "$("$PG_CONFIG" --pkglibdir)"/{autoinc,refint}.so "$tests/" || cluster_die "the tests' library could not be built"
cp "$here/consent.sql" "$tests/sql/kde_consent.sql"
cp "$here/consent.sql" "$tests/expected/kde_consent.out"
# Before each group but those that make the tables.
awk '/^test: / && NR > 1 && n++ > 1 { print "test: kde_consent" } { print }' "$source/src/test/regress/parallel_schedule" >"$tests/schedule"
[ "$(id -u)" -ne 0 ] || chown -R "$CLUSTER_USER" "$tests"

run_with() {  # off|all
  [ -z "$CLUSTER_STARTED" ] || {
    cluster_as_user pg_ctl -D "$CLUSTER_TOP/data" -m fast -w -s stop
    rm -rf "${CLUSTER_TOP:?}/data" && cluster_make_dir "$CLUSTER_TOP/data"
  }
  KDE_AQP_CONF="shared_preload_libraries = 'kde_aqp'
kde_aqp.approximate = '$1'
kde_aqp.approximate_error = 0
kde_aqp.naptime = 0
restart_after_crash = off"
  cluster_start
  cluster_make_dir "$tests/$1"
  echo "PostgreSQL's tests with kde_aqp.approximate = $1 ..."
  cd "$tests" || exit 1
  cluster_job cluster_as_user "$(dirname "$(dirname "$("$PG_CONFIG" --pgxs)")")/test/regress/pg_regress" \
    --inputdir="$tests" --outputdir="$tests/$1" --bindir="$CLUSTER_BIN" --dlpath="$tests" --host="$PGHOST" --port="$PGPORT" \
    --user="$PGUSER" --dbname=regression --max-concurrent-tests=20 --load-extension=kde_aqp --schedule="$tests/schedule" >"$out/$1.log" 2>&1
  rm -rf "${out:?}/$1" && cp -R "$tests/$1" "$out/$1" && cp "$CLUSTER_LOG" "$out/$1/server.log"
  tail -n 4 "$out/$1.log"
}

# What a test printed, without plans and without the notices.
without_plans() {  # folder file
  sed -E '/^NOTICE:  answered by the densit(y|ies) of /,/^DETAIL:  /d' "$1/$2" | awk '
    /^ *(QUERY PLAN|explain_[a-z_]+) *$/ { plan = 1; next }
    plan && /^\([0-9]+ rows?\)$/ { plan = 0; next }
    !plan'
}

rm -rf "${out:?}"/{off,all,differences}
run_with off
run_with all
failed=0
for file in "$out"/off/results/*.out; do
  name=$(basename "$file")
  [ "$name" != stats.out ] || continue
  diff -U 3 --label "$name, off" --label "$name, all" <(without_plans "$out/off/results" "$name") \
    <(without_plans "$out/all/results" "$name") >>"$out/differences"
done
if [ -s "$out/differences" ]; then
  cat "$out/differences"
  failed=1
fi
grep -H -E 'PANIC:|terminated by signal|TRAP:' "$out"/*/server.log && failed=1
answers=$(cat "$out"/all/results/*.out | grep -c -E '^NOTICE:  answered by the densit(y|ies) of ')
echo "answers by densities: $answers; plans with the node: $(cat "$out"/all/results/*.out | grep -c 'Custom Scan (KdeAqp)')"
[ "$answers" -ge "$least_answers" ] || failed=1
[ $failed -eq 0 ] && echo "core-regress: nothing that the option changes"
exit $failed
