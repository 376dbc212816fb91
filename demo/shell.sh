# What the demo's scripts share. To be sourced; a server is named by PGHOST and its like.

die() {
  echo "demo: $*" >&2
  exit 1
}

sql() { psql -X -q -A -t -v ON_ERROR_STOP=1 -v VERBOSITY=terse "$@" 2>"$scratch/errors"; }
# Runs SQL, and on an error ends with what the server said of it.
sql_or_die() {
  sql "$@" && return
  die "$(sed 's/^.*ERROR:  //' "$scratch/errors")"
}

elapsed() { printf '%d s' $((SECONDS - $1)); }  # since

# What runs, and how far it is, as other sessions see it: a file of so many bytes that is read, an index, a fit, or
# what a procedure says of itself.
progress() {  # bytes of the file
  psql -X -q -A -t -v bytes="${1:-0}" 2>/dev/null <<'END'
SELECT said FROM (
  SELECT 1, pg_size_pretty(bytes_processed) || CASE WHEN :bytes > 0 THEN ' of ' || pg_size_pretty(:bytes::bigint) ELSE '' END ||
            to_char(tuples_processed, '", "FM999,999,999,999" rows"') FROM pg_stat_progress_copy
  UNION ALL
  SELECT 2, 'index on ' || relid::regclass || ', ' || phase FROM pg_stat_progress_create_index
  UNION ALL
  SELECT 3, relation || ', ' || phase || coalesce(', ' || percent || ' %', '') FROM kde_progress
  UNION ALL
  SELECT 4, substr(application_name, 7) FROM pg_stat_activity
  WHERE application_name LIKE 'demo: %' AND backend_type = 'client backend') AS found(position, said)
ORDER BY position LIMIT 1;
END
}

# Runs a command or function, in the background as cluster_job does, and says every three seconds how far it is.
# Its status is the command's.
watched() {  # what bytes command...
  local what=$1 bytes=$2 start=$SECONDS said=$SECONDS rc=0
  shift 2
  set -m
  "$@" <&0 &
  CLUSTER_JOB=$!
  set +m
  while kill -0 "$CLUSTER_JOB" 2>/dev/null; do
    sleep 0.1
    if [ $((SECONDS - said)) -ge 3 ]; then
      said=$SECONDS
      printf '  %s, %s  %s\n' "$what" "$(elapsed "$start")" "$(progress "$bytes")"
    fi
  done
  wait "$CLUSTER_JOB" || rc=$?
  CLUSTER_JOB=
  [ $rc -ne 0 ] || printf '  %s, %s\n' "$what" "$(elapsed "$start")"
  return $rc
}
