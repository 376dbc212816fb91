#!/bin/bash
# `make valgrind`: regression tests with the whole server under valgrind's memcheck, in a private
# installation (scripts/private_cluster.sh).
#
#   TESTS   which (default: all of test/regress/sql, which takes long)
#
# Counted are the errors with a frame of the extension's library; those of the server alone, which
# leaves padding uninitialized on purpose, are not. What the tests print is compared, too. The memory
# that PostgreSQL's allocator hands out is known to valgrind in blocks only, unless the server was
# built for it. valgrind 3.19 knows no AVX-512, and says so to whom asks the processor: the vector code
# then takes what it does know.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../scripts/private_cluster.sh"

cluster_install
cluster_start
cluster_as_user pg_ctl -D "$CLUSTER_TOP/data" -m fast -w -s stop || cluster_die "the server did not stop"
logs=$CLUSTER_WORK/valgrind
cluster_make_dir "$logs"
cluster_as_user valgrind --tool=memcheck --trace-children=yes --leak-check=no --track-origins=no \
  --read-var-info=no --num-callers=24 --error-limit=no --time-stamp=yes --log-file="$logs/%p" \
  "$CLUSTER_BIN/postgres" -D "$CLUSTER_TOP/data" -c autovacuum=off -c jit=off \
  -c statement_timeout=0 >"$CLUSTER_WORK/server.log" 2>&1 </dev/null &
for _ in $(seq 600); do
  cluster_as_user pg_isready -q && break
  sleep 0.1
done
cluster_as_user pg_isready -q || cluster_die "the server did not start under valgrind"

out=$CLUSTER_WORK/regress
cluster_make_dir "$out" && cp -R "$CLUSTER_REPO/test/regress/." "$out/" &&
  { [ "$(id -u)" -ne 0 ] || chown -R "$CLUSTER_USER" "$out"; }
tests=${TESTS:-$(ls "$CLUSTER_REPO"/test/regress/sql/*.sql | xargs -n1 basename -s .sql | grep -v -x test_setup | LC_ALL=C sort)}
pgxs=$(dirname "$(dirname "$("$PG_CONFIG" --pgxs)")")
cd "$out" || exit 1
failed=0
# shellcheck disable=SC2086  # one word per test
cluster_job cluster_as_user "$pgxs/test/regress/pg_regress" --inputdir="$out" --outputdir="$out" \
  --bindir="$CLUSTER_BIN" --host="$PGHOST" --port="$PGPORT" --user="$PGUSER" \
  --dbname=contrib_regression --load-extension=kde_aqp test_setup $tests || failed=1
[ $failed -eq 0 ] || head -n 100 "$out/regression.diffs" 2>/dev/null
cluster_as_user pg_ctl -D "$CLUSTER_TOP/data" -m fast -w -s -t 300 stop

# An error is a paragraph: lines of text after the mark of the process, up to an empty one.
errors=$(cat "$logs"/* | awk '
  { line = $0; sub(/^==[^=]*== ?/, "", line) }
  line == "" { if (block ~ /kde_aqp\.so|\/src\/(pg|core)\// && block ~ /(at|by) 0x/) { print block; ++n } block = ""; next }
  { block = block line "\n" }
  END { print n + 0 }')
count=$(tail -n 1 <<<"$errors")
[ "$count" -eq 0 ] || head -n 200 <<<"$errors"
echo "valgrind: $(ls "$logs" | wc -l) processes, $count errors in the extension"
[ "$count" -eq 0 ] && [ $failed -eq 0 ]
