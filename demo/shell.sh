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

# How far what runs is, as other sessions see it: a file of so many bytes being read, an index, a fit.
progress() {  # bytes of the file
  psql -X -q -A -t -v bytes="${1:-0}" 2>/dev/null <<'END'
SELECT pg_size_pretty(bytes_processed) || CASE WHEN :bytes > 0 THEN ' of ' || pg_size_pretty(:bytes::bigint) ELSE '' END ||
       to_char(tuples_processed, '", "FM999,999,999,999" rows"') FROM pg_stat_progress_copy
UNION ALL
SELECT 'index on ' || relid::regclass || ', ' || phase FROM pg_stat_progress_create_index
UNION ALL
SELECT relation || ', ' || phase || coalesce(', ' || percent || ' %', '') FROM kde_progress
UNION ALL
SELECT substr(application_name, 7) FROM pg_stat_activity WHERE application_name LIKE 'demo: %' AND backend_type = 'client backend';
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
      printf '  %s, %s: %s\n' "$what" "$(elapsed "$start")" "$(progress "$bytes" | paste -s -d ' ')"
    fi
  done
  wait "$CLUSTER_JOB" || rc=$?
  CLUSTER_JOB=
  [ $rc -ne 0 ] || printf '  %s, %s\n' "$what" "$(elapsed "$start")"
  return $rc
}
